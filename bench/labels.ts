// Measures the label service on generated labels: ingest, disk, validation, start, heals, memory.
//
//   node cli/with-node.mjs bench/labels.ts [--labels 5000000] [--seconds 6] [--port 21900] [--folder DIR]
//   node cli/with-node.mjs bench/labels.ts --against CHECKOUT [--rounds 60]
//
// With --against, this checkout alternates with another one of this project (with its packages installed): both ingest the
// same dump, and both serve the same database in short turns. Ratios above 1: this one costs less processor time.
import { existsSync, mkdirSync, readFileSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { projectRoot } from "../devnet/indexing-service.ts";
import { digestOfText } from "../src/ens/keccak.ts";
import { openLabelFile } from "../src/labels/label-file.ts";
import { generatedLabels, writeDump } from "./labels/data.ts";
import { compareLabels, cpuSeconds, ingest, requests, runCommand, startServer } from "./labels/turns.ts";
import { load } from "./load/load.ts";

const { values } = parseArgs({
  options: {
    labels: { type: "string", default: "5000000" },
    seconds: { type: "string", default: "6" },
    port: { type: "string", default: "21900" },
    against: { type: "string" },
    rounds: { type: "string", default: "60" },
    folder: { type: "string", default: join(tmpdir(), "labels-bench") },
  },
});
const [labelCount, seconds, port] = [Number(values.labels), Number(values.seconds), Number(values.port)];
const { folder } = values;

const whole = (value: number) => Math.round(value).toLocaleString("en-US");
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
  checkNothingLost();
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

function checkNothingLost() {
  const file = openLabelFile(database);
  let lost = 0;
  let batch: string[] = [];
  const check = () => {
    const digests = Buffer.concat(batch.map((label) => Buffer.from(digestOfText(label))));
    for (const [i, label] of file.healAll(digests, 0).entries()) if (label !== batch[i]) lost++;
    batch = [];
  };
  for (const label of generatedLabels(labelCount)) if (batch.push(label) === 1000) check();
  check();
  report("labels lost or changed", whole(lost), "0");
  report("labels in the database", whole(file.facts.recordsCount), whole(labelCount));
  file.close();
}

/** The median of three rounds by processor time for each request, after a warm-up. */
async function run(next: () => string, connections: number) {
  await load(port, { connections, seconds: 1, next });
  const rounds = [];
  for (let round = 0; round < 3; round++) {
    const before = await cpuSeconds(port);
    const result = await load(port, { connections, seconds: seconds / 3, next });
    rounds.push({ ...result, microseconds: (((await cpuSeconds(port)) - before) * 1e6) / result.requests });
  }
  const [, median] = rounds.toSorted((a, b) => a.microseconds - b.microseconds);
  if (median === undefined) throw new Error("No round was run.");
  return median;
}

async function measureService() {
  const started = performance.now();
  const { pid, stop } = await startServer(projectRoot, { port, database });
  report("start to first heal, s", ((performance.now() - started) / 1000).toFixed(2), "< 0.5");
  const { batch, ...single } = requests(labelCount);
  for (const [kind, next] of Object.entries(single)) {
    const { microseconds, perSecond, p50, p99, statuses } = await run(next, 50);
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
  const { p50 } = await run(single.pinned, 1);
  report("pinned heal, one connection, p50 ms", p50.toFixed(3), "< 0.1");
  reportMemory("private memory after these, MB", pid);
  const { microseconds } = await run(batch, 1);
  report("batch heal, labels/s of processor time", whole(1e10 / microseconds), ">= 500,000");
  reportMemory("private memory after batches, MB", pid);
  await stop();
}

/** Private memory of the process that is not a file's page, where the system reports it. */
function reportMemory(what: string, pid: number) {
  const path = `/proc/${pid}/smaps_rollup`;
  if (!existsSync(path)) return;
  const sizes = [...readFileSync(path, "utf8").matchAll(/^Private_Dirty: +(\d+) kB/gm)];
  report(what, whole(sizes.reduce((sum, [, kilobytes]) => sum + Number(kilobytes), 0) / 1000), "< 100");
}
