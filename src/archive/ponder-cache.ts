import pRetry from "p-retry";
import { joinRanges } from "../operations/cache.ts";
import { hasTable, type Statement } from "../ponder/sql-client.ts";
import { headerQuantities } from "../rpc/block-proofs.ts";
import { differingBlocks, type LogsQuery, matches, type RpcLog } from "../rpc/log-answers.ts";
import { type BlockRange, toHex } from "../rpc/nodes.ts";
import { type AskNode, blockDifferences, logDifferences, nodeLogs } from "./check.ts";
import { openManifest } from "./folder.ts";
import {
  ArchiveError,
  type ArchiveFilter,
  factoryKey,
  findGaps,
  findStretches,
  type Manifest,
  newManifest,
  queryOfFilter,
} from "./manifest.ts";
import { archivedBlock, type BlockSource, closeGaps, logsOfSegment, type RecordOptions } from "./record.ts";
import { type ArchivedResult, addResults, readResults } from "./results.ts";
import { type ArchivedBlock, keptFields } from "./segment.ts";

// Exports Ponder's cache of a chain into an archive, and compares it with nodes.

// --- Cached data ---

/** A filter, and a range without gaps in which the cache has all its logs. */
type CachedPart = BlockRange & { filter: ArchiveFilter };

/**
 * The filters and ranges of which a chain's cache has all logs. Adds contracts that factories deployed to `children`.
 */
export async function readCachedParts(
  run: Statement,
  { chainId, children }: Pick<Manifest, "chainId" | "children">,
): Promise<CachedPart[]> {
  const byRanges = new Map<string, { filter: ArchiveFilter; ranges: BlockRange[] }>();
  for (const { addresses, topics, ranges } of await readCachedFilters(run, chainId)) {
    const [event = null, ...otherTopics] = topics;
    // This project's filters name the first topic only.
    if (otherTopics.some((topic) => topic !== null)) continue;
    if (addresses !== null && !Array.isArray(addresses))
      children[factoryKey(addresses)] = await readCachedChildren(run, chainId, addresses.event);
    const key = JSON.stringify([addresses, ranges]);
    const known = byRanges.get(key);
    if (known === undefined)
      byRanges.set(key, { filter: { addresses, topics: event === null ? null : [event] }, ranges });
    else if (event === null) known.filter.topics = null;
    else known.filter.topics?.push(event);
  }
  return [...byRanges.values()].flatMap(({ filter, ranges }) =>
    ranges.map((range) => ({ ...range, filter })),
  );
}

// ponder: it stores a filter as "log_<chain>_<address>_<four topics>_<receipts>", and its blocks a to b as [a, b + 1].
async function readCachedFilters(run: Statement, chainId: number) {
  if (!(await hasTable(run, "ponder_sync.intervals"))) return [];
  const { rows } = await run(
    "SELECT fragment_id AS id, blocks::text FROM ponder_sync.intervals WHERE chain_id = $1 AND starts_with(fragment_id, 'log_')",
    [chainId],
  );
  return rows.map(({ id, blocks }) => {
    const parts = String(id).split("_");
    const [address = "null", event] = parts.slice(2, -5);
    const addresses = address === "null" ? null : [address];
    const intervals = JSON.parse(`[${String(blocks).slice(1, -1)}]`) as [number, number][];
    return {
      addresses: event === undefined ? addresses : { factory: address, event },
      topics: parts.slice(-5, -1).map((topic) => (topic === "null" ? null : topic)),
      ranges: intervals.map(([from, end]): BlockRange => ({ from, to: end - 1 })),
    };
  });
}

async function readCachedChildren(run: Statement, chainId: number, event: string): Promise<string[]> {
  const { rows } = await run(
    `SELECT DISTINCT lower(address) AS address FROM ponder_sync.factory_addresses child
    JOIN ponder_sync.factories ON factories.id = child.factory_id
    WHERE child.chain_id = $1 AND factory ->> 'eventSelector' = $2 ORDER BY 1`,
    [chainId, event],
  );
  return rows.map(({ address }) => String(address));
}

/** The first `max` cached logs of a range, in order, as a node returns them. */
async function readCachedLogs(
  run: Statement,
  chainId: number,
  { from, to }: BlockRange,
  max = Number.MAX_SAFE_INTEGER,
): Promise<RpcLog[]> {
  const { rows } = await run(
    `SELECT '0x' || to_hex(block_number) AS "blockNumber", '0x' || to_hex(log_index) AS "logIndex", block_hash AS "blockHash",
      transaction_hash AS "transactionHash", '0x' || to_hex(transaction_index) AS "transactionIndex", address, data,
      array_remove(ARRAY[topic0, topic1, topic2, topic3], NULL) AS topics
    FROM ponder_sync.logs WHERE chain_id = $1 AND block_number BETWEEN $2 AND $3 ORDER BY block_number, log_index LIMIT $4`,
    [chainId, from, to, max],
  );
  return rows as RpcLog[];
}

/**
 * The cached blocks of ordered logs, with the logs and their transactions. Throws an ArchiveError if they do not match.
 */
async function readCachedBlocks(
  run: Statement,
  chainId: number,
  all: readonly RpcLog[],
): Promise<ArchivedBlock[]> {
  const logs = Map.groupBy(all, ({ blockNumber }) => Number(blockNumber));
  const numbers = [...logs.keys()];
  const of = async (table: string, number: string, columns: string) => {
    const found = await run(
      `SELECT ${columns}, ${number} AS of_block FROM ponder_sync.${table} WHERE chain_id = $1 AND ${number} BETWEEN $2 AND $3`,
      [chainId, numbers[0] ?? 0, numbers.at(-1) ?? 0],
    );
    return Map.groupBy(found.rows, (row) => Number(row["of_block"]));
  };
  const ofTransaction = `'0x' || to_hex(transaction_index) AS "transactionIndex", hash, "from", "to"`;
  const headers = await of("blocks", "number", "*");
  const transactions = await of("transactions", "block_number", ofTransaction);
  return [...logs].map(([number, own]) => {
    const header = headers.get(number)?.[0];
    if (header === undefined)
      throw new ArchiveError(`The cache has logs of block ${number}, but not the block.`);
    const sent = (transactions.get(number) ?? []) as Record<string, string>[];
    return archivedBlock({ ...buildHeader(header), transactions: sent }, own);
  });
}

const quantities = new Set([...headerQuantities, "size", "totalDifficulty"]);

/** A header from a row of Ponder's cache: columns are header fields in snake case, quantities are numbers. */
function buildHeader(row: Record<string, unknown>): ArchivedBlock["header"] {
  const kept = keptFields.flatMap((field) => {
    const value = row[field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)];
    if (value === null || value === undefined) return [];
    return [[field, quantities.has(field) ? `0x${BigInt(String(value)).toString(16)}` : String(value)]];
  });
  return Object.fromEntries(kept) as ArchivedBlock["header"];
}

// --- Export ---

/**
 * Exports Ponder's cache of a chain into an archive. Cached blocks lack newer header fields, so not every hash can be
 * recomputed.
 */
export async function exportCache(
  run: Statement,
  { folder, chainId, progress }: Pick<RecordOptions, "folder" | "chainId" | "progress">,
): Promise<Manifest> {
  const manifest = await openManifest(folder, chainId);
  const cached = await readCachedParts(run, manifest);
  const whole = { from: 0, to: Math.max(-1, ...cached.map(({ to }) => to)) };
  const gaps = findStretches(cached, whole).flatMap(({ within, ...range }) => {
    const filters = within.map(({ filter }) => filter);
    return findGaps(manifest, filters, range);
  });
  const source: BlockSource = async ({ from, to, filters }) => {
    const first = await readCachedLogs(run, chainId, { from, to }, logsOfSegment);
    const end = first.length < logsOfSegment ? to : Number(first.at(-1)?.blockNumber);
    // The last block's logs may be cut off.
    const logs = end === to ? first : await readCachedLogs(run, chainId, { from, to: end });
    const queries = filters.map((filter) => queryOfFilter(manifest, filter, { from, to }));
    // For other filters the cache may have only some of the logs.
    const wanted = logs.filter((log) => queries.some((query) => matches(log, query)));
    return { blocks: await readCachedBlocks(run, chainId, wanted), end };
  };
  await closeGaps(folder, manifest, { gaps, source, progress });
  await exportResults(run, folder, manifest);
  return manifest;
}

const resultsOfFile = 1_000;

/** Exports results of calls that the archive lacks, up to its newest block: those are final. */
async function exportResults(run: Statement, folder: string, manifest: Manifest): Promise<void> {
  if (!(await hasTable(run, "ponder_sync.rpc_request_results"))) return;
  const { chainId, results = [] } = manifest;
  const known = new Set<string>();
  for (const file of results) for (const [key] of await readResults(folder, chainId, file)) known.add(key);
  const newest = Math.max(-1, ...manifest.segments.map(({ to }) => to));
  for (let [block, key, rows] = [-1, "", resultsOfFile]; rows === resultsOfFile; ) {
    const found = await run(
      `SELECT request_hash, block_number::text AS block, result FROM ponder_sync.rpc_request_results
      WHERE chain_id = $1 AND (block_number, request_hash) > ($2, $3) AND block_number <= $4 ORDER BY block_number, request_hash LIMIT $5`,
      [chainId, block, key, newest, resultsOfFile],
    );
    const all = found.rows.map((row): ArchivedResult => {
      return [String(row["request_hash"]), Number(row["block"]), String(row["result"])];
    });
    const fresh = all.filter(([one]) => !known.has(one));
    if (fresh.length > 0) await addResults(folder, manifest, fresh);
    [key, block] = all.at(-1) ?? [key, block];
    rows = all.length;
  }
}

// --- Comparison with nodes ---

/** The findings of a comparison of the cache with nodes. */
export type CacheCheck = Awaited<ReturnType<typeof checkCache>>;

/** Which cached blocks are compared: `samples` ranges of at most `longestRange` blocks. */
type CacheSample = BlockRange & { chainId: number; samples: number; random: () => number };

const longestRange = 100;

/**
 * Compares random ranges of a chain's cache with its nodes: all logs; headers, transactions and receipts of a random
 * block, a cached one and differing ones. `ask` has to compare two responses about logs. `progress` is called after
 * each range.
 */
export async function checkCache(
  run: Statement,
  ask: AskNode,
  { chainId, from, to, samples, random, progress }: CacheSample & { progress: (done: number) => void },
) {
  const known = newManifest(chainId);
  const parts = await readCachedParts(run, known);
  const ranges = joinRanges(parts).flatMap((range) => {
    const clipped = { from: Math.max(range.from, from), to: Math.min(range.to, to) };
    return clipped.from <= clipped.to ? [clipped] : [];
  });
  const check = {
    cachedBlocks: ranges.reduce((sum, range) => sum + countBlocks(range), 0),
    ...{ ranges: 0, blocks: 0, logs: 0 },
    /** Ranges for which no node responded. */
    unanswered: 0,
    differingRanges: [] as BlockRange[],
    differences: [] as string[],
  };
  for (let done = 1; done <= samples && check.cachedBlocks > 0; done++) {
    const range = findRange(ranges, Math.floor(random() * check.cachedBlocks));
    const queries = parts
      .filter((part) => part.from <= range.from && range.to <= part.to)
      .map(({ filter }) => queryOfFilter(known, filter, range));
    const logs = (await readCachedLogs(run, chainId, range)).filter((log) => isAsked(log, queries));
    const compare = () => compareRange({ ask, run, chainId, random }, range, { logs, queries });
    const differences = await pRetry(compare, { retries: 2, minTimeout: 500 }).catch(() => undefined);
    progress(done);
    if (differences === undefined) {
      check.unanswered += 1;
      continue;
    }
    check.ranges += 1;
    check.blocks += countBlocks(range);
    check.logs += logs.length;
    if (differences.length > 0) check.differingRanges.push(range);
    check.differences.push(...differences);
  }
  return check;
}

/** The range of at most `longestRange` blocks from this index among the blocks of all ranges. */
function findRange(ranges: readonly BlockRange[], index: number): BlockRange {
  let left = index;
  for (const { from, to } of ranges) {
    if (left <= to - from) return { from: from + left, to: Math.min(from + left + longestRange - 1, to) };
    left -= to - from + 1;
  }
  throw new Error("There is no such block.");
}

const countBlocks = ({ from, to }: BlockRange) => to - from + 1;
const isAsked = (log: RpcLog, queries: readonly LogsQuery[]) => queries.some((query) => matches(log, query));

type CacheComparison = { ask: AskNode; run: Statement; chainId: number; random: () => number };

async function compareRange(
  { ask, run, chainId, random }: CacheComparison,
  range: BlockRange,
  { logs, queries }: { logs: readonly RpcLog[]; queries: readonly LogsQuery[] },
): Promise<string[]> {
  let theirs = await nodeLogs(ask, range, queries);
  const found: string[] = [];
  const blocks = await readCachedBlocks(run, chainId, logs).catch((error: unknown) => {
    if (!(error instanceof ArchiveError)) throw error;
    found.push(error.message);
    return [];
  });
  const cached = new Map(blocks.map((block) => [Number(block.header.number), block]));
  const drawn = range.from + Math.floor(random() * countBlocks(range));
  const drawnCached = [...cached.keys()][Math.floor(random() * cached.size)] ?? drawn;
  const differing = differingBlocks(logs, theirs).slice(0, 5);
  for (const number of new Set([...differing, drawn, drawnCached])) {
    const block = cached.get(number);
    if (block !== undefined) found.push(...(await blockDifferences(ask, "cache", block)));
    const body = { method: "eth_getBlockByNumber", params: [toHex(number), false] };
    const { hash: blockHash } = (await ask(body)) as { hash: string };
    // Logs requested by block hash are taken from the block's receipts.
    const proven = (await ask({ method: "eth_getLogs", params: [{ blockHash }] })) as RpcLog[];
    theirs = theirs.filter((log) => Number(log.blockNumber) !== number);
    theirs.push(...proven.filter((log) => isAsked(log, queries)));
  }
  return [...found, ...logDifferences("cache", logs, theirs)];
}
