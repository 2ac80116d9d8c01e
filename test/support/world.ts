import { inject } from "vitest";
import { readEntities } from "../../devnet/entities.ts";
import { type DevNode, type NodeOptions, startNode } from "../../devnet/node.ts";
import { type ChainName, chainIds } from "../../devnet/recorded-chains.ts";
import { askSubgraph } from "../../devnet/subgraph.ts";
import { createIndexer as create, indexedBlock, type IndexerOptions as Options } from "./indexer.ts";
import { createEmptyDatabase } from "./postgres.ts";
import { compareWithRecording, recordedEntities, recordedLabels, recordingOf } from "./recordings.ts";

type IndexerOptions = Omit<Options, "compiledModules">;

/**
 * An indexing service with a database of its own: on the server that all tests share, unless a URL is given. Not
 * started yet.
 */
export async function createIndexer({ databaseUrl, ...options }: IndexerOptions) {
  const stored = databaseUrl === undefined ? await createEmptyDatabase(inject("postgresUrl")) : undefined;
  const compiledModules = inject("compiledModules");
  const indexer = await create({ ...options, compiledModules, databaseUrl: databaseUrl ?? stored?.url });
  return {
    ...indexer,
    /** Stops the service and removes its data. */
    async close() {
      await indexer.close();
      await stored?.drop();
    },
  };
}

/** Nodes over the recordings of some chains, and an indexing service for them. */
export type World = Awaited<ReturnType<typeof startWorld>>;

type WorldOptions = Partial<IndexerOptions> & {
  /** The recorded chains. */
  chains?: readonly ChainName[];
  /** Options of the root chain's node. */
  node?: Partial<NodeOptions>;
  /** A node of the root chain that the caller closes. */
  chain?: DevNode;
  /** Head of the root chain. */
  head?: number;
  /** Another chain than the root's node, for tests on a real EVM. */
  rpcUrl?: string;
};

/**
 * Starts a node over the recording of each chain and creates an indexing service for them; `environment` adds to its
 * settings.
 */
export async function startWorld({
  chains = ["root"],
  node: nodeOptions = {},
  chain,
  head,
  environment = {},
  rpcUrl,
  ...options
}: WorldOptions = {}) {
  const node = chain ?? (await startNode({ recording: recordingOf("root"), ...nodeOptions }));
  if (head !== undefined) node.chain.setHead(head);
  const nodes = { root: node } as Record<ChainName, DevNode>;
  for (const name of chains) nodes[name] ??= await startNode({ recording: recordingOf(name) });
  const indexer = await createIndexer({
    labels: recordedLabels(chains),
    environment: {
      NAMESPACE: "ens-test-env",
      PLUGINS: "subgraph",
      SUBGRAPH_COMPAT: "true",
      ...Object.fromEntries(chains.map((name) => [`RPC_URL_${chainIds[name]}`, nodes[name].url])),
      ...(rpcUrl ? { [`RPC_URL_${chainIds.root}`]: rpcUrl } : {}),
      ...environment,
    },
    ...options,
  });
  const { url } = indexer;

  return {
    ...indexer,
    node,
    nodes,

    query: <Data = Record<string, unknown>>(text: string) => askSubgraph<Data>(`${url}/subgraph`, text),

    /** Waits until the backfill is over and the block (the chain's head unless given) is indexed. */
    async waitForIndex({ block }: { block?: number } = {}) {
      const look = async () => {
        const { status } = await fetch(`${url}/ready`);
        if (status !== 200) return { state: `/ready returns ${status}` };
        const number = await indexedBlock(url);
        const wanted = block ?? node.chain.head();
        return number >= wanted ? { done: number } : { state: `block ${number} of ${wanted} is indexed` };
      };
      // What it asks of the service takes the processor from the indexing.
      await indexer.waitFor(`block ${block ?? "at the head"}`, look, 250);
    },

    /** All entities of the index, at a block or the latest one. */
    entities: (block?: number) => readEntities(`${url}/subgraph`, recordedEntities(), block),

    /** Compares the index with the entities of the whole recording, or those of its events up to a block. */
    compareWithRecording: (until?: number) => compareWithRecording(`${url}/subgraph`, until),

    /** Ends everything and removes the data. */
    async close() {
      await indexer.close();
      for (const own of Object.values(nodes)) if (own !== chain) await own.close();
    },
  };
}
