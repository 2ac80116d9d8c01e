import { join } from "node:path";
import pg from "pg";
import { freePort } from "../../devnet/ports.ts";
import { emptyRoot, type Indexed, indexOnce, realRoot } from "./indexing-process.ts";
import { labelsFile, serveLabels } from "./labels-file.ts";
import { oneChainHistory } from "./one-chain-history.ts";
import { type RpcServer, serveHistory } from "./rpc.ts";

const firstBlock = 10_000_000;

type Mode = { appRoot: string; isCompatible: boolean; plugins: string; labels?: "http" };
type Run = Omit<Indexed<number>, "result"> & { requests: number; eventsPerSecond: number };

const allPlugins = "subgraph,protocol-acceleration,registrars,tokenscope";
const modes: Readonly<Record<string, Mode>> = {
  "empty functions": { appRoot: emptyRoot, isCompatible: true, plugins: "subgraph" },
  "subgraph mode": { appRoot: realRoot, isCompatible: true, plugins: "subgraph" },
  "labels by HTTP": { appRoot: realRoot, isCompatible: true, plugins: "subgraph", labels: "http" },
  "multichain mode": { appRoot: realRoot, isCompatible: false, plugins: "subgraph" },
  "all plugins": { appRoot: realRoot, isCompatible: false, plugins: allPlugins },
};

/** What is measured, and where it is stored. */
export type OneChainOptions = {
  logs: number;
  rounds: number;
  folder: string;
  database: string;
  /** Undefined: PGlite in `folder`. */
  databaseUrl: string | undefined;
  /** Folder of another checkout, to compare with. */
  against: string | undefined;
};

type Subject = Pick<OneChainOptions, "folder" | "databaseUrl"> & {
  rpc: RpcServer;
  labelsUrl: string;
  labelService: string;
  logs: number;
};

/** Indexes one generated chain in several modes and compares their speed with that of empty indexing functions. */
export async function measureOneChain(options: OneChainOptions): Promise<void> {
  const { rounds, folder, database, databaseUrl } = options;
  const { transactions, labels } = oneChainHistory(options.logs);
  const logs = transactions.reduce((sum, transaction) => sum + transaction.logs.length, 0);
  const rpc = await serveHistory(transactions, firstBlock);
  const labelsUrl = labelsFile(folder, labels);
  const service = await serveLabels(labelsUrl);
  const subject: Subject = { rpc, labelsUrl, labelService: service.url, logs, folder, databaseUrl };
  console.log(`${format(logs)} logs in ${format(rpc.lastBlock - rpc.firstBlock + 1)} blocks, ${database}`);
  try {
    const cold = await backfill(subject, "cold", modes["empty functions"] as Mode);
    console.log(
      `cold RPC cache, empty functions: ${format(cold.eventsPerSecond)} logs/s (${cold.seconds.toFixed(1)} s, ${format(cold.requests)} requests)`,
    );
    // Other modes need more topics: their first run fetches those, and nothing twice.
    const further = await backfill(subject, "further", modes["all plugins"] as Mode);
    console.log(`all plugins of one chain after it: ${format(further.requests)} more requests`);

    if (options.against !== undefined) return await compare(subject, options.against, rounds);
    const runs = new Map(Object.keys(modes).map((name) => [name, [] as Run[]]));
    for (let round = 0; round < rounds; round++) {
      for (const [place, [name, mode]] of Object.entries(modes).entries()) {
        runs.get(name)?.push(await backfill(subject, `mode${place}_${round}`, mode));
      }
    }
    printRuns(runs);
  } finally {
    rpc.close();
    await service.stop();
  }
}

/**
 * Runs the functions of this checkout and of another at the same time, so that other work on the machine slows both. Which
 * one starts first changes every round.
 */
async function compare(subject: Subject, other: string, rounds: number): Promise<void> {
  console.log("this checkout | the other | ratio, geometric mean: by time, by processor time");
  for (const [place, [name, mode]] of Object.entries(modes).entries()) {
    if (mode.appRoot !== realRoot) continue;
    const pairs: { own: Run; others: Run }[] = [];
    for (let round = 0; round < rounds; round++) {
      const own = () => backfill(subject, `own${place}_${round}`, mode);
      const others = () => backfill(subject, `other${place}_${round}`, { ...mode, appRoot: other });
      if (round % 2 === 0) {
        const [first, second] = await Promise.all([own(), others()]);
        pairs.push({ own: first, others: second });
      } else {
        const [first, second] = await Promise.all([others(), own()]);
        pairs.push({ own: second, others: first });
      }
    }
    const speeds = (of: "own" | "others") => pairs.map((pair) => format(pair[of].eventsPerSecond)).join(", ");
    const byTime = meanRatio(pairs.map(({ own, others }) => others.seconds / own.seconds));
    const byProcessor = meanRatio(
      pairs.map(({ own, others }) => others.processorSeconds / own.processorSeconds),
    );
    console.log(
      `  ${name.padEnd(16)} ${speeds("own")} | ${speeds("others")} | ${byTime.toFixed(3)}, ${byProcessor.toFixed(3)}`,
    );
  }
}

const meanRatio = (ratios: number[]) =>
  Math.exp(ratios.reduce((sum, ratio) => sum + Math.log(ratio), 0) / ratios.length);

/** Indexes the chain once into a new schema; settles when the backfill is complete. */
async function backfill(
  { rpc, labelsUrl, labelService, logs, folder, databaseUrl }: Subject,
  name: string,
  { appRoot, isCompatible, plugins, labels }: Mode,
): Promise<Run> {
  const requestsBefore = rpc.requests();
  const run = await indexOnce({
    name,
    appRoot,
    port: await freePort(),
    environment: {
      NAMESPACE: "holesky",
      PLUGINS: plugins,
      SUBGRAPH_COMPAT: String(isCompatible),
      LABELS_URL: labels === "http" ? labelService : labelsUrl,
      RPC_URL_17000: rpc.url,
      START_BLOCK: String(rpc.firstBlock),
      END_BLOCK: String(rpc.lastBlock),
      ...(databaseUrl ? { DATABASE_URL: databaseUrl } : { PGLITE_DIRECTORY: join(folder, "pglite") }),
    },
    whenComplete: () => rpc.requests() - requestsBefore,
  });
  if (databaseUrl) await dropSchema(databaseUrl, name);
  return { ...run, requests: run.result, eventsPerSecond: logs / run.seconds };
}

/** Drops an index and flushes the rest, so that no run pays for cleaning up after the previous one. */
async function dropSchema(databaseUrl: string, name: string): Promise<void> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  await client.query(`DROP SCHEMA "${name}" CASCADE`);
  await client.query("CHECKPOINT");
  await client.end();
}

function printRuns(runs: ReadonlyMap<string, Run[]>): void {
  const speedOf = (list: Run[] = []) => median(list.map(({ eventsPerSecond }) => eventsPerSecond));
  const ceiling = speedOf(runs.get("empty functions"));
  console.log(
    "warm RPC cache, medians in logs per second (a log counts once, however many plugins index it):",
  );
  for (const [name, list] of runs) {
    const peak = Math.max(...list.map(({ peakMegabytes }) => peakMegabytes));
    const all = list.map(({ eventsPerSecond }) => format(eventsPerSecond)).join(", ");
    const [{ requests } = { requests: 0 }] = list;
    console.log(
      `  ${name.padEnd(16)} ${format(speedOf(list)).padStart(8)}   ${(speedOf(list) / ceiling).toFixed(2)} of the ceiling   peak ${format(peak)} MB   ${requests} requests   (${all})`,
    );
  }
}

const median = (values: number[]) => values.toSorted((a, b) => a - b)[values.length >> 1] ?? Number.NaN;
const format = (value: number) => Math.round(value).toLocaleString("en");
