import { hasTable, type Statement } from "../ponder/sql-client.ts";
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
  const filters = await cachedFilters(run, chainId);
  const ranges = unionOf(filters.flatMap((filter) => filter.ranges)).flatMap((range) => {
    const clipped = { from: Math.max(range.from, from), to: Math.min(range.to, to) };
    return clipped.from <= clipped.to ? [clipped] : [];
  });
  const cachedBlocks = ranges.reduce((sum, range) => sum + sizeOf(range), 0);
  const found: CacheCheck = {
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
    const cached = await cachedLogs(run, chainId, range, chosen);
    const answers = await logsOfChain(nodes, range, chosen, cached);
    progress(done);
    if (answers === undefined) {
      found.unanswered += 1;
      continue;
    }
    found.ranges += 1;
    found.blocks += sizeOf(range);
    found.logs += cached.length;
    const differences = [
      ...(await headerDifferences(run, nodes, { chainId, range })),
      ...differencesOf(cached, answers),
    ];
    if (differences.length === 0) continue;
    found.differingRanges.push(range);
    found.differences.push(...differences);
  }
  return found;
}

const sizeOf = ({ from, to }: BlockRange) => to - from + 1;
const isWithin = (inner: BlockRange, outer: BlockRange) => outer.from <= inner.from && inner.to <= outer.to;

// --- What is cached ---

/** What Ponder fetched: logs of one event of a contract, of any, or of those that a factory deployed; and for which blocks. */
type CachedFilter = {
  address: string | undefined;
  query: LogsQuery;
  /** Contracts of a factory by the block of their deployment. */
  children: ReadonlyMap<string, number> | undefined;
  event: string | undefined;
  ranges: BlockRange[];
};

// ponder: a filter is stored as "log_<chain>_<address>_<four topics>_<receipts>", its blocks a to b as [a, b + 1].
async function cachedFilters(run: Statement, chainId: number): Promise<CachedFilter[]> {
  if (!(await hasTable(run, "ponder_sync.intervals"))) return [];
  const { rows } = await run(
    "SELECT fragment_id AS id, blocks::text FROM ponder_sync.intervals WHERE chain_id = $1 AND starts_with(fragment_id, 'log_')",
    [chainId],
  );
  return Promise.all(
    rows.map(async ({ id, blocks }) => {
      const parts = String(id).split("_");
      const topics = parts.slice(-5, -1).map((topic) => (topic === "null" ? null : topic));
      const [first, factoryEvent] = parts.slice(2, -5);
      const children = factoryEvent === undefined ? undefined : await childrenOf(run, chainId, factoryEvent);
      const address = children !== undefined || first === "null" ? undefined : first;
      const query = queryOf({ address: address ?? null, topics, fromBlock: "0x0", toBlock: "0x0" });
      if (query === undefined) throw new Error(`The cached filter ${String(id)} cannot be read.`);
      const ranges = (JSON.parse(`[${String(blocks).slice(1, -1)}]`) as [number, number][]).map(
        ([from, end]) => ({ from, to: end - 1 }),
      );
      return { address, children, query, event: topics[0] ?? undefined, ranges };
    }),
  );
}

async function childrenOf(run: Statement, chainId: number, event: string): Promise<Map<string, number>> {
  const { rows } = await run(
    `SELECT address, min(block_number)::text AS block FROM ponder_sync.factory_addresses child
    JOIN ponder_sync.factories ON factories.id = child.factory_id
    WHERE child.chain_id = $1 AND factory ->> 'eventSelector' = $2 GROUP BY address`,
    [chainId, event],
  );
  return new Map(rows.map(({ address, block }) => [String(address).toLowerCase(), Number(block)]));
}

async function cachedLogs(
  run: Statement,
  chainId: number,
  { from, to }: BlockRange,
  filters: readonly CachedFilter[],
): Promise<RpcLog[]> {
  const { rows } = await run(
    `SELECT block_number::text AS block, log_index, block_hash, transaction_hash, transaction_index, address, data,
      array_remove(ARRAY[topic0, topic1, topic2, topic3], NULL) AS topics
    FROM ponder_sync.logs WHERE chain_id = $1 AND block_number BETWEEN $2 AND $3 ORDER BY block_number, log_index`,
    [chainId, from, to],
  );
  const logs = rows.map((row) => ({
    blockNumber: toHex(Number(row["block"])),
    logIndex: toHex(Number(row["log_index"])),
    blockHash: String(row["block_hash"]),
    transactionHash: String(row["transaction_hash"]),
    transactionIndex: toHex(Number(row["transaction_index"])),
    address: String(row["address"]),
    data: String(row["data"]),
    topics: row["topics"] as string[],
  }));
  return logs.filter((log) => filters.some((filter) => isOf(filter, log)));
}

function isOf({ children, query }: CachedFilter, log: RpcLog): boolean {
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
  filters: readonly CachedFilter[],
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
function requestsOf({ from, to }: BlockRange, filters: readonly CachedFilter[]): LogsRequest[] {
  const range = { fromBlock: toHex(from), toBlock: toHex(to) };
  const [known, any] = [filters.filter(({ address }) => address), filters.filter(({ address }) => !address)];
  return [known, any].flatMap((some) => {
    if (some.length === 0) return [];
    const events = [...new Set(some.map(({ event }) => event))];
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
  }: { range: BlockRange; filters: readonly CachedFilter[]; cached: readonly RpcLog[]; all: RpcLog[] },
): Promise<RpcLog[]> {
  const random = range.from + Math.floor(nodes.random() * sizeOf(range));
  const differing = differingLogs(cached, all).map(({ blockNumber }) => Number(blockNumber));
  let corrected = all;
  for (const block of new Set([...differing.slice(0, 5), random])) {
    const header = await provenHeader(nodes, block);
    const proven = header && (await logsByReceipts(nodes, nodes.all, { header, mostSingle: 0 }));
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
