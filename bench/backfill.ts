// Backfill speed: events per second of the real indexing functions compared with empty ones, over one generated chain.
//
//   node cli/with-node.mjs bench/backfill.ts [--logs 500000] [--rounds 3]
//   node cli/with-node.mjs bench/backfill.ts --against CHECKOUT [--logs 500000] [--rounds 3]
//   node cli/with-node.mjs bench/backfill.ts --ensv2 [--logs 200000] [--rounds 3]
//   node cli/with-node.mjs bench/backfill.ts --archive [--logs 200000] [--rounds 3]
//
// Needs a Postgres server's programs (it starts one for the run). The RPC cache is filled by a first
// run, whose time is printed too; the figures that count come from runs over the warm cache.
//
// With --against, each mode runs beside the indexing functions of another checkout of this project (with its packages
// installed); the last column is the mean ratio of the pairs: above 1, this one is faster.
//
// With --ensv2, the chain has nothing but names of the second generation. With --archive, an archive of the chain is recorded, then each
// round indexes with a cold cache, over RPC and through the archive.

import { writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { freePort } from "../devnet/ports.ts";
import { recordArchives } from "../test/support/archive/recorded.ts";
import { query } from "../test/support/postgres.ts";
import { holesky, type ServedHistory, serveHistory } from "./backfill/chain.ts";
import { ensv2Datasources, ensv2History } from "./backfill/ensv2-history.ts";
import { emptyRoot, type Indexed, indexOnce, realRoot } from "./backfill/indexing-process.ts";
import { startServer } from "./labels/service.ts";
import { quantile, whole } from "./measure.ts";
import { createDatabase, inWorld, type World } from "./world.ts";

const { values: options } = parseArgs({
  options: {
    archive: { type: "boolean", default: false },
    ensv2: { type: "boolean", default: false },
    logs: { type: "string", default: "500000" },
    rounds: { type: "string", default: "3" },
    against: { type: "string" },
  },
});

type Mode = {
  appRoot?: string;
  settings: Readonly<Record<string, string>>;
  hasLabelsByHttp?: boolean;
  /** Whether it has a database, and so a cache, of its own. */
  isCold?: boolean;
};
type Run = Indexed & { logsPerSecond: number; requests: number };

const all = "subgraph,protocol-acceleration,registrars,tokenscope";
const inSubgraphMode = { PLUGINS: "subgraph", SUBGRAPH_COMPAT: "true" };

/** By the line that is printed; the first has empty functions and every event of the others. */
const modesOfNames = (ensv2: Record<string, string>): Readonly<Record<string, Mode>> => ({
  "empty functions": { appRoot: emptyRoot, settings: inSubgraphMode },
  "subgraph mode": { settings: inSubgraphMode },
  "labels by HTTP": { settings: inSubgraphMode, hasLabelsByHttp: true },
  "multichain mode": { settings: { PLUGINS: "subgraph" } },
  "all plugins": { settings: { PLUGINS: all } },
  "all and ensv2": { settings: { PLUGINS: `${all},ensv2`, ...ensv2 } },
});
const modesOfEnsv2 = (ensv2: Record<string, string>): Readonly<Record<string, Mode>> => ({
  "empty functions": { appRoot: emptyRoot, settings: { PLUGINS: "ensv2", ...ensv2 } },
  ensv2: { settings: { PLUGINS: "ensv2", ...ensv2 } },
  "with resolvers": { settings: { PLUGINS: "subgraph,ensv2,protocol-acceleration", ...ensv2 } },
});

type Subject = { world: World; served: ServedHistory; labelService: string };

/** Indexes one generated chain in several modes and compares their speed with that of empty indexing functions. */
async function measure(world: World): Promise<void> {
  const { folder } = world;
  const [logs, rounds, isEnsv2] = [Number(options.logs), Number(options.rounds), options.ensv2];
  const served = await serveHistory(isEnsv2 ? { logs, folder, given: ensv2History(logs) } : { logs, folder });
  const { environment, firstBlock, lastBlock } = served;
  const port = await freePort();
  const service = await startServer(realRoot, { port, database: fileURLToPath(environment.LABELS_URL) });
  const subject: Subject = { served, labelService: `http://127.0.0.1:${port}`, world };
  const datasources = join(folder, "datasources.json");
  writeFileSync(datasources, ensv2Datasources(firstBlock));
  const modes = (isEnsv2 ? modesOfEnsv2 : modesOfNames)({ DATASOURCES_FILE: datasources });
  console.log(`${whole(served.logs)} logs in ${whole(lastBlock - firstBlock + 1)} blocks, ${world.version}`);
  try {
    if (options.archive) return await compareArchive(subject, rounds);
    // Modes differ in the topics that they need: what one has fetched, the next does not fetch again.
    for (const name of ["empty functions", Object.keys(modes).at(-1) ?? ""]) {
      const run = await backfill(subject, `cold_${name}`, modes[name] as Mode);
      console.log(`cold RPC cache, ${name}: ${shownRun(run)}, ${whole(run.requests)} requests`);
    }
    if (options.against !== undefined) return await compare(subject, modes, resolve(options.against), rounds);
    const runs = new Map(Object.keys(modes).map((name) => [name, [] as Run[]]));
    for (let round = 0; round < rounds; round++) {
      for (const [index, [name, mode]] of Object.entries(modes).entries()) {
        runs.get(name)?.push(await backfill(subject, `mode${index}_${round}`, mode));
      }
    }
    printRuns(runs);
  } finally {
    await served.close();
    await service.stop();
  }
}

/**
 * Runs the functions of this checkout and of another at the same time, so that other work on the machine slows both. Which
 * one starts first changes every round.
 */
async function compare(
  subject: Subject,
  modes: Readonly<Record<string, Mode>>,
  other: string,
  rounds: number,
): Promise<void> {
  console.log("this checkout | the other | ratio, geometric mean: by time, by processor time");
  for (const [index, [name, mode]] of Object.entries(modes).entries()) {
    if (mode.appRoot === emptyRoot) continue;
    const pairs: { own: Run; others: Run }[] = [];
    for (let round = 0; round < rounds; round++) {
      const own = () => backfill(subject, `own${index}_${round}`, mode);
      const others = () => backfill(subject, `other${index}_${round}`, { ...mode, appRoot: other });
      const isFirst = round % 2 === 0;
      const [first, second] = await Promise.all(isFirst ? [own(), others()] : [others(), own()]);
      pairs.push(isFirst ? { own: first, others: second } : { own: second, others: first });
    }
    const speeds = (of: "own" | "others") => pairs.map((pair) => whole(pair[of].logsPerSecond)).join(", ");
    const ratio = (of: "seconds" | "processorSeconds") =>
      meanRatio(pairs.map(({ own, others }) => others[of] / own[of])).toFixed(3);
    console.log(
      `  ${name.padEnd(16)} ${speeds("own")} | ${speeds("others")} | ${ratio("seconds")}, ${ratio("processorSeconds")}`,
    );
  }
}

/** Indexes with a cold cache, over RPC and through an archive of the chain, in turn. */
async function compareArchive(subject: Subject, rounds: number): Promise<void> {
  const { environment, lastBlock } = subject.served;
  const archive = join(subject.world.folder, "archive");
  await recordArchives(archive, { ...environment, ...inSubgraphMode }, { [holesky]: lastBlock });
  const modes = { rpc: inSubgraphMode, archive: { ...inSubgraphMode, ARCHIVE: archive } };
  for (let round = 0; round < rounds; round++) {
    const seconds: number[] = [];
    for (const [name, settings] of Object.entries(modes)) {
      const run = await backfill(subject, `${name}_${round}`, { settings, isCold: true });
      seconds.push(run.seconds);
      console.log(`  cold, ${name.padEnd(8)} ${shownRun(run)}, ${whole(run.requests)} requests`);
    }
    console.log(`  archive against RPC: ${((seconds[0] ?? 0) / (seconds[1] ?? 0)).toFixed(2)} times`);
  }
}

const shownRun = ({ logsPerSecond, seconds, peakMegabytes }: Run) =>
  `${whole(logsPerSecond)} logs/s (${seconds.toFixed(1)} s), peak ${whole(peakMegabytes)} MB`;

const meanRatio = (ratios: number[]) =>
  Math.exp(ratios.reduce((sum, ratio) => sum + Math.log(ratio), 0) / ratios.length);

/** Indexes the chain once into a new schema; settles when the backfill is complete. */
async function backfill(
  { served, labelService, world }: Subject,
  name: string,
  { appRoot = realRoot, settings, hasLabelsByHttp = false, isCold = false }: Mode,
): Promise<Run> {
  const schema = name.replaceAll(" ", "_");
  const url = isCold ? await createDatabase(world.url, schema) : world.url;
  const requestsBefore = served.requests();
  const run = await indexOnce({
    name: schema,
    appRoot,
    port: await freePort(),
    environment: {
      ...served.environment,
      ...settings,
      ...(hasLabelsByHttp ? { LABELS_URL: labelService } : {}),
      DATABASE_URL: url,
    },
  });
  const requests = served.requests() - requestsBefore;
  // No run pays for cleaning up after the previous one.
  await query(url, `DROP SCHEMA "${schema}" CASCADE`);
  await query(world.url, "CHECKPOINT");
  return { ...run, logsPerSecond: served.logs / run.seconds, requests };
}

function printRuns(runs: ReadonlyMap<string, Run[]>): void {
  const speedOf = (list: Run[] = []) =>
    quantile(
      list.map(({ logsPerSecond }) => logsPerSecond),
      0.5,
    );
  const ceiling = speedOf(runs.get("empty functions"));
  console.log(
    "warm RPC cache, medians in logs per second (a log counts once, however many plugins index it):",
  );
  for (const [name, list] of runs) {
    const peak = Math.max(...list.map(({ peakMegabytes }) => peakMegabytes));
    const each = list.map(({ logsPerSecond }) => whole(logsPerSecond)).join(", ");
    console.log(
      `  ${name.padEnd(16)} ${whole(speedOf(list)).padStart(8)}   ${(speedOf(list) / ceiling).toFixed(2)} of the ceiling   peak ${whole(peak)} MB   ${list[0]?.requests ?? 0} requests   (${each})`,
    );
  }
}

await inWorld("backfill", measure);
