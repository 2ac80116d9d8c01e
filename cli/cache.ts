import { openNodes } from "../src/archive/ask.ts";
import { type CacheCheck, checkCache } from "../src/archive/ponder-cache.ts";
import {
  type CachedRange,
  mergeRanges,
  type Purge,
  purgeCache,
  purgeCommands,
  unverifiedSection,
} from "../src/operations/cache.ts";
import {
  createProgram,
  createTenthsLog,
  formatFirst,
  loadConfig,
  parseWhole,
  print,
  runProgram,
  selectChains,
} from "./command.ts";
import { withDatabase } from "./database.ts";
import { PreflightError } from "./refusal.ts";
import { computeMaxWrongShare, createRandom, createSeed } from "./samples.ts";

/** `npm run cache`. */
export const cache = createProgram(
  "cache",
  "Ponder's cache of blocks, in the configured database (DATABASE_URL, else DATABASE_FOLDER).",
);

cache
  .command("purge")
  .description(
    "Removes a chain's blocks, so that they are fetched again: blocks, transactions, receipts, logs, traces and results of requests. Stop the chain's indexers first. Indexes that depend on removed blocks are listed; they do not start again and need a new DATABASE_SCHEMA.",
  )
  .requiredOption("--chain <id>", "of which chain", parseWhole)
  .requiredOption("--from <block>", "the first block", parseWhole)
  .option("--to <block>", "the last block; else all", parseWhole)
  .action(async ({ chain: chainId, from, to }) => {
    const range = { chainId, from, to };
    requireOrder(range);
    console.log(
      reportPurge(range, await withDatabase(loadConfig(), (run) => purgeCache(run, range, Date.now()))),
    );
  });

cache
  .command("check")
  .description(
    "Requests a random sample of the cached ranges from the chain's RPC URLs again, compares the logs, prints each difference and what to purge, and exits with code 1 if there is one. Indexers may keep running.",
  )
  .requiredOption("--chain <id>", "of which chain", parseWhole)
  .option("--from <block>", "the first block", parseWhole, 0)
  .option("--to <block>", "the last block; else all", parseWhole)
  .option("--samples <n>", "how many ranges", parseWhole, 100)
  .option("--seed <n>", "repeats an earlier sample of ranges", parseWhole)
  .action(({ chain: chainId, seed = createSeed(), to = Number.MAX_SAFE_INTEGER, ...asked }) =>
    print(check({ ...asked, chainId, to, seed })),
  );

function requireOrder({ from, to = from }: { from: number; to?: number | undefined }): void {
  if (to < from) throw new PreflightError("--to is before --from.");
}

type Asked = { chainId: number; from: number; to: number; samples: number; seed: number };

async function check(asked: Asked): Promise<string> {
  requireOrder(asked);
  const config = loadConfig();
  const [chain] = selectChains(config, asked.chainId);
  const random = createRandom(asked.seed);
  const nodes = { perSecond: config.rpcRequestsPerSecond, crossCheckShare: 1, random };
  const { ask } = openNodes(chain, { ...nodes, log: (line) => console.error(line) });
  const progress = createTenthsLog(asked.samples);
  const found = await withDatabase(config, (run) => checkCache(run, ask, { ...asked, random, progress }));
  const { text, isSound } = reportCheck(found, asked);
  if (!isSound) process.exitCode = 1;
  return text;
}

function reportPurge({ chainId, from, to }: CachedRange, { removed, orphaned }: Purge): string {
  const counts = Object.entries(removed).map(([table, count]) => `  ${table}: ${count}`);
  const blocks = to === undefined ? `from ${from} on` : `${from} to ${to}`;
  return [
    `Removed from the cache of chain ${chainId}, blocks ${blocks}:`,
    ...(counts.length === 0 ? ["  nothing: the database has no cache"] : counts),
    ...orphaned.map(
      (schema) =>
        `The index in schema "${schema}" depends on removed blocks: build a new one under another DATABASE_SCHEMA.`,
    ),
  ].join("\n");
}

/** Report of a check, with what to do. Sound: nothing is cached, or ranges were compared and none differs. */
export function reportCheck(found: CacheCheck, { chainId, samples, seed }: Asked) {
  const { ranges, differingRanges, differences } = found;
  if (found.cachedBlocks === 0)
    return { text: `The database has no cached blocks of chain ${chainId}.`, isSound: true };
  const isSame = differingRanges.length === 0;
  const merged = mergeRanges(differingRanges).map((range) => ({ chainId, ...range }));
  const lines = [
    `Compared ${ranges} of ${samples} ranges (seed ${seed}): ${found.blocks} of ${found.cachedBlocks} cached blocks of chain ` +
      `${chainId}, ${found.logs} logs.`,
    ...formatFirst(differences),
    found.unanswered > 0 && `${found.unanswered} ranges could not be compared: the nodes do not answer.`,
    isSame
      ? `0 of ${ranges} ranges differ: at most ${computeMaxWrongShare(ranges)} % of them are wrong, at 95 % confidence.`
      : `${differingRanges.length} of ${ranges} ranges differ. Stop the chain's indexers, remove these, and build new indexes:\n` +
        `  ${purgeCommands(merged, "\n  ")}\n` +
        `Others may differ too: compare again with more --samples, or remove all that the node returned. ${unverifiedSection}`,
  ];
  return { text: lines.filter((line) => line !== false).join("\n"), isSound: isSame && ranges > 0 };
}

await runProgram(cache, import.meta.url);
