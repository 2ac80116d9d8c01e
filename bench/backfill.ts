// Backfill speed: logs per second by set of plugins, over one generated chain.
//
//   node cli/with-node.mjs bench/backfill.ts [--logs 500000] [--rounds 3]
//   node cli/with-node.mjs bench/backfill.ts --against CHECKOUT [--logs 500000] [--rounds 3]
//   node cli/with-node.mjs bench/backfill.ts --ensv2 [--logs 200000] [--rounds 3]
//   node cli/with-node.mjs bench/backfill.ts --archive [--logs 200000] [--rounds 3]
//   node cli/with-node.mjs bench/backfill.ts --past [--logs 200000] [--rounds 3]
//   node cli/with-node.mjs bench/backfill.ts --proofs [--logs 50000] [--rounds 3] [--pad 150] [--line 100]
//
// Needs a Postgres server's programs (it starts one for the run). The RPC cache is filled by a first
// run, whose time is printed too; the figures that count come from runs over the warm cache.
//
// With --against, each mode runs beside the indexing functions of another checkout of this project (with its packages
// installed); the last column is the mean ratio of the pairs: above 1, this one is faster.
//
// With --past, each round keeps no former rows, those of the last 1,000 blocks, and all. With --ensv2, the chain has
// nothing but names of the second generation. With --archive, an archive of the chain is recorded, then each round
// indexes with a cold cache, over RPC and through the archive. With --proofs, each round does so with two RPC URLs by
// samples, and with proofs of every log (RPC_VERIFY=receipts), over RPC and through an archive. --pad adds so many
// transactions of others to each block, --line passes so many megabits a second, with a delay of 20 ms.

import { writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { freePort } from "../devnet/ports.ts";
import { recordArchives } from "../test/support/archive/recorded.ts";
import { query } from "../test/support/postgres.ts";
import { holesky, type ServedHistory, serveHistory } from "./backfill/chain.ts";
import { ensv2Datasources, ensv2History } from "./backfill/ensv2-history.ts";
import { type Indexed, indexOnce, realRoot } from "./backfill/indexing-process.ts";
import { startLine } from "./backfill/line.ts";
import { startServer } from "./labels/service.ts";
import { quantile, whole } from "./measure.ts";
import { createDatabase, inWorld, type World } from "./world.ts";

const { values: options } = parseArgs({
  options: {
    archive: { type: "boolean", default: false },
    past: { type: "boolean", default: false },
    proofs: { type: "boolean", default: false },
    ensv2: { type: "boolean", default: false },
    pad: { type: "string", default: "0" },
    line: { type: "string", default: "0" },
    logs: { type: "string", default: "500000" },
    rounds: { type: "string", default: "3" },
    against: { type: "string" },
  },
});

type Mode = {
  settings: Readonly<Record<string, string>>;
  appRoot?: string;
  /** Whether it has a database, and so a cache, of its own. */
  isCold?: boolean;
};
/** By the line that is printed; those of warm caches end with every event. */
type Modes = Readonly<Record<string, Mode>>;
/** `received` and `stored`: bytes from the nodes, and of the database with its cache. */
type Run = Indexed & Record<"logsPerSecond" | "requests" | "received" | "stored", number>;
type Subject = { world: World; served: ServedHistory & Pick<Line, "received"> };
type Line = Awaited<ReturnType<typeof startLine>>;

const all = "subgraph,protocol-acceleration,registrars,tokenscope";
const inSubgraphMode = { PLUGINS: "subgraph", SUBGRAPH_COMPAT: "true" };

const modesOfNames = (ensv2: Record<string, string>, labelService: string): Modes => ({
  "subgraph mode": { settings: inSubgraphMode },
  "labels by HTTP": { settings: { ...inSubgraphMode, LABELS_URL: labelService } },
  "multichain mode": { settings: { PLUGINS: "subgraph" } },
  "all plugins": { settings: { PLUGINS: all } },
  "all and ensv2": { settings: { PLUGINS: `${all},ensv2`, ...ensv2 } },
});
const modesOfPast: Modes = Object.fromEntries(
  ["", "1000", "all"].map((blocks) => [
    `history: ${blocks || "none"}`,
    { settings: { ...inSubgraphMode, HISTORY_BLOCKS: blocks } },
  ]),
);
const modesOfEnsv2 = (ensv2: Record<string, string>): Modes => ({
  ensv2: { settings: { PLUGINS: "ensv2", ...ensv2 } },
  "with resolvers": { settings: { PLUGINS: "subgraph,ensv2,protocol-acceleration", ...ensv2 } },
});

/** Records an archive of the chain, and indexes with a cold cache over RPC and through it. */
async function modesOfArchive({ served: { environment, lastBlock }, world }: Subject): Promise<Modes> {
  const archive = join(world.folder, "archive");
  await recordArchives(archive, { ...environment, ...inSubgraphMode }, { [holesky]: lastBlock });
  return {
    "cold, over RPC": { settings: inSubgraphMode, isCold: true },
    "cold, archive": { settings: { ...inSubgraphMode, ARCHIVE: archive }, isCold: true },
  };
}

/** Indexes with a cold cache and two URLs, by samples and with proofs. */
async function modesOfProofs(subject: Subject): Promise<Modes> {
  const url = `RPC_URL_${holesky}`;
  const one = subject.served.environment[url] ?? "";
  const two = { ...inSubgraphMode, [url]: `${one},${one.replace("127.0.0.1", "localhost")}` };
  const proven = { ...two, RPC_VERIFY: "receipts" };
  const { "cold, archive": archived } = await modesOfArchive(subject);
  return {
    "cold, samples": { settings: two, isCold: true },
    "cold, proofs": { settings: proven, isCold: true },
    "archive, proofs": { settings: { ...archived?.settings, ...proven }, isCold: true },
  };
}

/** Indexes one generated chain in several modes and compares their speed with that of the first. */
async function measure(world: World): Promise<void> {
  const { folder } = world;
  const [logs, rounds] = [Number(options.logs), Number(options.rounds)];
  const given = options.ensv2 ? { given: ensv2History(logs) } : {};
  const history = await serveHistory({ logs, folder, others: Number(options.pad), ...given });
  const { firstBlock, lastBlock } = history;
  const line = await startLine(history.url, Number(options.line));
  const environment = { ...history.environment, [`RPC_URL_${holesky}`]: line.url };
  const served = { ...history, environment, received: line.received };
  const subject: Subject = { served, world };
  const port = await freePort();
  const service = await startServer(realRoot, { port, database: fileURLToPath(environment.LABELS_URL) });
  const datasources = join(folder, "datasources.json");
  writeFileSync(datasources, ensv2Datasources(firstBlock));
  const ensv2 = { DATASOURCES_FILE: datasources };
  console.log(`${whole(served.logs)} logs in ${whole(lastBlock - firstBlock + 1)} blocks, ${world.version}`);
  try {
    if (options.proofs) return printRuns(await inTurn(subject, await modesOfProofs(subject), rounds));
    if (options.archive) return printRuns(await inTurn(subject, await modesOfArchive(subject), rounds));
    const modes = options.past
      ? modesOfPast
      : options.ensv2
        ? modesOfEnsv2(ensv2)
        : modesOfNames(ensv2, `http://127.0.0.1:${port}`);
    // Modes differ in the topics that they need: what one has fetched, the next does not fetch again.
    for (const name of [Object.keys(modes)[0] ?? "", Object.keys(modes).at(-1) ?? ""]) {
      const run = await backfill(subject, `cold_${name}`, modes[name] as Mode);
      const { logsPerSecond, seconds, peakMegabytes, requests } = run;
      console.log(
        `cold RPC cache, ${name}: ${whole(logsPerSecond)} logs/s (${seconds.toFixed(1)} s), peak ${whole(peakMegabytes)} MB, ${whole(requests)} requests`,
      );
    }
    if (options.against !== undefined) await compare(subject, modes, resolve(options.against), rounds);
    else printRuns(await inTurn(subject, modes, rounds));
  } finally {
    line.close();
    await served.close();
    await service.stop();
  }
}

async function inTurn(subject: Subject, modes: Modes, rounds: number): Promise<Map<string, Run[]>> {
  const runs = new Map(Object.keys(modes).map((name) => [name, [] as Run[]]));
  for (let round = 0; round < rounds; round++)
    for (const [index, [name, mode]] of Object.entries(modes).entries())
      runs.get(name)?.push(await backfill(subject, `mode${index}_${round}`, mode));
  return runs;
}

/**
 * Runs the functions of this checkout and of another at the same time, so that other work on the machine slows both.
 * Which one starts first changes every round.
 */
async function compare(subject: Subject, modes: Modes, other: string, rounds: number): Promise<void> {
  console.log("this checkout | the other | ratio, geometric mean: by time, by processor time");
  for (const [index, [name, mode]] of Object.entries(modes).entries()) {
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

const meanRatio = (ratios: number[]) =>
  Math.exp(ratios.reduce((sum, ratio) => sum + Math.log(ratio), 0) / ratios.length);

/** Indexes the chain once into a new schema; settles when the backfill is complete. */
async function backfill(
  { served, world }: Subject,
  name: string,
  { appRoot = realRoot, settings, isCold = false }: Mode,
): Promise<Run> {
  const schema = name.replaceAll(" ", "_");
  const url = isCold ? await createDatabase(world.url, schema) : world.url;
  const environment = { ...served.environment, ...settings, DATABASE_URL: url };
  const [requestsBefore, receivedBefore] = [served.requests(), served.received()];
  const run = await indexOnce({ name: schema, appRoot, port: await freePort(), environment });
  const requests = served.requests() - requestsBefore;
  const received = served.received() - receivedBefore;
  const [{ stored = 0 } = {}] = await query<{ stored: number }>(
    url,
    "SELECT pg_database_size(current_database())::float8 AS stored",
  );
  // No run pays for cleaning up after the previous one.
  await query(url, `DROP SCHEMA "${schema}" CASCADE; DROP SCHEMA IF EXISTS "${schema}_past" CASCADE`);
  await query(world.url, "CHECKPOINT");
  return { ...run, logsPerSecond: served.logs / run.seconds, requests, received, stored };
}

function printRuns(runs: ReadonlyMap<string, Run[]>): void {
  const speeds = (list: Run[]) => list.map(({ logsPerSecond }) => logsPerSecond);
  console.log("medians in logs per second (a log counts once, however many plugins index it):");
  let first: number | undefined;
  for (const [name, list] of runs) {
    const speed = quantile(speeds(list), 0.5);
    first ??= speed;
    const peak = Math.max(...list.map(({ peakMegabytes }) => peakMegabytes));
    const { requests = 0, received = 0, stored = 0 } = list[0] ?? {};
    const [network, disk] = [received, stored].map((bytes) => `${(bytes / 1e6).toFixed(1)} MB`);
    console.log(
      `  ${name.padEnd(16)} ${whole(speed).padStart(8)}   ${(speed / first).toFixed(2)} of the first   peak ${whole(peak)} MB   ${requests} requests   ${network} received   ${disk} on disk   (${speeds(list).map(whole).join(", ")})`,
    );
  }
}

await inWorld("backfill", measure);
