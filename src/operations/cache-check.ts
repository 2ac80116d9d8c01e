import type { Statement } from "../ponder/sql-client.ts";
import { crossChecked } from "../rpc/compared-logs.ts";
import {
  differingLogs,
  type Header,
  type LogsQuery,
  matches,
  queryOf,
  type RpcLog,
} from "../rpc/log-answers.ts";
import {
  askHeader,
  type BlockRange,
  fetchValidatedLogs,
  type LogsRequest,
  logsByReceipts,
  type Nodes,
  toHex,
} from "../rpc/nodes.ts";
import { rangeAt, unionOf } from "./cache.ts";
import { type CachedFilter, cachedChildren, cachedFilters, cachedLogs } from "./cached-logs.ts";

/** A log that cache and chain do not share, or the fields of a cached block that its header does not have. */
type CacheDifference =
  | { block: number; kind: "missing" | "too many"; log: RpcLog }
  | { block: number; kind: "header"; fields: string[] };

/** What a comparison of the cache with the chain found. */
export type CacheCheck = {
  ranges: number;
  /** Ranges that no node answered for. */
  unanswered: number;
  differingRanges: BlockRange[];
  blocks: number;
  cachedBlocks: number;
  logs: number;
  differences: CacheDifference[];
};

/** Which cached blocks are compared; `samples` ranges of at most `longestRange` blocks. */
export type CacheSample = { chainId: number; from: number; to: number; samples: number };

const longestRange = 100;
const tries = 3;

/**
 * Compares random ranges of a chain's cached logs with the nodes: the logs of each range, of which two answers are compared, the receipts
 * of one of its blocks and the header of a cached one. `progress` is called after each range.
 */
export async function checkCache(
  run: Statement,
  nodes: Nodes,
  { chainId, from, to, samples, progress }: CacheSample & { progress: (done: number) => void },
): Promise<CacheCheck> {
  const filters = await filtersOf(run, chainId);
  const ranges = unionOf(filters.flatMap((filter) => filter.ranges)).flatMap((range) => {
    const clipped = { from: Math.max(range.from, from), to: Math.min(range.to, to) };
    return clipped.from <= clipped.to ? [clipped] : [];
  });
  const cachedBlocks = ranges.reduce((sum, range) => sum + sizeOf(range), 0);
  const check: CacheCheck = {
    ranges: 0,
    unanswered: 0,
    differingRanges: [],
    blocks: 0,
    cachedBlocks,
    logs: 0,
    differences: [],
  };
  for (let done = 1; done <= samples && cachedBlocks > 0; done++) {
    const range = rangeAt(ranges, Math.floor(nodes.random() * cachedBlocks), longestRange);
    const chosen = filters.filter((filter) => filter.ranges.some((one) => isWithin(range, one)));
    const found = await cachedLogs(run, chainId, range);
    const cached = found.filter((log) => chosen.some((filter) => isOf(filter, log)));
    const answers = await logsOfChain(nodes, range, chosen, cached);
    progress(done);
    if (answers === undefined) {
      check.unanswered += 1;
      continue;
    }
    check.ranges += 1;
    check.blocks += sizeOf(range);
    check.logs += cached.length;
    const differences = [
      ...(await headerDifferences(run, nodes, { chainId, range })),
      ...differencesOf(cached, answers),
    ];
    if (differences.length === 0) continue;
    check.differingRanges.push(range);
    check.differences.push(...differences);
  }
  return check;
}

const sizeOf = ({ from, to }: BlockRange) => to - from + 1;
const isWithin = (inner: BlockRange, outer: BlockRange) => outer.from <= inner.from && inner.to <= outer.to;

// --- What is cached ---

/** What Ponder fetched, as its logs are tested and asked for. */
type Filter = CachedFilter & {
  query: LogsQuery;
  /** Contracts of a factory by the block of their deployment. */
  children: ReadonlyMap<string, number> | undefined;
};

async function filtersOf(run: Statement, chainId: number): Promise<Filter[]> {
  return Promise.all(
    (await cachedFilters(run, chainId)).map(async (filter) => {
      const { address, factory, topics } = filter;
      const query = queryOf({ address: address ?? null, topics, fromBlock: "0x0", toBlock: "0x0" });
      if (query === undefined) throw new Error("A cached filter cannot be read.");
      const children = factory && (await cachedChildren(run, chainId, factory.event));
      return { ...filter, query, children };
    }),
  );
}

function isOf({ children, query }: Filter, log: RpcLog): boolean {
  if (!matches(log, query)) return false;
  if (children === undefined) return true;
  const since = children.get(log.address.toLowerCase());
  return since !== undefined && since <= Number(log.blockNumber);
}

// --- What the chain has ---

/** The logs of a range for these filters by the nodes; undefined if they do not answer. */
async function logsOfChain(
  nodes: Nodes,
  range: BlockRange,
  filters: readonly Filter[],
  cached: readonly RpcLog[],
): Promise<RpcLog[] | undefined> {
  for (let i = 0; i < tries; i++) {
    try {
      const logs = (await Promise.all(requestsOf(range, filters).map((one) => askTwice(nodes, one)))).flat();
      const unique = new Map(logs.map((log) => [`${Number(log.blockNumber)}.${Number(log.logIndex)}`, log]));
      const all = [...unique.values()].filter((log) => filters.some((filter) => isOf(filter, log)));
      return await withReceipts(nodes, { range, filters, cached, all });
    } catch {
      await new Promise((resolve) => setTimeout(resolve, 500 * 2 ** i));
    }
  }
  return undefined;
}

/** One request for all contracts with an address, and one for events of any contract. */
function requestsOf({ from, to }: BlockRange, filters: readonly Filter[]): LogsRequest[] {
  const range = { fromBlock: toHex(from), toBlock: toHex(to) };
  const [known, any] = [filters.filter(({ address }) => address), filters.filter(({ address }) => !address)];
  return [known, any].flatMap((some) => {
    if (some.length === 0) return [];
    const events = [...new Set(some.map(({ topics: [event] }) => event ?? undefined))];
    const isAnyEvent = events.includes(undefined);
    const filter = {
      ...range,
      ...(some === known ? { address: [...new Set(some.map(({ address }) => address ?? ""))] } : {}),
      ...(isAnyEvent ? {} : { topics: [events.flatMap((event) => event ?? [])] }),
    };
    const query = queryOf(filter);
    return query === undefined ? [] : [{ filter, query }];
  });
}

async function askTwice(nodes: Nodes, request: LogsRequest): Promise<RpcLog[]> {
  const [node] = nodes.all;
  if (node === undefined) throw new Error("There is no RPC URL.");
  const logs = await fetchValidatedLogs(nodes, node, request);
  return (await crossChecked(nodes, { node, logs }, request)).logs;
}

/** The logs, corrected by the receipts of blocks in which cache and answer differ, and of one more. */
async function withReceipts(
  nodes: Nodes,
  {
    range,
    filters,
    cached,
    all,
  }: { range: BlockRange; filters: readonly Filter[]; cached: readonly RpcLog[]; all: RpcLog[] },
): Promise<RpcLog[]> {
  const random = range.from + Math.floor(nodes.random() * sizeOf(range));
  const differing = differingLogs(cached, all).map(({ blockNumber }) => Number(blockNumber));
  let corrected = all;
  for (const block of new Set([...differing.slice(0, 5), random])) {
    const header = await provenHeader(nodes, block);
    const proven = header && (await logsByReceipts(nodes, nodes.all, header));
    if (proven === undefined) continue;
    const ours = proven.logs.filter((log) => filters.some((filter) => isOf(filter, log)));
    corrected = [...corrected.filter(({ blockNumber }) => Number(blockNumber) !== block), ...ours];
  }
  return corrected;
}

async function provenHeader(nodes: Nodes, block: number): Promise<Header | undefined> {
  for (const node of nodes.all) {
    const header = await askHeader(nodes, node, toHex(block));
    if (header !== undefined) return header;
  }
  return undefined;
}

/** How one of the cached blocks of a range differs from its header. */
async function headerDifferences(
  run: Statement,
  nodes: Nodes,
  { chainId, range }: { chainId: number; range: BlockRange },
): Promise<CacheDifference[]> {
  const { rows } = await run(
    `SELECT number::text, hash, parent_hash, timestamp::text, logs_bloom, receipts_root FROM ponder_sync.blocks
    WHERE chain_id = $1 AND number BETWEEN $2 AND $3 ORDER BY number`,
    [chainId, range.from, range.to],
  );
  const row = rows[Math.floor(nodes.random() * rows.length)];
  const header = row && (await provenHeader(nodes, Number(row["number"])));
  if (row === undefined || header === undefined) return [];
  const onChain = {
    hash: header.hash,
    parent_hash: header.parentHash,
    timestamp: String(Number(header.timestamp)),
    logs_bloom: header.logsBloom,
    receipts_root: header.receiptsRoot,
  };
  const fields = Object.entries(onChain).flatMap(([field, value]) => (row[field] === value ? [] : [field]));
  return fields.length === 0 ? [] : [{ block: Number(row["number"]), kind: "header", fields }];
}

function differencesOf(cached: readonly RpcLog[], chain: readonly RpcLog[]): CacheDifference[] {
  const different = new Set(differingLogs(cached, chain));
  const of = (logs: readonly RpcLog[], kind: "missing" | "too many") =>
    logs.filter((log) => different.has(log)).map((log) => ({ block: Number(log.blockNumber), kind, log }));
  return [...of(chain, "missing"), ...of(cached, "too many")].sort((a, b) => a.block - b.block);
}
