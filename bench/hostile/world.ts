import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { startNode } from "../../devnet/node.ts";
import { freePort } from "../../devnet/ports.ts";
import { type ChainName, chainIds } from "../../devnet/recorded-chains.ts";
import { readAddresses, readLabels, readRecording } from "../../devnet/recording.ts";
import { type ServiceProcess, startServiceProcess } from "../../devnet/service-process.ts";
import { WaitError, waitFor } from "../../devnet/wait.ts";
import { batchOf, createLabelDatabase } from "../../labels-service/store/database.ts";
import { childrenOf } from "../../test/support/process-tree.ts";
import { datasourcesFile } from "../../test/support/recordings.ts";
import { startBenchPostgres } from "../postgres.ts";
import { forgedLine, startHostileNode } from "./hostile-node.ts";
import { longLabels } from "./long-labels.ts";
import { type Processors, shareProcessors } from "./processors.ts";
import { type AddedRows, addRows } from "./rows.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const folders: Record<ChainName, string> = { root: "a", base: "a-base", linea: "a-linea" };
const folderOf = (chain: ChainName) => join(root, "devnet/recording", folders[chain]);
const schema = "hostile";

/** Both services as a user starts them, and what they depend on. */
export type World = Awaited<ReturnType<typeof startWorld>>;

/**
 * Starts Postgres, the three recorded chains (each mines a block every two seconds, and the root chain has hostile
 * contracts), the label service and the indexing service with all plugins, and adds rows to the finished index.
 */
export async function startWorld(rows: AddedRows) {
  const folder = mkdtempSync(join(tmpdir(), "bench-hostile-"));
  const processors = shareProcessors();
  const postgres = await processors.startIn("database", startBenchPostgres);
  const nodes = await startNodes();
  const hostile = await startHostileNode({
    upstream: nodes.root.url,
    registry: readAddresses(folderOf("root"))["ENSv1Registry"] ?? "0x",
  });
  const labels = await startLabels(folder, processors);
  const port = await freePort();
  const log = { bytes: 0, controls: 0, errors: 0 };
  const settings = {
    ...settingsOf({ root: hostile.url, base: nodes.base.url, linea: nodes.linea.url }),
    LABELS_URL: labels.url,
    DATASOURCES_FILE: writeDatasources(folder),
    DATABASE_URL: postgres.url,
    PORT: String(port),
  };
  const indexer = createIndexer({ folder, port, settings, log, processors });
  await indexer.start({});
  // Ponder takes the chains' events in one order of time: a stalled chain holds the others back.
  for (const node of Object.values(nodes)) node.startMining(2);
  await addRows({ url: postgres.url, schema }, rows);

  return {
    port,
    postgres,
    schema,
    labels,
    hostile,
    processors,
    /** Of the indexing service since the start: bytes, lines with raw control characters, and lines of errors. */
    log,
    indexerPid: indexer.pid,
    lastLines: indexer.lastLines,

    /** Stops what uses the memory: both services, and the running statements. */
    async relieve() {
      await indexer.kill();
      labels.kill();
      await postgres.halt();
      await processors.startIn("database", postgres.resume);
    },

    /** Restarts both services, as after an update; the index resumes where it was. */
    async restart(environment: Readonly<Record<string, string>>) {
      await indexer.stop();
      await labels.restart();
      await indexer.start(environment);
    },

    async close() {
      await indexer.stop();
      await labels.stop();
      await hostile.close();
      await Promise.all(Object.values(nodes).map((node) => node.close()));
      await postgres.stop();
      rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
      processors.close();
    },
  };
}

type Log = { bytes: number; controls: number; errors: number };

function createIndexer({
  folder,
  port,
  settings,
  log,
  processors,
}: {
  folder: string;
  port: number;
  settings: Readonly<Record<string, string>>;
  log: Log;
  processors: Processors;
}) {
  let service: ServiceProcess | undefined;
  const pidOf = async () => (await childrenOf(service?.pid))[0];
  return {
    async start(environment: Readonly<Record<string, string>>) {
      service = startServiceProcess({
        name: "indexing service",
        args: [join(root, "scripts/ponder.ts"), "start"],
        cwd: folder,
        env: { PATH: process.env["PATH"], HOME: process.env["HOME"], ...settings, ...environment },
        onLine: (line) => count(log, line),
      });
      processors.put(service.pid, "service");
      await waitUntilReady(service, port);
    },
    async stop() {
      const pid = await pidOf();
      await service?.stop("SIGINT", { patienceMs: 15_000 });
      // It has its own process group, and may be too busy to notice that its launcher has exited.
      killIfThere(pid);
    },
    async kill() {
      const pid = await pidOf();
      service?.kill();
      killIfThere(pid);
    },
    /** The process that indexes and serves, not its launcher; undefined while there is none. */
    pid: pidOf,
    lastLines: () => service?.lastLines(12) ?? [],
  };
}

function killIfThere(pid: number | undefined) {
  if (pid === undefined) return;
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It has exited by itself.
  }
}

function settingsOf(urls: Record<ChainName, string>): Record<string, string> {
  const chains = Object.entries(urls) as [ChainName, string][];
  return {
    NAMESPACE: "ens-test-env",
    PLUGINS: "subgraph,basenames,lineanames,threedns,protocol-acceleration,registrars,tokenscope",
    DATABASE_SCHEMA: schema,
    ...Object.fromEntries(chains.map(([chain, url]) => [`RPC_URL_${chainIds[chain]}`, url])),
  };
}

async function startNodes() {
  const open = (chain: ChainName, contracts?: ReturnType<typeof readAddresses>) =>
    startNode({ recording: readRecording(folderOf(chain)), contracts });
  const root = await open("root", readAddresses(folderOf("root")));
  return { root, base: await open("base"), linea: await open("linea") };
}

async function startLabels(folder: string, processors: Processors) {
  const database = join(folder, "labels.sqlite");
  const writer = createLabelDatabase(database, "subgraph");
  const chains = Object.keys(folders) as ChainName[];
  writer.add(batchOf([...new Set(chains.flatMap((chain) => readLabels(folderOf(chain)))), ...longLabels()]));
  writer.finish(new Date());
  const port = await freePort();
  const start = async () => {
    const args = ["serve", "--port", String(port), "--host", "127.0.0.1", "--database", database];
    const service = startServiceProcess({
      name: "label service",
      args: [join(root, "labels-service/cli.ts"), ...args],
      cwd: folder,
      env: { ...process.env },
    });
    processors.put(service.pid, "service");
    await waitUntilReady(service, port);
    return service;
  };
  let service = await start();
  return {
    port,
    url: `http://127.0.0.1:${port}`,
    pid: () => (service.ending() === undefined ? service.pid : undefined),
    async restart() {
      await service.stop("SIGTERM");
      service = await start();
    },
    kill: () => service.kill(),
    stop: () => service.stop("SIGTERM"),
  };
}

async function waitUntilReady(service: ServiceProcess, port: number) {
  await waitFor(
    service.name,
    async () => {
      if (service.ending()) throw new WaitError(service.lastLines(30).join("\n"));
      const { status } = await fetch(`http://127.0.0.1:${port}/ready`, {
        signal: AbortSignal.timeout(5_000),
      });
      return status === 200 ? { done: true } : { state: `/ready answers ${status}` };
    },
    { timeoutMs: 240_000, everyMs: 250 },
  );
}

// The registry alone decides which resolver a name has.
function writeDatasources(folder: string): string {
  const path = join(folder, "datasources.json");
  const table = JSON.parse(datasourcesFile());
  table["ens-test-env"].ensroot[chainIds.root].contracts.UniversalResolver = { address: null };
  writeFileSync(path, JSON.stringify(table));
  return path;
}

function count(log: Log, line: string) {
  log.bytes += line.length + 1;
  // Colours of the logger itself do not count: without a terminal it uses none.
  if (/[\0-\x08\x0b-\x1f\x7f]/.test(line) || line.startsWith(forgedLine)) log.controls += 1;
  if (/ ERROR /.test(line)) log.errors += 1;
}
