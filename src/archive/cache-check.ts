import pRetry from "p-retry";
import { unionOf } from "../operations/cache.ts";
import type { Statement } from "../ponder/sql-client.ts";
import { differingBlocks, type LogsQuery, matches, type RpcLog } from "../rpc/log-answers.ts";
import { type BlockRange, toHex } from "../rpc/nodes.ts";
import { cachedBlocks, cachedLogs, cachedParts } from "./cached-blocks.ts";
import { type Ask, blockDifferences, logDifferences, nodeLogs } from "./compare.ts";
import { ArchiveError, newManifest, queryOfFilter } from "./manifest.ts";

/** What a comparison of the cache with the chain found. */
export type CacheCheck = Awaited<ReturnType<typeof checkCache>>;

/** Which cached blocks are compared: `samples` ranges of at most `longestRange` blocks. */
type CacheSample = BlockRange & { chainId: number; samples: number; random: () => number };

const longestRange = 100;

/**
 * Compares random ranges of a chain's cache with its nodes: the logs of each range, header, transactions and receipts of a random block, of a
 * cached one and of those that differ. `ask` compares two answers about logs. `progress` is called after each range.
 */
export async function checkCache(
  run: Statement,
  ask: Ask,
  { chainId, from, to, samples, random, progress }: CacheSample & { progress: (done: number) => void },
) {
  const known = newManifest(chainId);
  const parts = await cachedParts(run, known);
  const ranges = unionOf(parts).flatMap((range) => {
    const clipped = { from: Math.max(range.from, from), to: Math.min(range.to, to) };
    return clipped.from <= clipped.to ? [clipped] : [];
  });
  const check = {
    cachedBlocks: ranges.reduce((sum, range) => sum + sizeOf(range), 0),
    ...{ ranges: 0, blocks: 0, logs: 0 },
    /** Ranges that no node answered for. */
    unanswered: 0,
    differingRanges: [] as BlockRange[],
    differences: [] as string[],
  };
  for (let done = 1; done <= samples && check.cachedBlocks > 0; done++) {
    const range = rangeAt(ranges, Math.floor(random() * check.cachedBlocks));
    const queries = parts
      .filter((part) => part.from <= range.from && range.to <= part.to)
      .map(({ filter }) => queryOfFilter(known, filter, range));
    const logs = (await cachedLogs(run, chainId, range)).filter((log) => isAsked(log, queries));
    const compare = () => compareRange({ ask, run, chainId, random }, range, { logs, queries });
    const differences = await pRetry(compare, { retries: 2, minTimeout: 500 }).catch(() => undefined);
    progress(done);
    if (differences === undefined) {
      check.unanswered += 1;
      continue;
    }
    check.ranges += 1;
    check.blocks += sizeOf(range);
    check.logs += logs.length;
    if (differences.length > 0) check.differingRanges.push(range);
    check.differences.push(...differences);
  }
  return check;
}

/** The part of ranges, at most `longestRange` blocks, that begins with the block at this index among all of theirs. */
function rangeAt(ranges: readonly BlockRange[], index: number): BlockRange {
  let left = index;
  for (const { from, to } of ranges) {
    if (left <= to - from) return { from: from + left, to: Math.min(from + left + longestRange - 1, to) };
    left -= to - from + 1;
  }
  throw new Error("There is no such block.");
}

const sizeOf = ({ from, to }: BlockRange) => to - from + 1;
const isAsked = (log: RpcLog, queries: readonly LogsQuery[]) => queries.some((query) => matches(log, query));

type Comparison = { ask: Ask; run: Statement; chainId: number; random: () => number };

async function compareRange(
  { ask, run, chainId, random }: Comparison,
  range: BlockRange,
  { logs, queries }: { logs: readonly RpcLog[]; queries: readonly LogsQuery[] },
): Promise<string[]> {
  let theirs = await nodeLogs(ask, range, queries);
  const blocks = await cachedBlocks(run, chainId, logs).catch((error: unknown) => {
    if (error instanceof ArchiveError) return error;
    throw error;
  });
  const found = blocks instanceof ArchiveError ? [blocks.message] : [];
  const cached = new Map(
    blocks instanceof ArchiveError ? [] : blocks.map((block) => [Number(block.header.number), block]),
  );
  const drawn = range.from + Math.floor(random() * sizeOf(range));
  const drawnCached = [...cached.keys()][Math.floor(random() * cached.size)] ?? drawn;
  const differing = differingBlocks(logs, theirs).slice(0, 5);
  for (const number of new Set([...differing, drawn, drawnCached])) {
    const block = cached.get(number);
    if (block !== undefined) found.push(...(await blockDifferences(ask, "cache", block)));
    const body = { method: "eth_getBlockByNumber", params: [toHex(number), false] };
    const { hash: blockHash } = (await ask(body)) as { hash: string };
    // The logs of one block are taken from its receipts.
    const proven = (await ask({ method: "eth_getLogs", params: [{ blockHash }] })) as RpcLog[];
    theirs = theirs.filter((log) => Number(log.blockNumber) !== number);
    theirs.push(...proven.filter((log) => isAsked(log, queries)));
  }
  return [...found, ...logDifferences("cache", logs, theirs)];
}
