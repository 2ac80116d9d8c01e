// Checks and repairs Ponder's cache of blocks: `npm run cache -- check …`, `npm run cache -- purge …`.

import { openNodes } from "../src/archive/ask.ts";
import { type CacheCheck, checkCache } from "../src/archive/cache-check.ts";
import {
  type CachedRange,
  mergeRanges,
  type Purge,
  purgeCache,
  purgeCommands,
  unverifiedSection,
} from "../src/operations/cache.ts";
import { command, loadConfig, number, type Program, required, runProgram } from "./command.ts";
import { PreflightError, withDatabase } from "./database.ts";
import { mostWrong, newSeed, randomOf } from "./samples.ts";

type Range = { from?: number | undefined; to?: number | undefined };
const faultsOf = ({ from = 0, to = from }: Range) => (to < from ? ["--to is before --from."] : []);

/** `npm run cache`. */
export const cache: Program = {
  name: "cache",
  about: `The cache is that of the configured database (DATABASE_URL, else PGLITE_DIRECTORY).

purge removes a chain's blocks, so that they are fetched again: blocks, transactions, receipts, logs, traces and results of
requests. Without --to it removes all blocks from --from on. Stop the chain's indexers first. Indexes that rest on removed
blocks are listed; they do not start again and need a new DATABASE_SCHEMA.

check asks the chain's RPC URLs again for a random sample of the cached ranges (100 unless --samples is given), compares the
logs, prints each difference and what to purge, and exits with code 1 if there is one. Indexers may run meanwhile.`,
  commands: {
    purge: command({
      options: { chain: required(number("id")), from: required(number("block")), to: number("block") },
      faultsOf,
      async run({ chain: chainId, from, to }) {
        const range = { chainId, from, to };
        const purged = await withDatabase(loadConfig(), (run) => purgeCache(run, range, Date.now()));
        return reportPurge(range, purged);
      },
    }),
    check: command({
      options: {
        ...{ chain: required(number("id")), from: number("block"), to: number("block") },
        ...{ samples: number("n"), seed: number("n") },
      },
      faultsOf,
      async run({ chain, from = 0, to = Number.MAX_SAFE_INTEGER, samples = 100, seed = newSeed() }) {
        const { text, isSound } = await check({ chainId: chain, from, to, samples, seed });
        if (!isSound) process.exitCode = 1;
        return text;
      },
    }),
  },
};

type Asked = { chainId: number; from: number; to: number; samples: number; seed: number };

async function check(asked: Asked) {
  const config = loadConfig();
  const chain = config.chains.find(({ id }) => id === asked.chainId);
  if (chain === undefined)
    throw new PreflightError(`Chain ${asked.chainId} is not indexed by this configuration.`);
  const random = randomOf(asked.seed);
  const nodes = { perSecond: config.rpcRequestsPerSecond, crossCheckShare: 1, random };
  const { ask } = openNodes(chain, { ...nodes, log: (line) => console.error(line) });
  const step = Math.max(1, Math.round(asked.samples / 10));
  const progress = (done: number) => done % step === 0 && console.error(`${done} of ${asked.samples}`);
  return withDatabase(config, async (run) =>
    reportCheck(await checkCache(run, ask, { ...asked, random, progress }), asked),
  );
}

function reportPurge({ chainId, from, to }: CachedRange, { removed, orphaned }: Purge): string {
  const counts = Object.entries(removed).map(([table, count]) => `  ${table}: ${count}`);
  const blocks = to === undefined ? `from ${from} on` : `${from} to ${to}`;
  return [
    `Removed from the cache of chain ${chainId}, blocks ${blocks}:`,
    ...(counts.length === 0 ? ["  nothing: the database has no cache"] : counts),
    ...orphaned.map(
      (schema) =>
        `The index in schema "${schema}" rests on removed blocks: build a new one under another DATABASE_SCHEMA.`,
    ),
  ].join("\n");
}

const shownDifferences = 20;

/** What a check found as text, with what to do; unsound if the cache differs from the chain. */
export function reportCheck(found: CacheCheck, { chainId, samples, seed }: Asked) {
  const { ranges, differingRanges, differences } = found;
  if (found.cachedBlocks === 0)
    return { text: `The database has no cached blocks of chain ${chainId}.`, isSound: true };
  const lines = [
    `Compared ${ranges} of ${samples} ranges (seed ${seed}): ${found.blocks} of ${found.cachedBlocks} cached blocks of chain ` +
      `${chainId}, ${found.logs} logs.`,
    ...differences.slice(0, shownDifferences).map((one) => `  ${one}`),
  ];
  if (differences.length > shownDifferences)
    lines.push(`  and ${differences.length - shownDifferences} more`);
  if (found.unanswered > 0)
    lines.push(`${found.unanswered} ranges could not be compared: the nodes do not answer.`);
  if (differingRanges.length === 0) {
    lines.push(
      `0 of ${ranges} ranges differ: at most ${mostWrong(ranges)} % of them are wrong, at 95 % confidence.`,
    );
    return { text: lines.join("\n"), isSound: ranges > 0 };
  }
  const merged = mergeRanges(differingRanges).map((range) => ({ chainId, ...range }));
  lines.push(
    `${differingRanges.length} of ${ranges} ranges differ. Stop the chain's indexers, remove these, and build new indexes:`,
    `  ${purgeCommands(merged, "\n  ")}`,
    `Others may differ too: compare again with more --samples, or remove all that the node returned. ${unverifiedSection}`,
  );
  return { text: lines.join("\n"), isSound: false };
}

await runProgram(cache, import.meta.url);
