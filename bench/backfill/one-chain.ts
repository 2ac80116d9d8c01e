import { join } from "node:path";
import pg from "pg";
import { freePort } from "../../devnet/ports.ts";
import { generateHistory } from "./chain.ts";
import { emptyRoot, indexOnce, realRoot } from "./indexing-process.ts";
import { labelsFile } from "./labels-file.ts";
import { serveHistory } from "./rpc.ts";

const firstBlock = 10_000_000;

type Mode = { isCompatible: boolean; plugins: string };
type Run = { requests: number; eventsPerSecond: number; seconds: number; peakMegabytes: number };

/** Indexes one made-up chain in several modes and prints their speed beside that of empty indexing functions. */
export async function measureOneChain({
  logs: wanted,
  rounds,
  folder,
  database,
  databaseUrl,
}: {
  logs: number;
  rounds: number;
  folder: string;
  database: string;
  /** Undefined: PGlite in `folder`. */
  databaseUrl: string | undefined;
}): Promise<void> {
  const { transactions, labels } = generateHistory(wanted);
  const logs = transactions.reduce((sum, { length }) => sum + length, 0);
  const rpc = await serveHistory(transactions, firstBlock);
  const labelsUrl = labelsFile(folder, labels);

  /** Indexes the chain once into a schema of its own; ends when the backfill is complete. */
  async function backfill(name: string, appRoot: string, { isCompatible, plugins }: Mode): Promise<Run> {
    const requestsBefore = rpc.requests();
    const run = await indexOnce({
      name,
      appRoot,
      port: await freePort(),
      environment: {
        NAMESPACE: "holesky",
        PLUGINS: plugins,
        SUBGRAPH_COMPAT: String(isCompatible),
        LABELS_URL: labelsUrl,
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

  console.log(`${format(logs)} logs in ${format(rpc.lastBlock - rpc.firstBlock + 1)} blocks, ${database}`);
  const subgraph: Mode = { isCompatible: true, plugins: "subgraph" };
  const multichain: Mode = { isCompatible: false, plugins: "subgraph" };
  const everything: Mode = {
    isCompatible: false,
    plugins: "subgraph,protocol-acceleration,registrars,tokenscope",
  };
  try {
    const cold = await backfill("cold", emptyRoot, subgraph);
    console.log(
      `cold RPC cache, empty functions: ${format(cold.eventsPerSecond)} logs/s (${cold.seconds.toFixed(1)} s, ${format(cold.requests)} requests)`,
    );
    // Other modes ask for further topics: their first run fetches these, and nothing else anew.
    const further = await backfill("further", realRoot, everything);
    console.log(`all plugins of one chain after it: ${format(further.requests)} further requests`);

    const modes: Record<string, (round: number) => Promise<Run>> = {
      "empty functions": (round) => backfill(`empty_${round}`, emptyRoot, subgraph),
      "subgraph mode": (round) => backfill(`compatible_${round}`, realRoot, subgraph),
      "multichain mode": (round) => backfill(`multichain_${round}`, realRoot, multichain),
      "all plugins": (round) => backfill(`all_${round}`, realRoot, everything),
    };
    const runs = new Map(Object.keys(modes).map((name) => [name, [] as Run[]]));
    for (let round = 0; round < rounds; round++) {
      for (const [name, run] of Object.entries(modes)) runs.get(name)?.push(await run(round));
    }
    printRuns(runs);
  } finally {
    rpc.close();
  }
}

/** Takes an index away and writes out what is left, so that no run pays for cleaning up after the one before. */
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
  console.log("warm RPC cache, medians of logs a second (a log counts once, however many plugins take it):");
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
