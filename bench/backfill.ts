// Backfill speed: events a second of the real indexing functions beside empty ones, over one made-up chain.
//
//   node scripts/with-node.mjs bench/backfill.ts [--logs 500000] [--rounds 3] [--pglite]
//
// Needs a Postgres server's programs (it starts one for the run), or DATABASE_URL. The RPC cache is filled by a first
// run, whose time is printed too; the figures that count come from runs over the warm cache.

import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { batchOf, createLabelDatabase } from "../labels-service/database.ts";
import { generateHistory } from "./backfill/chain.ts";
import { serveHistory } from "./backfill/rpc.ts";
import { startPostgres } from "./postgres.ts";

const { values: options } = parseArgs({
  options: {
    logs: { type: "string", default: "500000" },
    rounds: { type: "string", default: "3" },
    pglite: { type: "boolean", default: false },
  },
});

const root = fileURLToPath(new URL("..", import.meta.url));
const emptyRoot = fileURLToPath(new URL("backfill/empty", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "bench-backfill-"));
const firstBlock = 10_000_000;

const { transactions, labels } = generateHistory(Number(options.logs));
const logs = transactions.reduce((sum, { length }) => sum + length, 0);
const rpc = await serveHistory(transactions, firstBlock);
const labelsPath = join(folder, "labels.sqlite");
// Every second label is known, as a label set that lags behind would have it.
const writer = createLabelDatabase(labelsPath, "subgraph");
writer.add(batchOf(labels.filter((_, i) => i % 2 === 0)));
writer.finish(new Date());

const postgres = options.pglite || process.env["DATABASE_URL"] ? undefined : startPostgres(54_999);
const databaseUrl = options.pglite ? undefined : (process.env["DATABASE_URL"] ?? postgres?.url);

type Mode = { isCompatible: boolean; plugins: string };
type Run = { requests: number; eventsPerSecond: number; seconds: number; peakMegabytes: number };

/** Indexes the chain once into a schema of its own; ends when the backfill is complete. */
async function backfill(name: string, appRoot: string, { isCompatible, plugins }: Mode): Promise<Run> {
  const bin = join(root, "node_modules/ponder/dist/esm/bin/ponder.js");
  const args = ["start", "--root", appRoot, "--schema", name, "--log-format", "json", "--port", "42990"];
  const child = spawn(process.execPath, ["--max-semi-space-size=128", bin, ...args], {
    stdio: ["ignore", "pipe", "inherit"],
    env: {
      ...process.env,
      NAMESPACE: "holesky",
      PLUGINS: plugins,
      SUBGRAPH_COMPAT: String(isCompatible),
      LABELS_URL: `file:${labelsPath}`,
      RPC_URL_17000: rpc.url,
      START_BLOCK: String(rpc.firstBlock),
      END_BLOCK: String(rpc.lastBlock),
      DATABASE_SCHEMA: name,
      PORT: "42990",
      ...(databaseUrl ? { DATABASE_URL: databaseUrl } : { PGLITE_DIRECTORY: join(folder, "pglite") }),
    },
  });
  const requestsBefore = rpc.requests();
  let peakMegabytes = 0;
  const watch = setInterval(() => {
    peakMegabytes = Math.max(peakMegabytes, residentMegabytes(child.pid));
  }, 250);
  try {
    for await (const line of createInterface({ input: child.stdout })) {
      const { msg, duration, level, error } = JSON.parse(line);
      if (level >= 50) throw new Error(`${name}: ${msg} ${JSON.stringify(error)}`);
      if (msg !== "Completed backfill indexing across all chains") continue;
      const requests = rpc.requests() - requestsBefore;
      return { requests, eventsPerSecond: logs / (duration / 1000), seconds: duration / 1000, peakMegabytes };
    }
    throw new Error(`${name}: the indexing service ended before its backfill was complete`);
  } finally {
    clearInterval(watch);
    const ended = new Promise((resolve) => child.once("exit", resolve));
    child.kill("SIGINT");
    await ended;
  }
}

function residentMegabytes(pid: number | undefined): number {
  try {
    const status = readFileSync(`/proc/${pid}/status`, "utf8");
    return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1024;
  } catch {
    return 0;
  }
}

const median = (values: number[]) => values.toSorted((a, b) => a - b)[values.length >> 1] ?? Number.NaN;
const format = (value: number) => Math.round(value).toLocaleString("en");

try {
  console.log(
    `${format(logs)} logs in ${format(rpc.lastBlock - rpc.firstBlock + 1)} blocks, ${databaseUrl ? (postgres?.version ?? "Postgres at DATABASE_URL") : "PGlite"}`,
  );
  const subgraph: Mode = { isCompatible: true, plugins: "subgraph" };
  const multichain: Mode = { isCompatible: false, plugins: "subgraph" };
  const everything: Mode = {
    isCompatible: false,
    plugins: "subgraph,protocol-acceleration,registrars,tokenscope",
  };
  const cold = await backfill("cold", emptyRoot, subgraph);
  console.log(
    `cold RPC cache, empty functions: ${format(cold.eventsPerSecond)} logs/s (${cold.seconds.toFixed(1)} s, ${format(cold.requests)} requests)`,
  );
  // Other modes ask for further topics: their first run fetches these, and nothing else anew.
  const further = await backfill("further", root, everything);
  console.log(`all plugins of one chain after it: ${format(further.requests)} further requests`);

  const modes: Record<string, (round: number) => Promise<Run>> = {
    "empty functions": (round) => backfill(`empty_${round}`, emptyRoot, subgraph),
    "subgraph mode": (round) => backfill(`compatible_${round}`, root, subgraph),
    "multichain mode": (round) => backfill(`multichain_${round}`, root, multichain),
    "all plugins": (round) => backfill(`all_${round}`, root, everything),
  };
  const runs = new Map(Object.keys(modes).map((name) => [name, [] as Run[]]));
  for (let round = 0; round < Number(options.rounds); round++) {
    for (const [name, run] of Object.entries(modes)) runs.get(name)?.push(await run(round));
  }
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
} finally {
  rpc.close();
  postgres?.stop();
  rmSync(folder, { recursive: true, force: true });
}
