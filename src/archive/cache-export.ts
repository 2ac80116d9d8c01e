import { cachedChildren, cachedFilters, cachedLogs } from "../operations/cached-logs.ts";
import { hasTable, type Statement } from "../ponder/sql-client.ts";
import { headerQuantities } from "../rpc/block-proofs.ts";
import { matches, type RpcLog } from "../rpc/log-answers.ts";
import { type BlockRange, toHex } from "../rpc/nodes.ts";
import { openManifest } from "./folder.ts";
import {
  ArchiveError,
  type ArchiveFilter,
  factoryKey,
  type Manifest,
  queryOfFilter,
  stretchesOf,
} from "./manifest.ts";
import { addSegment, archivedBlock, gapsByRange, logsOfSegment } from "./record.ts";
import { type ArchivedResult, addResults, readResults } from "./results.ts";
import { type ArchivedBlock, keptFields } from "./segment.ts";

/** What Ponder's cache has all logs of, in blocks without a gap. */
type CachedPart = BlockRange & { filter: ArchiveFilter };

/**
 * Writes what Ponder's cache has of a chain into an archive: blocks as Ponder stores them, which lack the newer fields of
 * headers, so that not every block's hash can be recomputed.
 */
export async function exportCache(
  run: Statement,
  {
    folder,
    chainId,
    progress,
  }: { folder: string; chainId: number; progress: (at: number, logs: number) => void },
): Promise<Manifest> {
  const manifest = await openManifest(folder, chainId);
  const cached = await filtersOf(run, chainId, manifest);
  const whole = { from: 0, to: Math.max(-1, ...cached.map(({ to }) => to)) };
  for (const { within, ...range } of stretchesOf(cached, whole)) {
    const filters = within.map(({ filter }) => filter);
    for (const gap of gapsByRange(manifest, { filters, factories: [], range })) {
      const queries = gap.filters.map((filter) => queryOfFilter(manifest, filter, gap));
      for (let [from, to] = [gap.from, gap.to]; from <= gap.to; from = to + 1) {
        const first = await cachedLogs(run, chainId, { from, to: gap.to }, logsOfSegment);
        to = first.length < logsOfSegment ? gap.to : Number(first.at(-1)?.blockNumber);
        // The last block may be cut off.
        const logs = to === gap.to ? first : await cachedLogs(run, chainId, { from, to });
        // Of other filters the cache may have some logs here, and lack others.
        const wanted = logs.filter((log) => queries.some((query) => matches(log, query)));
        const blocks = await blocksOf(run, chainId, wanted);
        await addSegment(folder, manifest, { from, to, filters: gap.filters, blocks });
        progress(to, manifest.segments.at(-1)?.logs ?? 0);
      }
    }
  }
  await exportResults(run, folder, manifest);
  return manifest;
}

const resultsOfFile = 1_000;

/** Writes results of calls up to the newest archived block, which are final; those that the archive has are left out. */
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

async function filtersOf(run: Statement, chainId: number, manifest: Manifest): Promise<CachedPart[]> {
  const byRanges = new Map<string, { filter: ArchiveFilter; ranges: BlockRange[] }>();
  for (const { address, factory, topics, ranges } of await cachedFilters(run, chainId)) {
    const [event = null, ...otherTopics] = topics;
    // No filter of this project names a second topic.
    if (otherTopics.some((topic) => topic !== null)) continue;
    const addresses = factory ?? (address === undefined ? null : [address]);
    if (factory !== undefined)
      manifest.children[factoryKey(factory)] = [
        ...(await cachedChildren(run, chainId, factory.event)).keys(),
      ];
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

async function blocksOf(run: Statement, chainId: number, all: readonly RpcLog[]): Promise<ArchivedBlock[]> {
  const logs = Map.groupBy(all, ({ blockNumber }) => Number(blockNumber));
  const numbers = [...logs.keys()];
  const of = async (table: string, column: string) => {
    const found = await run(
      `SELECT * FROM ponder_sync.${table} WHERE chain_id = $1 AND ${column} BETWEEN $2 AND $3`,
      [chainId, numbers[0] ?? 0, numbers.at(-1) ?? 0],
    );
    return Map.groupBy(found.rows, (row) => Number(row[column]));
  };
  const [headers, transactions] = [await of("blocks", "number"), await of("transactions", "block_number")];
  return [...logs].map(([number, own]) => {
    const header = headers.get(number)?.[0];
    if (header === undefined)
      throw new ArchiveError(`The cache has logs of block ${number}, but not the block.`);
    const kept = (transactions.get(number) ?? []).map(transactionOf);
    return archivedBlock({ ...headerOf(header), transactions: kept }, own);
  });
}

type Row = Record<string, unknown>;

const quantities = new Set([...headerQuantities, "size", "totalDifficulty"]);

/** A header by a row of Ponder's cache, whose columns are the fields of a header in snake case, quantities as numbers. */
function headerOf(row: Row): ArchivedBlock["header"] {
  const kept = keptFields.flatMap((field) => {
    const value = row[field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)];
    if (value === null || value === undefined) return [];
    return [[field, quantities.has(field) ? `0x${BigInt(String(value)).toString(16)}` : String(value)]];
  });
  return Object.fromEntries(kept) as ArchivedBlock["header"];
}

const transactionOf = (row: Row) => ({
  transactionIndex: toHex(Number(row["transaction_index"])),
  hash: String(row["hash"]),
  from: String(row["from"]),
  ...(row["to"] === null ? {} : { to: String(row["to"]) }),
});
