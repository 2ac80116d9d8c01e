import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import {
  type Accepted,
  type Comparison,
  compareEntities,
  type Entities,
  readEntities,
  readEntityDump,
} from "../../devnet/entities.ts";
import { type DevNode, type NodeOptions, startNode } from "../../devnet/node.ts";
import { freePort } from "../../devnet/ports.ts";
import { readAddresses, readLabels, readRecording } from "../../devnet/recording.ts";
import { type ServiceProcess, startServiceProcess } from "../../devnet/service-process.ts";
import { WaitError, waitFor } from "../../devnet/wait.ts";
import { batchOf, createLabelDatabase } from "../../labels-service/store/database-writer.ts";
import { childrenOf } from "./process-tree.ts";

/** A node, an indexing service over it, and their data folder: everything an end-to-end test needs. */
export type World = Awaited<ReturnType<typeof startWorld>>;

const root = fileURLToPath(new URL("../..", import.meta.url));
const recordingFolder = join(root, "devnet/recording/a");

const fixture = (name: string) => join(root, "test/fixtures", name);

/** Entities that the original mapping makes of the carried recording. */
export const recordedEntities = (): Entities => readEntityDump(fixture("chain-a-entities.json.gz"));

/** Values in which the index was decided to differ from them: a wrapped label that ends in NUL is unusable. */
const decidedDifferences = (): Accepted => JSON.parse(readFileSync(fixture("chain-a-accepted.json"), "utf8"));

/** What a comparison with the recording's entities finds when all is right: five fields are decided differences. */
export const asRecorded: Comparison = { total: 11888, equal: 11888, acceptedFields: 5, differences: [] };

/**
 * Starts a node over the carried recording (its head at `head`, if given) and an indexing service on a free
 * port with a database folder and labels of its own. `environment` adds to or replaces the service's settings.
 */
export async function startWorld({
  node: nodeOptions = {},
  chain,
  head,
  environment = {},
  rpcUrl,
}: {
  node?: Partial<NodeOptions>;
  /** A node that another world has started, and will close. */
  chain?: DevNode;
  head?: number;
  environment?: Record<string, string>;
  /** Another chain than the node's, for tests on a real EVM. */
  rpcUrl?: string;
} = {}) {
  const folder = mkdtempSync(join(tmpdir(), "name-index-"));
  const labels = join(folder, "labels.sqlite");
  writeLabels(labels);
  const node =
    chain ??
    (await startNode({
      recording: readRecording(recordingFolder),
      contracts: readAddresses(recordingFolder),
      ...nodeOptions,
    }));
  if (head !== undefined) node.chain.setHead(head);
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  let indexer: ServiceProcess | undefined;

  /** Starts the indexing service; with the same data folder as before, if it ran already. */
  function start(more: Record<string, string> = {}): ServiceProcess {
    if (indexer !== undefined && indexer.ending() === undefined) throw new Error("The service is running.");
    const started = startServiceProcess({
      name: "indexing service",
      args: [join(root, "scripts/ponder.ts"), "start"],
      cwd: folder,
      env: {
        PATH: process.env["PATH"],
        HOME: process.env["HOME"],
        NAMESPACE: "ens-test-env",
        PLUGINS: "subgraph",
        SUBGRAPH_COMPAT: "true",
        LABELS_URL: `file:${labels}`,
        PGLITE_DIRECTORY: join(folder, "pglite"),
        RPC_URL_15658733: rpcUrl ?? node.url,
        PORT: String(port),
        LOG_LEVEL: "info",
        ...environment,
        ...more,
      },
    });
    indexer = started;
    return started;
  }

  function running(): ServiceProcess {
    if (indexer === undefined) throw new Error("The indexing service was not started.");
    return indexer;
  }

  /** Last indexed block of each chain, as Ponder's own status says. */
  async function status(): Promise<{ id: number; block: { number: number; timestamp: number } }[]> {
    const response = await fetch(`${url}/status`, { signal: AbortSignal.timeout(5_000) });
    return Object.values((await response.json()) as Record<string, never>);
  }

  async function query<Data = Record<string, unknown>>(text: string): Promise<Data> {
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
  }

  return {
    node,
    folder,
    port,
    url,
    start,
    running,
    status,
    query,

    /** Waits until the backfill is over and the block (the chain's head unless given) is indexed. */
    async waitForIndex({ block, timeoutMs = 170_000 }: { block?: number; timeoutMs?: number } = {}) {
      await waitFor(
        `block ${block ?? "at the head"}`,
        async () => {
          endsWait(running());
          const ready = (await fetch(`${url}/ready`)).status;
          const number = Math.max(...(await status()).map((chain) => chain.block.number));
          const wanted = block ?? node.chain.head();
          if (ready === 200 && number >= wanted) return { done: number };
          return { state: `/ready answers ${ready}, block ${number} of ${wanted} is indexed` };
        },
        { timeoutMs },
      );
    },

    /** Throws a WaitError with its last lines when the indexing service has ended. */
    expectRunning: () => endsWait(running()),

    /** All entities of the index. */
    entities: () => readEntities(`${url}/subgraph`, recordedEntities()),

    /** Compares the index with the entities of the whole recording. */
    async compareWithRecording(): Promise<Comparison> {
      const expected = recordedEntities();
      return compareEntities(expected, await readEntities(`${url}/subgraph`, expected), decidedDifferences());
    },

    /** Ends the process that indexes at once, as a crash or a lack of memory would, and waits until it is gone. */
    async crash() {
      const [ponder] = await childrenOf(running().pid);
      if (ponder === undefined) throw new Error("The indexing process is not there.");
      process.kill(ponder, "SIGKILL");
      await running().ended;
    },

    /** Ends the indexing service in an orderly way. */
    stop: (signal: NodeJS.Signals = "SIGINT") => running().stop(signal),

    /** Ends everything and removes the data folder. */
    async close() {
      await indexer?.stop("SIGINT");
      if (chain === undefined) await node.close();
      rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

function endsWait(service: ServiceProcess) {
  const ending = service.ending();
  if (ending === undefined) return;
  const how = ending.signal ?? `exit code ${ending.code}`;
  throw new WaitError(`The ${service.name} ended (${how}):\n${service.lastLines(30).join("\n")}`);
}

function writeLabels(path: string) {
  const writer = createLabelDatabase(path, "subgraph");
  writer.add(batchOf(readLabels(recordingFolder)));
  writer.finish(new Date());
}
