// Backfill speed: events a second of the real indexing functions beside empty ones, over one made-up chain.
//
//   node scripts/with-node.mjs bench/backfill.ts [--logs 500000] [--plugins subgraph] [--rounds 3] [--pglite]
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
    plugins: { type: "string", default: "subgraph" },
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

type Run = { eventsPerSecond: number; seconds: number; peakMegabytes: number };

/** Indexes the chain once into a schema of its own; ends when the backfill is complete. */
async function backfill(name: string, appRoot: string, isCompatible: boolean): Promise<Run> {
  const bin = join(root, "node_modules/ponder/dist/esm/bin/ponder.js");
  const args = ["start", "--root", appRoot, "--schema", name, "--log-format", "json", "--port", "42990"];
  const child = spawn(process.execPath, [bin, ...args], {
    stdio: ["ignore", "pipe", "inherit"],
    env: {
      ...process.env,
      NAMESPACE: "mainnet",
      PLUGINS: options.plugins,
      SUBGRAPH_COMPAT: String(isCompatible),
      LABELS_URL: `file:${labelsPath}`,
      RPC_URL_1: rpc.url,
      START_BLOCK: String(rpc.firstBlock),
      END_BLOCK: String(rpc.lastBlock),
      DATABASE_SCHEMA: name,
      PORT: "42990",
      ...(databaseUrl ? { DATABASE_URL: databaseUrl } : { PGLITE_DIRECTORY: join(folder, "pglite") }),
    },
  });
  let peakMegabytes = 0;
  const watch = setInterval(() => {
    peakMegabytes = Math.max(peakMegabytes, residentMegabytes(child.pid));
  }, 250);
  try {
    for await (const line of createInterface({ input: child.stdout })) {
      const { msg, duration, level, error } = JSON.parse(line);
      if (level >= 50) throw new Error(`${name}: ${msg} ${JSON.stringify(error)}`);
      if (msg !== "Completed backfill indexing across all chains") continue;
      return { eventsPerSecond: logs / (duration / 1000), seconds: duration / 1000, peakMegabytes };
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
  const cold = await backfill("cold", emptyRoot, true);
  console.log(
    `cold RPC cache, empty functions: ${format(cold.eventsPerSecond)} events/s (${cold.seconds.toFixed(1)} s, ${format(rpc.requests())} requests)`,
  );
  const runs: Record<string, Run[]> = { empty: [], "subgraph mode": [], "multichain mode": [] };
  for (let round = 0; round < Number(options.rounds); round++) {
    runs["empty"]?.push(await backfill(`empty_${round}`, emptyRoot, true));
    runs["subgraph mode"]?.push(await backfill(`compatible_${round}`, root, true));
    runs["multichain mode"]?.push(await backfill(`multichain_${round}`, root, false));
  }
  const ceiling = median((runs["empty"] ?? []).map(({ eventsPerSecond }) => eventsPerSecond));
  console.log("warm RPC cache, medians:");
  for (const [name, list] of Object.entries(runs)) {
    const speed = median(list.map(({ eventsPerSecond }) => eventsPerSecond));
    const peak = Math.max(...list.map(({ peakMegabytes }) => peakMegabytes));
    const all = list.map(({ eventsPerSecond }) => format(eventsPerSecond)).join(", ");
    console.log(
      `  ${name.padEnd(16)} ${format(speed).padStart(8)} events/s   ${(speed / ceiling).toFixed(2)} of the ceiling   peak ${format(peak)} MB   (${all})`,
    );
  }
} finally {
  rpc.close();
  postgres?.stop();
  rmSync(folder, { recursive: true, force: true });
}
