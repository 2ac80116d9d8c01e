import pRetry from "p-retry";
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
import { unionOf } from "./cache.ts";
import { type CachedFilter, cachedChildren, cachedFilters, cachedLogs } from "./cached-logs.ts";

/** A log that cache and chain do not share, or the fields of a cached block that its header does not have. */
type CacheDifference =
  | { block: number; kind: "missing" | "too many"; log: RpcLog }
  | { block: number; kind: "header"; fields: string[] };

/** What a comparison of the cache with the chain found. */
export type CacheCheck = Awaited<ReturnType<typeof checkCache>>;

/** Which cached blocks are compared; `samples` ranges of at most `longestRange` blocks. */
type CacheSample = { chainId: number; from: number; to: number; samples: number };

const longestRange = 100;

/**
 * Compares random ranges of a chain's cached logs with the nodes: the logs of each range, of which two answers are compared, and receipts and
 * headers of one of its blocks and of a cached one. `progress` is called after each range.
 */
export async function checkCache(
  run: Statement,
  nodes: Nodes,
  { chainId, from, to, samples, progress }: CacheSample & { progress: (done: number) => void },
) {
  const filters = await filtersOf(run, chainId);
  const ranges = unionOf(filters.flatMap((filter) => filter.ranges)).flatMap((range) => {
    const clipped = { from: Math.max(range.from, from), to: Math.min(range.to, to) };
    return clipped.from <= clipped.to ? [clipped] : [];
  });
  const check = {
    cachedBlocks: ranges.reduce((sum, range) => sum + sizeOf(range), 0),
    ...{ ranges: 0, blocks: 0, logs: 0 },
    /** Ranges that no node answered for. */
    unanswered: 0,
    differingRanges: [] as BlockRange[],
    differences: [] as CacheDifference[],
  };
  for (let done = 1; done <= samples && check.cachedBlocks > 0; done++) {
    const range = rangeAt(ranges, Math.floor(nodes.random() * check.cachedBlocks));
    const chosen = filters.filter((filter) => filter.ranges.some((one) => isWithin(range, one)));
    const isChosen = (log: RpcLog) => chosen.some((filter) => isOf(filter, log));
    const cached = (await cachedLogs(run, chainId, range)).filter(isChosen);
    const blocks = await cachedBlocks(run, chainId, range);
    const compare = async () => {
      const answers = await Promise.all(requestsOf(range, chosen).map((one) => askTwice(nodes, one)));
      return compareRange(nodes, range, { cached, blocks, logs: answers.flat().filter(isChosen), isChosen });
    };
    const differences = await pRetry(compare, { retries: 2, minTimeout: 500 }).catch(() => undefined);
    progress(done);
    if (differences === undefined) {
      check.unanswered += 1;
      continue;
    }
    check.ranges += 1;
    check.blocks += sizeOf(range);
    check.logs += cached.length;
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
const isWithin = (inner: BlockRange, outer: BlockRange) => outer.from <= inner.from && inner.to <= outer.to;

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

type CachedBlock = Record<"hash" | "parentHash" | "timestamp" | "logsBloom" | "receiptsRoot", string>;

async function cachedBlocks(run: Statement, chainId: number, { from, to }: BlockRange) {
  const { rows } = await run(
    `SELECT number::text, hash, parent_hash AS "parentHash", timestamp::text, logs_bloom AS "logsBloom", receipts_root AS "receiptsRoot"
    FROM ponder_sync.blocks WHERE chain_id = $1 AND number BETWEEN $2 AND $3 ORDER BY number`,
    [chainId, from, to],
  );
  return new Map(rows.map(({ number, ...block }) => [Number(number), block as CachedBlock]));
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

/** How cached logs and blocks differ from the chain's: in blocks where cache and nodes differ, and in two more, receipts decide. */
async function compareRange(
  nodes: Nodes,
  { from, to }: BlockRange,
  {
    cached,
    blocks,
    logs,
    isChosen,
  }: {
    cached: readonly RpcLog[];
    blocks: ReadonlyMap<number, CachedBlock>;
    logs: readonly RpcLog[];
    isChosen: (log: RpcLog) => boolean;
  },
): Promise<CacheDifference[]> {
  const found: CacheDifference[] = [];
  const idOf = ({ blockNumber, logIndex }: RpcLog) => `${Number(blockNumber)}.${Number(logIndex)}`;
  let chain = [...new Map(logs.map((log) => [idOf(log), log])).values()];
  const differing = differingLogs(cached, chain).map(({ blockNumber }) => Number(blockNumber));
  const random = from + Math.floor(nodes.random() * sizeOf({ from, to }));
  const randomCached = [...blocks.keys()][Math.floor(nodes.random() * blocks.size)] ?? random;
  for (const block of new Set([...differing.slice(0, 5), random, randomCached])) {
    const header = await provenHeader(nodes, block);
    if (header === undefined) continue;
    const ours = Object.entries(blocks.get(block) ?? {});
    const theirs = { ...header, timestamp: String(Number(header.timestamp)) };
    const fields = ours.flatMap(([name, value]) =>
      theirs[name as keyof CachedBlock] === value ? [] : [name],
    );
    if (fields.length > 0) found.push({ block, kind: "header", fields });
    const proven = await logsByReceipts(nodes, nodes.all, header);
    if (proven !== undefined)
      chain = [
        ...chain.filter(({ blockNumber }) => Number(blockNumber) !== block),
        ...proven.logs.filter(isChosen),
      ];
  }
  const different = new Set(differingLogs(cached, chain));
  const of = (all: readonly RpcLog[], kind: "missing" | "too many") =>
    all.filter((log) => different.has(log)).map((log) => ({ block: Number(log.blockNumber), kind, log }));
  return [
    ...found,
    ...[...of(chain, "missing"), ...of(cached, "too many")].sort((a, b) => a.block - b.block),
  ];
}

async function provenHeader(nodes: Nodes, block: number): Promise<Header | undefined> {
  for (const node of nodes.all) {
    const header = await askHeader(nodes, node, toHex(block));
    if (header !== undefined) return header;
  }
  return undefined;
}
