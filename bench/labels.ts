// Measures the label service on generated labels: ingest, disk, validation, start, heals, memory.
//
//   node cli/with-node.mjs bench/labels.ts [--labels 5000000] [--seconds 6] [--port 21900] [--folder DIR]
//   node cli/with-node.mjs bench/labels.ts --against CHECKOUT [--rounds 20]
//
// With --against, this checkout alternates with another one of this project (with its packages installed): both ingest the
// same dump, and both serve the same database in short turns. Ratios above 1: this one costs less processor time.
import { existsSync, mkdirSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { projectRoot } from "../devnet/indexing-service.ts";
import { writeDump } from "./labels/data.ts";
import {
  compareLabels,
  cpuSeconds,
  ingest,
  requests,
  runCommand,
  type Server,
  startServer,
} from "./labels/turns.ts";
import { load } from "./load/load.ts";
import { megabytesIn, whole } from "./measure.ts";

const { values } = parseArgs({
  options: {
    labels: { type: "string", default: "5000000" },
    seconds: { type: "string", default: "6" },
    port: { type: "string", default: "21900" },
    against: { type: "string" },
    rounds: { type: "string", default: "20" },
    folder: { type: "string", default: join(tmpdir(), "labels-bench") },
  },
});
const [labelCount, seconds, port] = [Number(values.labels), Number(values.seconds), Number(values.port)];
const { folder } = values;

const report = (what: string, value: string, target = "") =>
  console.log(`${what.padEnd(44)} ${value.padStart(22)}   ${target}`);

mkdirSync(folder, { recursive: true });
const dump = join(folder, `ens_names_${labelCount}.sql.gz`);
const database = join(folder, "labels.sqlite");
if (!existsSync(dump)) {
  console.log(`writing ${dump}`);
  await writeDump(dump, labelCount);
}

if (values.against !== undefined) {
  const checkouts: [string, string] = [projectRoot, resolve(values.against)];
  await compareLabels(checkouts, { dump, folder, labelCount, port, rounds: Number(values.rounds) });
} else {
  console.log(`${whole(labelCount)} labels; the last column is the target\n`);
  measureIngest();
  const { cpuSeconds: validating } = runCommand(projectRoot, "validate", "--database", database);
  report("validate, labels/s of processor time", whole(labelCount / validating), ">= 1,000,000");
  await measureService();
}

function measureIngest() {
  const { wallSeconds, cpuSeconds, peakBytes } = ingest(projectRoot, { dump, database });
  report("ingest, verified, rows/s", whole(labelCount / wallSeconds), ">= 250,000");
  report("ingest, processor us/row", ((cpuSeconds * 1e6) / labelCount).toFixed(2));
  report("ingest, peak memory GB", (peakBytes / 1e9).toFixed(2), "< 0.6");
  const bytes = (statSync(database).size - 120_000) / labelCount;
  report("bytes/label on disk", bytes.toFixed(1), "<= 30");
}

/** A load after a warm-up, and the processor time for each request. */
async function run({ port }: Server, next: () => string, connections: number) {
  await load(port, { connections, seconds: 1, next });
  const before = await cpuSeconds(port);
  const result = await load(port, { connections, seconds, next });
  return { ...result, microseconds: (((await cpuSeconds(port)) - before) * 1e6) / result.requests };
}

async function measureService() {
  const started = performance.now();
  const server = await startServer(projectRoot, { port, database });
  report("start to readiness, s", ((performance.now() - started) / 1000).toFixed(2), "< 0.5");
  const { batch, ...single } = requests(labelCount);
  for (const [kind, next] of Object.entries(single)) {
    const { microseconds, perSecond, p50, p99, statuses } = await run(server, next, 50);
    report(
      `${kind} heal, 50 connections, processor us`,
      microseconds.toFixed(1),
      kind === "pinned" ? "<= 40" : "",
    );
    report(
      "  requests/s, p50 / p99 ms",
      `${whole(perSecond)}, ${p50.toFixed(1)} / ${p99.toFixed(1)}`,
      JSON.stringify(statuses),
    );
  }
  const { p50 } = await run(server, single.pinned, 1);
  report("pinned heal, one connection, p50 ms", p50.toFixed(3), "< 0.1");
  reportMemory("private memory after these, MB", server.pid);
  const { microseconds } = await run(server, batch, 1);
  report("batch heal, labels/s of processor time", whole(1e10 / microseconds), ">= 500,000");
  reportMemory("private memory after batches, MB", server.pid);
  await server.stop();
}

/** Private memory of the process that is not a file's page. */
function reportMemory(what: string, pid: number) {
  report(what, whole(megabytesIn(`/proc/${pid}/smaps_rollup`, /^Private_Dirty: +(\d+)/m)), "< 100");
}
