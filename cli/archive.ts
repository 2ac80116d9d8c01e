import { Option } from "@commander-js/extra-typings";
import { openNodes } from "../src/archive/ask.ts";
import { type ArchiveCheck, checkArchive, compareWithNode } from "../src/archive/check.ts";
import { fetchArchive, nameOfLocation, readManifest } from "../src/archive/folder.ts";
import { recordHeaders } from "../src/archive/headers.ts";
import { levels, type Manifest, type Proof, type Segment } from "../src/archive/manifest.ts";
import { exportCache } from "../src/archive/ponder-cache.ts";
import { findDataset, recordFromPortal } from "../src/archive/portal.ts";
import { recordChain } from "../src/archive/record.ts";
import { describeWanted } from "../src/archive/wanted.ts";
import type { IndexedChain } from "../src/config/chains.ts";
import type { Config } from "../src/config/environment.ts";
import { countNoun } from "../src/log/json-log.ts";
import { createProgressLog } from "../src/log/progress-log.ts";
import { joinRanges } from "../src/operations/cache.ts";
import {
  createProgram,
  createTenthsLog,
  formatFirst,
  isUrl,
  loadConfig,
  parseWhole,
  print,
  requireUrl,
  runProgram,
  selectChains,
} from "./command.ts";
import { withDatabase } from "./database.ts";
import { PreflightError } from "./refusal.ts";
import { computeMaxWrongShare, createRandom, createSeed } from "./samples.ts";

/** `npm run archive`. */
export const archive = createProgram("archive", "A portable archive of what an index reads of its chains.");

const command = (name: string, about: string) =>
  archive
    .command(name)
    .description(about)
    .option("--folder <folder>", "the archive; default: ARCHIVE if that is a folder, else ./archive")
    .option("--chain <id>", "one of the configured chains; default: all", parseWhole);

command(
  "record",
  `Fetches what the archive lacks from the RPC URLs up to the finalized block: logs of the contracts that any plugin reads, their blocks' headers, and the senders of their transactions. Resumes an interrupted run.`,
)
  .addOption(
    new Option("--from <source>", "a portal streams ranges of blocks; RPC adds what its datasets lack")
      .choices(["rpc", "portal"])
      .default("rpc"),
  )
  .option("--to <block>", "the last block, if it is final", parseWhole)
  .option("--receipts", "records whole blocks, so that missing logs are noticed; many times as large")
  .option(
    "--headers",
    "also the headers of all blocks, so that one trusted hash proves all others; one request per block",
  )
  .action((asked) => print(recordAll(asked)));

command(
  "export",
  `Adds what the RPC cache of the configured database has and the archive lacks, including the results of other requests of handlers: contract calls at old blocks, receipts and traces.`,
).action((asked) => print(exportAll(asked)));

command("info", "Describes an archive.").action((asked) =>
  print(reportByChain(asked, ({ source }, { id }) => readSummary(source, id))),
);

command("fetch", "Downloads an archive; resumes an interrupted download.")
  .argument("<url>")
  .action((from, asked) => {
    requireUrl("What fetch takes", from);
    return print(reportByChain(asked, ({ folder }, chain) => fetchOne(from, folder, chain)));
  });

command("check", "Recomputes everything that an archive claims. Exit code 1 if anything is wrong.")
  .option(
    "--rpc <url>",
    "a node to compare the last block of each segment with, and random blocks; needs --chain",
  )
  .option("--samples <n>", "how many random blocks", parseWhole, 300)
  .option("--seed <n>", "repeats an earlier sample of blocks", parseWhole)
  .action((asked) => {
    if (asked.rpc !== undefined) requireUrl("--rpc", asked.rpc);
    if (asked.rpc !== undefined && asked.chain === undefined)
      throw new PreflightError("--rpc needs --chain.");
    return print(reportByChain(asked, ({ source }, chain) => checkOne(source, chain, asked)));
  });

const say = (line: string) => console.error(line);
const format = (value: number) => Math.round(value).toLocaleString("en");

/** Returns a function that logs how far a recording is. */
function createProgressReport(chain: string) {
  const report = createProgressLog(process.stderr, { format: (logs) => `${format(logs)} logs` });
  report(chain, 0, 0);
  return (logs: number, share: number) => report(chain, logs, share);
}

/** Folder of the archive, its source (the folder or a URL), and the configuration. */
type Where = { folder: string; source: string; config: Config };

/** Lines of text with the result of `work` for each requested chain. */
async function reportByChain(
  asked: { folder?: string; chain?: number },
  work: (where: Where, chain: IndexedChain) => Promise<string>,
  areAtOnce = false,
): Promise<string> {
  const config = loadConfig();
  const chains = selectChains(config, asked.chain);
  const own = config.archive === undefined || isUrl(config.archive) ? "archive" : config.archive;
  const where = { folder: asked.folder ?? own, source: asked.folder ?? config.archive ?? own, config };
  const lineOf = async (chain: IndexedChain) => `${chain.name} (${chain.id}): ${await work(where, chain)}`;
  const lines: string[] = [];
  if (!areAtOnce) for (const chain of chains) lines.push(await lineOf(chain));
  // The fault of one chain does not end the work for others.
  const results = areAtOnce ? await Promise.allSettled(chains.map(lineOf)) : [];
  for (const result of results) {
    if (result.status === "rejected") throw result.reason;
    lines.push(result.value);
  }
  return lines.join("\n");
}

async function readSummary(source: string, chainId: number): Promise<string> {
  const manifest = await readManifest(source, chainId);
  return manifest === undefined ? `nothing in ${nameOfLocation(source)}` : formatSummary(manifest);
}

function describeProof(blocks: (level: Proof) => number): string {
  const counts = (Object.keys(levels) as Proof[]).map((level) => `${level} ${format(blocks(level))}`);
  return `  blocks by what proves them: ${counts.join(", ")}`;
}

function formatSummary({ segments, children, results = [], headers = [] }: Manifest): string {
  const sum = (of: (segment: Segment) => number) => segments.reduce((all, one) => all + of(one), 0);
  const [logs, bytes, blocks] = [sum((one) => one.logs), sum((one) => one.bytes), sum((one) => one.blocks)];
  const ranges = joinRanges(segments).map(({ from, to }) => `${format(from)} to ${format(to)}`);
  const deployed = Object.values(children).reduce((all, { length }) => all + length, 0);
  const calls = results.reduce((all, { count }) => all + count, 0);
  return [
    `blocks ${ranges.join(", ") || "none"}; ${countNoun(logs, "log")} in ${countNoun(blocks, "block")} and ${countNoun(segments.length, "segment")}`,
    `${format(bytes)} bytes, ${(bytes / Math.max(1, logs)).toFixed(1)} a log\n${describeProof((level) => sum((one) => one.proof[level]))}`,
    ...(deployed > 0 ? [`contracts of factories: ${format(deployed)}`] : []),
    ...(calls > 0 ? [`results of calls: ${format(calls)}`] : []),
    ...headers.slice(-1).map(({ to, last }) => {
      const bytes = headers.reduce((all, one) => all + one.bytes, 0);
      return `headers up to block ${format(to)} with hash ${last}: ${format(bytes)} bytes`;
    }),
  ].join("; ");
}

function exportAll(asked: { folder?: string; chain?: number }): Promise<string> {
  process.exitCode = 1;
  return withDatabase(loadConfig(), (run) =>
    reportByChain(asked, async ({ folder }, { id, name }) => {
      const manifest = await exportCache(run, { folder, chainId: id, progress: createProgressReport(name) });
      if (manifest.segments.length === 0) return "the RPC cache has nothing to export";
      process.exitCode = 0;
      return formatSummary(manifest);
    }),
  );
}

async function fetchOne(from: string, folder: string, { id, name }: IndexedChain): Promise<string> {
  if ((await readManifest(from, id)) === undefined) return `${nameOfLocation(from)} has nothing of it`;
  const manifest = await fetchArchive(from, folder, id, (done, of, bytes) => {
    if (bytes > 0) say(`${name}: file ${done} of ${of}`);
  });
  return formatSummary(manifest);
}

type Compared = { rpc?: string; samples: number; seed?: number };

async function checkOne(source: string, chain: IndexedChain, asked: Compared): Promise<string> {
  const { rpc, samples, seed = createSeed() } = asked;
  const manifest = await readManifest(source, chain.id);
  if (manifest === undefined) return `nothing in ${nameOfLocation(source)}`;
  const progress = createTenthsLog(manifest.segments.length);
  const found = await checkArchive({ location: source, manifest, progress });
  if (rpc !== undefined) {
    const { ask } = openNodes({ ...chain, rpc: { http: [rpc] } }, { perSecond: 20, log: say });
    await compareWithNode({ location: source, manifest, found, samples, random: createRandom(seed), ask });
  }
  if (found.problems.length > 0) process.exitCode = 1;
  return formatReport(found, rpc === undefined ? undefined : seed);
}

/** Report of a check; `seed` if it compared with a node. */
export function formatReport(found: ArchiveCheck, seed: number | undefined): string {
  const { problems, lacking, segments, compared } = found;
  const lines = [
    `${countNoun(found.logs, "log")} in ${countNoun(found.blocks, "block")} and ${countNoun(segments, "segment")}; blocks that follow the one before: ${format(found.links)}`,
    describeProof((level) => found.proof[level]),
    lacking.length > 0 &&
      `  blocks whose bloom names a contract and event of which there is no log, by chance or not: ${format(lacking.length)}`,
    found.empty > 0 &&
      `  blocks of which there is the header alone: ${format(found.empty)}, without logs by their bloom: ${format(found.emptyByBloom)}`,
    found.results > 0 && `  results of calls, which nothing proves: ${format(found.results)}`,
    seed !== undefined &&
      `  compared with the node (seed ${seed}): last blocks of ${countNoun(segments, "segment")}, ${countNoun(compared, "block")} with their logs`,
    ...formatFirst(problems.map((problem) => `WRONG: ${problem}`)),
    `  ${describeVerdict(found, seed !== undefined)}`,
  ];
  return lines.filter((line) => line !== false).join("\n");
}

/** Conclusion of a check, which claims no more than it looked at. */
function describeVerdict(found: ArchiveCheck, isCompared: boolean): string {
  const { problems, lacking, blocks, compared, comparedLacking } = found;
  const open = lacking.length - comparedLacking;
  const openText = `${countNoun(open, "block")} may lack a log`;
  if (problems.length > 0) return "This archive is wrong: fetch or record it again.";
  if (!isCompared)
    return `It does not contradict itself${open > 0 ? `, but ${openText}` : ""}. To compare its blocks with a node: --rpc <url> --chain <id>.`;
  const shown =
    compared === blocks
      ? "No block differs from the node's."
      : `No difference: with 95 % certainty fewer than ${computeMaxWrongShare(compared)} % of the blocks are changed.`;
  return open > 0 ? `${shown} ${openText}: raise --samples.` : shown;
}

type Recorded = {
  folder?: string;
  chain?: number;
  to?: number;
  receipts?: true;
  headers?: true;
  from?: string;
};

function recordAll(asked: Recorded): Promise<string> {
  if (asked.from === "portal" && asked.receipts)
    throw new PreflightError(
      "A portal sends whole blocks one request at a time. Record with --receipts over RPC, or from the portal without.",
    );
  return reportByChain(
    asked,
    async ({ folder, config }, chain) => {
      const wanted = describeWanted(config, chain.name);
      const { ask, width, finalizedBlock } = openNodes(chain, {
        perSecond: config.rpcRequestsPerSecond,
        log: say,
      });
      const finalized = await finalizedBlock();
      const range = { from: wanted.first, to: Math.min(asked.to ?? finalized, finalized) };
      say(`${chain.name}: blocks ${format(range.from)} to ${format(range.to)}`);
      const options = { ...wanted, folder, range, chainId: chain.id, ask };
      if (asked.from === "portal") await recordDataset(options, config, chain);
      const progress = createProgressReport(chain.name);
      const recorded = await recordChain({
        ...{ ...options, width, progress, withReceipts: asked.receipts === true },
      });
      if (asked.headers)
        await recordHeaders(recorded, {
          ...{ folder, range, ask, width },
          progress: (at) => say(`${chain.name}: headers up to block ${format(at)}`),
        });
      return formatSummary(recorded);
    },
    true,
  );
}

async function recordDataset(
  options: Omit<Parameters<typeof recordFromPortal>[0], "dataset" | "log" | "progress">,
  { portal }: Config,
  { id, name }: IndexedChain,
): Promise<void> {
  const dataset = findDataset(portal, id);
  const log = (line: string) => say(`${name}: ${line}`);
  if (dataset === undefined) return log("no portal has a dataset of it, so it is recorded over RPC");
  await recordFromPortal({ ...options, log, dataset, progress: createProgressReport(name) });
}

await runProgram(archive, import.meta.url);
