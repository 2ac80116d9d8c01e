// Measures the label service on generated labels: ingest, disk, validation, start, heals, memory.
//
//   node cli/with-node.mjs bench/labels.ts [--labels 5000000] [--seconds 6] [--port 21900] [--folder DIR]
//   node cli/with-node.mjs bench/labels.ts --against CHECKOUT [--rounds 20] [--seconds 1]
//
// With --against, this checkout alternates with another one of this project (with its packages installed): both ingest
// the same dump, and both serve the same database in short turns. Ratios above 1: this one costs less processor time.
import { existsSync, mkdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { projectRoot } from "../devnet/indexing-service.ts";
import { writeDump } from "./labels/data.ts";
import { measuredLoad, requests, runCommand, startServer } from "./labels/service.ts";
import { megabytesIn, quantile, secondsSince, whole } from "./measure.ts";

const { values } = parseArgs({
  options: {
    labels: { type: "string", default: "5000000" },
    seconds: { type: "string" },
    port: { type: "string", default: "21900" },
    against: { type: "string" },
    rounds: { type: "string", default: "20" },
    folder: { type: "string", default: join(tmpdir(), "labels-bench") },
  },
});
const { folder, against } = values;
const [labelCount, port] = [Number(values.labels), Number(values.port)];
const seconds = Number(values.seconds ?? (against === undefined ? 6 : 1));

/** A figure for the reader, its target, and the microseconds of processor time that two checkouts are compared by. */
type Figure = [what: string, value: string, target?: string, microseconds?: number];

mkdirSync(folder, { recursive: true });
const dump = join(folder, `ens_names_${labelCount}.sql.gz`);
const database = join(folder, "labels.sqlite");
if (!existsSync(dump)) {
  console.log(`writing ${dump}`);
  await writeDump(dump, labelCount);
}
const { batch, ...single } = requests(labelCount);
if (against !== undefined) await compare(resolve(against), Number(values.rounds));
else {
  console.log(`${whole(labelCount)} labels; the last column is the target\n`);
  for (const [what, value, target = ""] of [...ofIngest(projectRoot), ...(await ofService(projectRoot))])
    console.log(`${what.padEnd(44)} ${value.padStart(22)}   ${target}`);
}

function ofIngest(checkout: string): Figure[] {
  rmSync(database, { force: true });
  const args = ["--label-set-id", "subgraph", "--label-set-version", "0", "--database", database];
  const { wallSeconds, cpuSeconds, peakBytes } = runCommand(checkout, "ingest", dump, ...args);
  const microseconds = (cpuSeconds * 1e6) / labelCount;
  const bytes = (statSync(database).size - 120_000) / labelCount;
  const validating = runCommand(checkout, "validate", "--database", database).cpuSeconds;
  return [
    ["ingest, verified, rows/s", whole(labelCount / wallSeconds), ">= 250,000"],
    ["ingest, processor us/row", microseconds.toFixed(2), "", microseconds],
    ["ingest, peak memory GB", (peakBytes / 1e9).toFixed(2), "< 0.6"],
    ["bytes/label on disk", bytes.toFixed(1), "<= 30"],
    ["validate, labels/s of processor time", whole(labelCount / validating), ">= 1,000,000"],
  ];
}

async function ofService(checkout: string): Promise<Figure[]> {
  const started = performance.now();
  const { pid, stop } = await startServer(checkout, { port, database });
  const figures: Figure[] = [["start to readiness, s", secondsSince(started).toFixed(2), "< 0.5"]];
  const run = (next: () => string, connections: number) => measuredLoad(port, { connections, seconds, next });
  // Private memory of the process that is not a file's page.
  const memory = () => whole(megabytesIn(`/proc/${pid}/smaps_rollup`, /^Private_Dirty: +(\d+)/m));
  for (const [kind, next] of Object.entries(single)) {
    const { microseconds, perSecond, p50, p99, statuses } = await run(next, 50);
    const target = kind === "pinned" ? "<= 40" : "";
    const latencies = `${whole(perSecond)}, ${p50.toFixed(1)} / ${p99.toFixed(1)}`;
    figures.push(
      [`${kind} heal, 50 connections, processor us`, microseconds.toFixed(1), target, microseconds],
      ["  requests/s, p50 / p99 ms", latencies, JSON.stringify(statuses)],
    );
  }
  const { p50 } = await run(single.pinned, 1);
  figures.push(["pinned heal, one connection, p50 ms", p50.toFixed(3), "< 0.1"]);
  figures.push(["private memory after these, MB", memory(), "< 100"]);
  const { microseconds } = await run(batch, 1);
  const labels = whole(1e10 / microseconds);
  figures.push(["batch heal, labels/s of processor time", labels, ">= 500,000", microseconds]);
  figures.push(["private memory after batches, MB", memory(), "< 100"]);
  await stop();
  return figures;
}

/** Prints the processor time of this checkout and another, which work by turns, and the other's by this one's. */
async function compare(other: string, rounds: number): Promise<void> {
  const costs = new Map<string, [own: number[], others: number[]]>();
  // Each checkout begins in every second round. One process may cost a tenth more than its twin for as long as it
  // lives: each round has new ones.
  for (let round = 0; round < rounds; round++) {
    for (const index of round % 2 === 0 ? ([0, 1] as const) : ([1, 0] as const)) {
      const checkout = index === 0 ? projectRoot : other;
      const figures = [...(round < 5 ? ofIngest(checkout) : []), ...(await ofService(checkout))];
      for (const [what, , , microseconds] of figures) {
        if (microseconds === undefined) continue;
        const turns = costs.get(what) ?? [[], []];
        turns[index].push(microseconds);
        costs.set(what, turns);
      }
    }
  }
  for (const [what, [own, others]] of costs) {
    // Small machines share their cores: ratios of one quantile compare turns of the same kind.
    const shown = [0.1, 0.25, 0.5].map((share) => {
      const [one, another] = [quantile(own, share), quantile(others, share)];
      return `${one.toFixed(2)} / ${another.toFixed(2)} = ${(another / one).toFixed(3)}`;
    });
    console.log(`${what.padEnd(42)} us ${shown.join("   ")}`);
  }
}
