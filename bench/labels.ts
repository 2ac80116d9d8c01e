// Measures the label service on generated labels and compares its figures with those of the public reference
// implementation (measured once on a similar machine with 5 M labels; a stand-in with its cost runs alongside).
//
//   node scripts/with-node.mjs bench/labels.ts [--labels 5000000] [--seconds 6] [--port 21900] [--folder DIR]
//   node scripts/with-node.mjs bench/labels.ts --against CHECKOUT [--rounds 60]
//
// With --against, this checkout alternates with another one of this project (with its packages installed): both ingest the
// same dump, and both serve the same database in short turns. Ratios above 1: this one costs less processor time.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readFileSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { digestOfText } from "../src/ens/keccak.ts";
import { openLabelFile } from "../src/labels/label-file.ts";
import { generatedLabels, writeDump } from "./labels/data.ts";
import { referenceCost } from "./labels/stand-in.ts";
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
const script = (name: string) => fileURLToPath(new URL(name, import.meta.url));
const checkout = script("..");

/** Measured of the public reference implementation; its ingest does not verify. */
const reference = {
  ingestRows: 98_000,
  verifiedIngestRows: 5_000_000 / 406,
  bytesPerLabel: 56.6,
  startSeconds: 3.5,
  privateGB: 0.53,
  validatedLabels: 1_000_000 / 71,
  p50Pinned: 0.38,
};

const rows: string[][] = [];
const report = (what: string, value: string, target: string, ratio = "") => {
  rows.push([what, value, target, ratio]);
  console.log(`${what.padEnd(44)} ${value.padStart(22)}   ${target.padEnd(26)} ${ratio}`);
};
const whole = (value: number) => Math.round(value).toLocaleString("en-US");
const times = (value: number) => `${value.toFixed(value < 10 ? 1 : 0)}x`;

mkdirSync(folder, { recursive: true });
const dump = join(folder, `ens_names_${labelCount}.sql.gz`);
const database = join(folder, "labels.sqlite");
if (!existsSync(dump)) {
  console.log(`writing ${dump}`);
  await writeDump(dump, labelCount);
}

/** Processor microseconds of this service's heals, for the comparison in the same run. */
const ownCost: Record<string, number> = {};

if (values.against !== undefined) {
  const checkouts: [string, string] = [checkout, resolve(values.against)];
  await compareLabels(checkouts, { dump, folder, labelCount, port, rounds: Number(values.rounds) });
  process.exit();
}

console.log(`${whole(labelCount)} labels; the last column compares with the reference implementation\n`);
measureIngest();
checkNothingLost();
measureValidation();
const service = await measureStart();
await measureHeals(service.pid);
await service.stop();
await measureStandIn();

function measureIngest() {
  const { wallSeconds, cpuSeconds, peakBytes } = ingest(checkout, { dump, database });
  const speed = labelCount / wallSeconds;
  report(
    "ingest, verified, rows/s",
    whole(speed),
    ">= 250,000",
    `${times(speed / reference.ingestRows)} (${times(speed / reference.verifiedIngestRows)} verified)`,
  );
  report("ingest, processor us/row", ((cpuSeconds * 1e6) / labelCount).toFixed(2), "");
  report("ingest, peak memory GB", (peakBytes / 1e9).toFixed(2), "< 0.6");
  const bytes = (statSync(database).size - 120_000) / labelCount;
  report("bytes/label on disk", bytes.toFixed(1), "<= 30", times(reference.bytesPerLabel / bytes));
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
  report(
    "rows in / labels in the database",
    `${whole(labelCount)} / ${whole(file.facts.recordsCount)}`,
    "equal",
  );
  file.close();
}

function measureValidation() {
  const { cpuSeconds } = runCommand(checkout, "validate", "--database", database);
  const speed = labelCount / cpuSeconds;
  report(
    "validate, labels/s of processor time",
    whole(speed),
    ">= 1,000,000",
    times(speed / reference.validatedLabels),
  );
}

async function measureStart() {
  const started = performance.now();
  const server = await startServer(checkout, { port, database });
  const startSeconds = (performance.now() - started) / 1000;
  report(
    "start to first heal, s",
    startSeconds.toFixed(2),
    "< 0.5",
    times(reference.startSeconds / startSeconds),
  );
  return server;
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

async function measureHeals(pid: number) {
  const { batch, ...single } = requests(labelCount);
  const targets = { pinned: "<= 40", known: "", unknown: "" };
  for (const kind of ["pinned", "known", "unknown"] as const) {
    const { microseconds, perSecond, p50, p99, statuses } = await run(single[kind], 50);
    ownCost[kind] = microseconds;
    report(
      `${kind} heal, 50 connections, processor us`,
      microseconds.toFixed(1),
      targets[kind],
      times(referenceCost[kind] / microseconds),
    );
    report(
      `  requests/s, p50 / p99 ms`,
      `${whole(perSecond)}, ${p50.toFixed(1)} / ${p99.toFixed(1)}`,
      JSON.stringify(statuses),
    );
  }
  const alone = await run(single.pinned, 1);
  report(
    "pinned heal, one connection, p50 ms",
    alone.p50.toFixed(3),
    "< 0.1",
    times(reference.p50Pinned / alone.p50),
  );
  reportMemory("private memory after these, MB", pid);
  const batches = await run(batch, 1);
  const speed = 1e10 / batches.microseconds;
  report(
    "batch heal, labels/s of processor time",
    whole(speed),
    ">= 500,000",
    times((speed * referenceCost.pinned) / 1e6),
  );
  reportMemory("private memory after batches, MB", pid);
}

function reportMemory(what: string, pid: number) {
  const memory = privateBytes(pid);
  if (memory === undefined) return;
  report(what, whole(memory / 1e6), "< 100", times((reference.privateGB * 1e9) / memory));
}

async function measureStandIn() {
  const child = spawn(process.execPath, [script("labels/stand-in.ts"), String(port), database], {
    stdio: "ignore",
  });
  while (!(await fetch(`http://127.0.0.1:${port}/metrics`).catch(() => undefined))?.ok)
    await new Promise((done) => setTimeout(done, 20));
  console.log("\nthe reference implementation's cost, by a stand-in on this machine:");
  const { pinned, known, unknown } = requests(labelCount);
  for (const [kind, next] of Object.entries({ pinned, known, unknown })) {
    const { microseconds, perSecond, p50, p99 } = await run(next, 50);
    report(
      `${kind} heal, 50 connections, processor us`,
      microseconds.toFixed(1),
      "",
      `${times(microseconds / (ownCost[kind] ?? 0))} in this run`,
    );
    report(`  requests/s, p50 / p99 ms`, `${whole(perSecond)}, ${p50.toFixed(1)} / ${p99.toFixed(1)}`, "");
  }
  child.kill();
  await once(child, "exit");
}

/** Private memory of the process that is not a file's page; undefined where the system does not report it. */
function privateBytes(pid: number): number | undefined {
  const path = `/proc/${pid}/smaps_rollup`;
  if (!existsSync(path)) return undefined;
  const sizes = [...readFileSync(path, "utf8").matchAll(/^Private_Dirty: +(\d+) kB/gm)];
  return sizes.reduce((sum, [, kilobytes]) => sum + Number(kilobytes) * 1024, 0);
}
