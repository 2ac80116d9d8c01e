import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { inject } from "vitest";
import { readEntities } from "../../devnet/entities.ts";
import {
  endingOf,
  requireRunning,
  startIndexingService,
  waitWhileRunning,
} from "../../devnet/indexing-service.ts";
import { writeLabelsFile } from "../../devnet/labels-file.ts";
import { type DevNode, type NodeOptions, startNode } from "../../devnet/node.ts";
import { freePort } from "../../devnet/ports.ts";
import { type ChainName, chainIds, chainNames, recordingFolder } from "../../devnet/recorded-chains.ts";
import { readAddresses } from "../../devnet/recording.ts";
import type { ServiceProcess } from "../../devnet/service-process.ts";
import type { Snapshot } from "../../src/api/status/snapshot.ts";
import { recordArchives } from "./archive/recorded.ts";
import { createEmptyDatabase, expireLock } from "./postgres.ts";
import { childrenOf } from "./process-tree.ts";
import {
  compareWithRecording,
  datasourcesFile,
  lastBlocks,
  recordedEntities,
  recordedLabels,
  recordingOf,
} from "./recordings.ts";

/** Where an index is stored: `embedded` is PGlite; `server` is Postgres where it is installed, else PGlite. */
export type DatabaseKind = "embedded" | "server";

type IndexerOptions = {
  labels: readonly string[];
  database?: DatabaseKind;
  environment: Record<string, string>;
};

/** An indexing service on a free port, with its own database, labels and working folder. Not started yet. */
export async function createIndexer({ labels, database = "server", environment }: IndexerOptions) {
  const folder = mkdtempSync(join(tmpdir(), "name-index-"));
  const labelsPath = join(folder, "labels.sqlite");
  writeLabelsFile(labelsPath, labels);
  const server = database === "server" && inject("postgresUrl");
  const stored = server ? await createEmptyDatabase(server) : undefined;
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  let service: ServiceProcess | undefined;

  const environmentOf = (servicePort: number) => ({
    PATH: process.env["PATH"],
    HOME: process.env["HOME"],
    NODE_COMPILE_CACHE: inject("compiledModules"),
    LABELS_URL: `file:${labelsPath}`,
    ...(stored
      ? { DATABASE_URL: stored.url, DATABASE_SCHEMA: "public" }
      : { PGLITE_DIRECTORY: join(folder, "pglite") }),
    PORT: String(servicePort),
    LOG_LEVEL: "info",
    ...environment,
  });

  function running(): ServiceProcess {
    if (service === undefined) throw new Error("The indexing service was not started.");
    return service;
  }

  return {
    folder,
    port,
    url,
    /** What the service is started with. */
    environment: environmentOf(port),
    running,

    /** Starts the service; on the same data as before if it ran already. */
    start(more: Record<string, string> = {}): ServiceProcess {
      if (service !== undefined && service.ending() === undefined) throw new Error("The service is running.");
      service = startIndexingService({
        cwd: folder,
        env: { ...environmentOf(port), ...more },
      });
      return service;
    },

    /** Starts a process that only serves the index, on a port of its own. Needs a Postgres server. */
    async startReader() {
      const readerPort = await freePort();
      const reader = startIndexingService({ cwd: folder, env: environmentOf(readerPort), command: "serve" });
      return {
        url: `http://127.0.0.1:${readerPort}`,
        stop: () => reader.stop("SIGINT"),
        lastLines: reader.lastLines,
      };
    },

    /** Polls `look` until it is done; throws as soon as the service has ended. */
    waitFor: <Result>(what: string, look: () => Promise<{ done: Result } | { state: string }>) =>
      waitWhileRunning([running()], what, look, { timeoutMs: 500_000, everyMs: 200 }),

    /** The service's snapshot of all chains; undefined while there is none. */
    async snapshot(): Promise<Snapshot | undefined> {
      const response = await fetch(`${url}/api/indexing-status`).catch(() => undefined);
      if (response?.status !== 200) return undefined;
      const body = (await response.json()) as { realtimeProjection: { snapshot: Snapshot } };
      return body.realtimeProjection.snapshot;
    },

    /**
     * Kills the indexing process at once, like the OOM killer, and waits until it is gone. Its lock on a server's schema does not
     * hold up the next start.
     */
    async crash() {
      const [ponder] = await childrenOf(running().pid);
      if (ponder === undefined) throw new Error(endingOf(running()));
      process.kill(ponder, "SIGKILL");
      await running().ended;
      if (stored) await expireLock(stored.url, "public");
    },

    /** Throws if the service has ended. */
    expectRunning: () => requireRunning(running()),

    /** Stops the service gracefully. */
    stop: (signal: NodeJS.Signals = "SIGINT") => running().stop(signal),

    /** Stops the service and removes its data. */
    async close() {
      await service?.stop("SIGINT");
      await stored?.drop();
      rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

/** A node over the recording of the root chain, and an indexing service for it. */
export type World = Awaited<ReturnType<typeof startWorld>>;

/**
 * Starts a node over the recording of the root chain (its head at `head`, if given) and creates an indexing service
 * for it. `environment` adds to or replaces the service's settings.
 */
export async function startWorld({
  node: nodeOptions = {},
  chain,
  head,
  environment = {},
  rpcUrl,
  database = "server",
}: {
  node?: Partial<NodeOptions>;
  /** A node that another world has started, and will close. */
  chain?: DevNode;
  head?: number;
  environment?: Record<string, string>;
  /** Another chain than the node's, for tests on a real EVM. */
  rpcUrl?: string;
  database?: DatabaseKind;
} = {}) {
  const node =
    chain ??
    (await startNode({
      recording: recordingOf("root"),
      contracts: readAddresses(recordingFolder("root")),
      ...nodeOptions,
    }));
  if (head !== undefined) node.chain.setHead(head);
  const indexer = await createIndexer({
    labels: recordedLabels(["root"]),
    database,
    environment: {
      NAMESPACE: "ens-test-env",
      PLUGINS: "subgraph",
      SUBGRAPH_COMPAT: "true",
      [`RPC_URL_${chainIds.root}`]: rpcUrl ?? node.url,
      ...environment,
    },
  });
  const { url } = indexer;

  /** Newest indexed block, as Ponder's own status reports it. */
  async function indexedBlock(): Promise<number> {
    const response = await fetch(`${url}/status`, { signal: AbortSignal.timeout(60_000) });
    const chains = Object.values((await response.json()) as Record<string, { block: { number: number } }>);
    return Math.max(...chains.map(({ block }) => block.number));
  }

  return {
    ...indexer,
    node,

    async query<Data = Record<string, unknown>>(text: string): Promise<Data> {
      const response = await fetch(`${url}/subgraph`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ query: text }),
      });
      const { data, errors } = (await response.json()) as { data?: Data; errors?: { message: string }[] };
      if (data === undefined || errors !== undefined) {
        throw new Error(`The query failed: ${errors?.map(({ message }) => message).join("; ")}`);
      }
      return data;
    },

    /** Waits until the backfill is over and the block (the chain's head unless given) is indexed. */
    async waitForIndex({ block }: { block?: number } = {}) {
      const look = async () => {
        const { status } = await fetch(`${url}/ready`);
        if (status !== 200) return { state: `/ready returns ${status}` };
        const number = await indexedBlock();
        const wanted = block ?? node.chain.head();
        return number >= wanted ? { done: number } : { state: `block ${number} of ${wanted} is indexed` };
      };
      await indexer.waitFor(`block ${block ?? "at the head"}`, look);
    },

    /** All entities of the index. */
    entities: () => readEntities(`${url}/subgraph`, recordedEntities()),

    /** Compares the index with the entities of the whole recording. */
    compareWithRecording: () => compareWithRecording(`${url}/subgraph`),

    /** Ends everything and removes the data. */
    async close() {
      await indexer.close();
      if (chain === undefined) await node.close();
    },
  };
}

const lastBlocksById = Object.fromEntries(
  chainNames.map((chain) => [Number(chainIds[chain]), lastBlocks[chain]]),
);

/** Nodes over the three recordings, and an indexing service for all of them. */
export type ChainsWorld = Awaited<ReturnType<typeof startChainsWorld>>;

/** Starts a node for each of the three recordings and creates an indexing service with all plugins of names and registrars. */
export async function startChainsWorld({
  datasources = datasourcesFile(),
  isArchived = false,
  environment = {},
}: {
  /** Text of the datasources file. */
  datasources?: string;
  /** Whether an archive of the recordings, taken from the nodes, stands in front of them. */
  isArchived?: boolean;
  environment?: Record<string, string>;
} = {}) {
  const open = (chain: ChainName, port = 0) => startNode({ recording: recordingOf(chain), port });
  const nodes = { root: await open("root"), base: await open("base"), linea: await open("linea") };
  const indexer = await createIndexer({
    labels: recordedLabels(chainNames),
    environment: {
      NAMESPACE: "ens-test-env",
      PLUGINS: "subgraph,basenames,lineanames,threedns,registrars",
      ...Object.fromEntries(chainNames.map((chain) => [`RPC_URL_${chainIds[chain]}`, nodes[chain].url])),
      ...environment,
    },
  });
  const datasourcesPath = join(indexer.folder, "datasources.json");
  writeFileSync(datasourcesPath, datasources);
  const archive = join(indexer.folder, "archive");
  const given = { DATASOURCES_FILE: datasourcesPath, ...(isArchived ? { ARCHIVE: archive } : {}) };
  if (isArchived) await recordArchives(archive, { ...indexer.environment, ...given }, lastBlocksById);
  const countsOf = (chain: ChainName) => nodes[chain].counts();
  const before = { root: countsOf("root"), base: countsOf("base"), linea: countsOf("linea") };

  return {
    ...indexer,
    nodes,
    start: () => indexer.start(given),

    /** How often the node of a chain was asked by a method since an archive was taken of it. */
    requestsTo: (chain: ChainName, method: string) =>
      (countsOf(chain)[method] ?? 0) - (before[chain][method] ?? 0),

    /** Serves a chain again on its port, as a node that was restarted. */
    async restartNode(chain: ChainName) {
      const { port } = nodes[chain];
      await nodes[chain].close();
      nodes[chain] = await open(chain, port);
    },

    /** Waits until `isWanted` accepts the status. */
    waitForStatus: (what: string, isWanted: (snapshot: Snapshot) => boolean) =>
      indexer.waitFor(what, async () => {
        const snapshot = await indexer.snapshot();
        if (snapshot && isWanted(snapshot)) return { done: snapshot };
        return { state: JSON.stringify(snapshot?.omnichainSnapshot) ?? "no status" };
      }),

    async close() {
      await indexer.close();
      await Promise.all(Object.values(nodes).map((node) => node.close()));
    },
  };
}
