// What a change costs, in three minutes: processor time of a start, of a warm backfill and of ten kinds of requests,
// memory and disk, as ratios to another checkout of this project (with its packages installed).
//
//   node cli/with-node.mjs bench/budget.ts --against CHECKOUT [--logs 50000] [--rounds 2]
//
// Both checkouts start and index at the same time, so that other work on the machine slows both; then they get each
// kind of request in turn. Processor time of requests includes that of Postgres. A ratio above 1 means that this
// checkout takes more; above the tolerance, the row fails and so does the command.

import { readdirSync, readFileSync } from "node:fs";
import { resolve } from "node:path";
import { parseArgs } from "node:util";
import { clientQueries, type KnownName } from "../cli/compare/queries.ts";
import { freePort } from "../devnet/ports.ts";
import { askSubgraph } from "../devnet/subgraph.ts";
import { query } from "../test/support/postgres.ts";
import { serveHistory } from "./backfill/chain.ts";
import { generateAccount } from "./backfill/history.ts";
import { type Indexed, indexOnce, realRoot } from "./backfill/indexing-process.ts";
import { readProcessorSeconds, residentMegabytes, untilReady } from "./measure.ts";
import { inWorld, type World } from "./world.ts";

const { values: options } = parseArgs({
  options: {
    against: { type: "string" },
    logs: { type: "string", default: "50000" },
    rounds: { type: "string", default: "2" },
  },
});
if (options.against === undefined) throw new Error("--against takes the folder of another checkout");
const other = resolve(options.against);

// Requests of a kind in a turn, and turns.
const [requestsOfTurn, turns] = [150, 5];
const tolerance = 1.05;

/** What was measured of a checkout, by row. */
type Figures = Record<string, number>;

await inWorld("budget", async (world) => {
  const collector = generateAccount(1_000_000);
  const ownerOf = (index: number) => (index < 200 ? collector : undefined);
  const served = await serveHistory({ logs: Number(options.logs), folder: world.folder, ownerOf });
  const environment = {
    ...served.environment,
    ...{ PLUGINS: "subgraph", SUBGRAPH_COMPAT: "true", DATABASE_URL: world.url },
  };
  const pairs: [own: Figures, others: Figures][] = [];
  try {
    await indexOnce({ name: "cold", appRoot: realRoot, port: await freePort(), environment });
    for (let round = 0; round < Number(options.rounds); round++)
      pairs.push(await measurePair(world, environment, `${round}`, collector));
  } finally {
    await served.close();
  }
  printVerdicts(pairs);
});

/** Starts both checkouts, waits until both are ready, and asks them in turn. */
async function measurePair(
  world: World,
  environment: Record<string, string>,
  round: string,
  collector: `0x${string}`,
): Promise<[own: Figures, others: Figures]> {
  const [asked, bothReady] = [Promise.withResolvers<void>(), [] as Promise<void>[]];
  const subjects: Subject[] = [];
  const runs: Promise<Indexed>[] = [];
  for (const [index, appRoot] of [realRoot, other].entries()) {
    const [port, ready] = [await freePort(), Promise.withResolvers<void>()];
    const name = `budget_${round}_${index}`;
    bothReady.push(ready.promise);
    const whenComplete = async (pid: number | undefined) => {
      await untilReady(port);
      subjects[index] = { name, pid, url: `http://127.0.0.1:${port}/subgraph` };
      ready.resolve();
      await asked.promise;
    };
    runs.push(indexOnce({ name, appRoot, port, environment, whenComplete }));
  }
  await Promise.race([Promise.all(bothReady), Promise.all(runs)]);
  const requests = await measureRequests(subjects, collector, world);
  const sizes = await Promise.all(subjects.map(({ name }) => measureSize(world.url, name)));
  const memory = subjects.map(({ pid }) => residentMegabytes(pid));
  asked.resolve();
  const [own, others] = (await Promise.all(runs)).map(
    ({ startSeconds, processorSeconds, peakMegabytes }, index): Figures => ({
      "start, processor s": startSeconds,
      "backfill, processor s": processorSeconds,
      "start and backfill, processor s": startSeconds + processorSeconds,
      "backfill, peak MB": peakMegabytes,
      "after the requests, MB": memory[index] ?? 0,
      "bytes of disk a log": (sizes[index] ?? 0) / Number(options.logs),
      ...requests[index],
    }),
  );
  return [own ?? {}, others ?? {}];
}

type Subject = { name: string; pid: number | undefined; url: string };

/** Processor milliseconds of a request of each kind, by subject; in turn, so that Postgres works for one of them. */
async function measureRequests(
  subjects: readonly Subject[],
  collector: `0x${string}`,
  { url }: World,
): Promise<Figures[]> {
  const known =
    '{ domains(first: 1000, where: { name_starts_with: "name1", labelName_not: null }) { id name owner { id } } }';
  const { domains } = await askSubgraph<{ domains: KnownName[] }>(subjects[0]?.url ?? "", known);
  const figures: Figures[] = subjects.map(() => ({}));
  const postmaster = await findPostmaster(url);
  for (const { name, query: text, variables } of clientQueries(domains, collector))
    for (let turn = 0; turn < turns; turn++)
      for (const [index, subject] of subjects.entries()) {
        const before = readProcessorSeconds(subject.pid) + sumProcessorSeconds(postmaster);
        for (let request = 0; request < requestsOfTurn; request++)
          await askSubgraph(
            subject.url,
            text,
            variables[(turn * requestsOfTurn + request) % variables.length],
          );
        const spent = readProcessorSeconds(subject.pid) + sumProcessorSeconds(postmaster) - before;
        // The first turn warms up.
        const row = `${name}, processor ms`;
        const of = figures[index];
        if (of && turn > 0) of[row] = (of[row] ?? 0) + (spent * 1_000) / requestsOfTurn / (turns - 1);
      }
  return figures;
}

async function findPostmaster(url: string): Promise<number> {
  const [found] = await query<{ parent: string }>(url, "SELECT pg_backend_pid()::text AS parent");
  return readParent(found?.parent ?? "");
}

/** Processor seconds of a process and its children, of those that have ended too. */
function sumProcessorSeconds(parent: number): number {
  const children = readdirSync("/proc").filter((pid) => /^\d+$/.test(pid) && readParent(pid) === parent);
  const own = readProcessorSeconds(parent, { withEnded: true });
  return children.reduce((sum, pid) => sum + readProcessorSeconds(Number(pid)), own);
}

function readParent(pid: string): number {
  try {
    const [, parent] = readFileSync(`/proc/${pid}/stat`, "utf8")
      .replace(/^.*\) /s, "")
      .split(" ");
    return Number(parent);
  } catch {
    return 0;
  }
}

async function measureSize(url: string, schema: string): Promise<number> {
  const [found] = await query<{ bytes: number }>(
    url,
    `SELECT sum(pg_total_relation_size(c.oid))::float8 AS bytes
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.relkind = 'r' AND n.nspname = '${schema}'`,
  );
  return found?.bytes ?? 0;
}

function printVerdicts(pairs: readonly [own: Figures, others: Figures][]): void {
  console.log(`${"".padEnd(34)}     this    other   ratio`);
  const mean = (values: number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;
  for (const row of Object.keys(pairs[0]?.[0] ?? {})) {
    const own = mean(pairs.map(([figures]) => figures[row] ?? 0));
    const others = mean(pairs.map(([, figures]) => figures[row] ?? 0));
    const ratio = own / others;
    const isHeavier = ratio > tolerance;
    if (isHeavier) process.exitCode = 1;
    const columns = [own.toFixed(2), others.toFixed(2), ratio.toFixed(2)].map((text) => text.padStart(8));
    console.log(`${row.padEnd(34)} ${columns.join(" ")}  ${isHeavier ? "HEAVIER" : "ok"}`);
  }
}
