import { setTimeout as pause } from "node:timers/promises";
import { LRUCache } from "lru-cache";
import type { Registry } from "prom-client";
import { z } from "zod/v4";
import { type Log, seeOperations } from "../../log/json-log.ts";
import { saveStatus } from "../../operations/stored-indexes.ts";
import {
  type BlockRef,
  type ChainBlock,
  type CheckpointRow,
  checkpointsSql,
  type Head,
  headsOf,
  indexedBlock,
  indexedHead,
  parseCheckpoint,
  readCheckpoints,
} from "../../ponder/checkpoints.ts";
import { addGauge } from "../../ponder/gauge.ts";
import type { PonderProcess, SyncMetrics } from "../../ponder/process.ts";
import { shared } from "../../ponder/shared.ts";
import type { RowReader } from "../../ponder/sql-client.ts";

const seconds = z.int().describe("Unix seconds");
const block = z.strictObject({ timestamp: seconds, number: z.int().min(0) });

const indefinite = z.strictObject({ configType: z.literal("indefinite"), startBlock: block });
const definite = z.strictObject({ configType: z.literal("definite"), startBlock: block, endBlock: block });
const either = z.union([indefinite, definite]);

const chainSchema = z.union([
  z.strictObject({ chainStatus: z.literal("chain-queued"), config: either }),
  z.strictObject({
    chainStatus: z.literal("chain-backfill"),
    config: either,
    latestIndexedBlock: block,
    backfillEndBlock: block,
  }),
  z.strictObject({
    chainStatus: z.literal("chain-following"),
    config: indefinite,
    latestIndexedBlock: block,
    latestKnownBlock: block,
  }),
  z.strictObject({ chainStatus: z.literal("chain-completed"), config: definite, latestIndexedBlock: block }),
]);

/** Schema of a snapshot, as its JSON text is sent and saved. */
export const snapshotSchema = z.strictObject({
  strategy: z.literal("omnichain"),
  slowestChainIndexingCursor: seconds,
  snapshotTime: seconds,
  omnichainSnapshot: z.strictObject({
    omnichainStatus: z.enum([
      "omnichain-unstarted",
      "omnichain-backfill",
      "omnichain-following",
      "omnichain-completed",
    ]),
    chains: z.record(z.string(), chainSchema).describe("By chain id"),
    omnichainIndexingCursor: seconds,
  }),
});

/** Indexing status of all chains at `snapshotTime`; all times are Unix seconds. */
export type Snapshot = z.output<typeof snapshotSchema>;
/** Status of all chains together; `chains` is keyed by decimal chain ids. */
export type OmnichainSnapshot = Snapshot["omnichainSnapshot"];
/** Status of one chain; its members depend on its `chainStatus`. */
export type ChainSnapshot = z.output<typeof chainSchema>;

/** What is known of one chain at one moment. */
export type ChainFacts = {
  chainId: number;
  /** Lowest start block of all contracts indexed on the chain. */
  startBlock: BlockRef;
  /** Highest end block, if every contract of the chain has one. */
  endBlock?: BlockRef | undefined;
  /** Target of the backfill, once the indexer has set it. */
  backfillEndBlock?: BlockRef | undefined;
  /** Last block whose events are in the database; absent before the first. */
  latestIndexedBlock?: BlockRef | undefined;
  /** Newest block seen over RPC. */
  latestKnownBlock?: BlockRef | undefined;
  /** Whether the chain's sync fetches history, follows the head, or has fetched the chain's whole range. */
  sync: "backfill" | "live" | "complete";
};

// Progress in the common time order of all chains' events (Unix seconds): all before one second, and some event or all through another.
type Processed = { before: number; through: number };

// A chain is at least at its start once the others have reached that, and at its end once they have passed that.
function chainSnapshot(
  { startBlock, endBlock, sync, ...facts }: ChainFacts,
  { before, through }: Processed,
): ChainSnapshot {
  const isStarted = through >= startBlock.timestamp;
  const latestIndexedBlock = facts.latestIndexedBlock ?? (isStarted ? startBlock : undefined);
  if (endBlock !== undefined) {
    const config = { configType: "definite" as const, startBlock, endBlock };
    const isPast = before > endBlock.timestamp || (latestIndexedBlock?.number ?? -1) >= endBlock.number;
    if (sync !== "backfill" && isPast)
      return { chainStatus: "chain-completed", config, latestIndexedBlock: endBlock };
    if (latestIndexedBlock === undefined) return { chainStatus: "chain-queued", config };
    const reached = isPast ? endBlock : latestIndexedBlock;
    return { chainStatus: "chain-backfill", config, latestIndexedBlock: reached, backfillEndBlock: endBlock };
  }
  const config = { configType: "indefinite" as const, startBlock };
  if (latestIndexedBlock === undefined) return { chainStatus: "chain-queued", config };
  if (sync === "backfill") {
    const backfillEndBlock = higherBlock(latestIndexedBlock, facts.backfillEndBlock);
    return { chainStatus: "chain-backfill", config, latestIndexedBlock, backfillEndBlock };
  }
  const latestKnownBlock = higherBlock(latestIndexedBlock, facts.latestKnownBlock);
  return { chainStatus: "chain-following", config, latestIndexedBlock, latestKnownBlock };
}

// Compares numbers alone: fast chains produce several blocks a second.
function higherBlock(a: BlockRef, b: BlockRef = a): BlockRef {
  return b.number > a.number ? b : a;
}

/** Blocks of the chains whose backfill has begun: those that are indexed, and all. */
export function backfilledBlocks(chains: Readonly<Record<string, ChainSnapshot>>): {
  done: number;
  all: number;
} {
  const blocks = { done: 0, all: 0 };
  for (const chain of Object.values(chains)) {
    if (chain.chainStatus === "chain-queued") continue;
    const { number: start } = chain.config.startBlock;
    const { number: latest } = chain.latestIndexedBlock;
    const end = chain.chainStatus === "chain-backfill" ? chain.backfillEndBlock.number : latest;
    blocks.done += latest - start;
    blocks.all += end - start;
  }
  return blocks;
}

/**
 * The snapshot of all chains, dated `now` or by a newer block; undefined if the facts fit no status (some completed, the rest queued). All
 * times are Unix seconds.
 */
export function snapshotOf(
  facts: readonly ChainFacts[],
  now: number,
  backfilledBefore = 0,
): Snapshot | undefined {
  const newest = Math.max(...facts.map(({ latestIndexedBlock }) => latestIndexedBlock?.timestamp ?? 0));
  const processed = {
    before: Math.max(newest, backfilledBefore),
    through: Math.max(newest, backfilledBefore - 1),
  };
  const snapshots = facts.map((chain) => chainSnapshot(chain, processed));
  const omnichainStatus = omnichainStatusOf(snapshots);
  if (omnichainStatus === undefined) return undefined;

  const chains = Object.fromEntries(
    snapshots.map((snapshot, index) => [String(facts[index]?.chainId), snapshot]),
  );
  const cursor = omnichainCursor(snapshots);
  return {
    strategy: "omnichain",
    slowestChainIndexingCursor: cursor,
    snapshotTime: Math.max(now, ...snapshots.flatMap(timesOf)),
    omnichainSnapshot: { omnichainStatus, chains, omnichainIndexingCursor: cursor },
  };
}

const timesOf = ({ config, ...blocks }: ChainSnapshot): number[] =>
  [...Object.values(config), ...Object.values(blocks)].flatMap((one) =>
    typeof one === "string" ? [] : one.timestamp,
  );

/** The last indexed block of a chain; undefined before the first. */
export const indexedBlockOf = (chain: ChainSnapshot | undefined): BlockRef | undefined =>
  chain === undefined || chain.chainStatus === "chain-queued" ? undefined : chain.latestIndexedBlock;

/** Whether the backfill of all chains is over: they are followed, or complete. */
export function isBackfilled({ omnichainSnapshot: { omnichainStatus } }: Snapshot): boolean {
  return omnichainStatus === "omnichain-following" || omnichainStatus === "omnichain-completed";
}

function omnichainStatusOf(chains: readonly ChainSnapshot[]) {
  const states = chains.map(({ chainStatus }) => chainStatus);
  if (states.includes("chain-following")) return "omnichain-following";
  if (states.includes("chain-backfill")) return "omnichain-backfill";
  if (states.every((state) => state === "chain-queued")) return "omnichain-unstarted";
  return states.every((state) => state === "chain-completed") ? "omnichain-completed" : undefined;
}

// Time up to which every chain is processed. Events of all chains are processed in one order of time, so the newest indexed block of any
// chain counts for all. Before the first, it is one second before the earliest start.
function omnichainCursor(chains: readonly ChainSnapshot[]): number {
  const indexed = chains.flatMap((chain) => indexedBlockOf(chain)?.timestamp ?? []);
  if (indexed.length > 0) return Math.max(...indexed);
  return Math.min(...chains.map((chain) => chain.config.startBlock.timestamp)) - 1;
}

/**
 * Projects a snapshot to `now`, or to its own time if that is later. The distance assumes no progress since the snapshot, and a new block
 * on every chain at `projectedAt`. Times and distance are in (Unix) seconds.
 */
export function project(
  { snapshotTime, slowestChainIndexingCursor }: Omit<Snapshot, "omnichainSnapshot" | "strategy">,
  now: number,
) {
  const projectedAt = Math.max(now, snapshotTime);
  return { projectedAt, worstCaseDistance: projectedAt - slowestChainIndexingCursor };
}

/**
 * The time (Unix seconds) up to which every chain is indexed, and the chain that has come least far, if one pauses: its last indexed block
 * is more than `pauseSeconds` before the cursor. The others have no events up to the cursor that are not indexed.
 */
export function slowestOf(
  { omnichainSnapshot: { chains, omnichainIndexingCursor } }: Snapshot,
  pauseSeconds = shared().chainPauseMs / 1_000,
): { time: number; chainId?: string } {
  const slowest: { time: number; chainId?: string } = { time: omnichainIndexingCursor };
  for (const [chainId, chain] of Object.entries(chains)) {
    const { timestamp: time } = indexedBlockOf(chain) ?? { timestamp: omnichainIndexingCursor };
    const isPaused = chain.chainStatus === "chain-following" && omnichainIndexingCursor - time > pauseSeconds;
    if (isPaused && time < slowest.time) Object.assign(slowest, { time, chainId });
  }
  return slowest;
}

/** Seconds from the last indexed block of each followed chain until `now` (Unix seconds), by chain id. */
export const distancesOf = ({ omnichainSnapshot: { chains } }: Snapshot, now: number) =>
  Object.fromEntries(
    Object.entries(chains).flatMap(([chainId, chain]) =>
      chain.chainStatus === "chain-following"
        ? [[chainId, Math.max(0, now - chain.latestIndexedBlock.timestamp)]]
        : [],
    ),
  );

/** An indexed chain and its range of block numbers. */
export type StatusChain = { chainId: number; startBlock: number; endBlock?: number | undefined };

/**
 * The range of each chain: from the lowest start of its contracts to the highest end, if all of them have one. Contracts have a range by
 * chain name. Chains without contracts are left out.
 */
export function statusChains(
  chains: readonly { id: number; name: string }[],
  contracts: readonly { chain: Readonly<Record<string, Omit<StatusChain, "chainId">>> }[],
): StatusChain[] {
  return chains.flatMap(({ id: chainId, name }) => {
    const ranges = contracts.flatMap((contract) => contract.chain[name] ?? []);
    if (ranges.length === 0) return [];
    const startBlock = Math.min(...ranges.map((range) => range.startBlock));
    const endBlock = Math.max(...ranges.map((range) => range.endBlock ?? Number.POSITIVE_INFINITY));
    return [{ chainId, startBlock, endBlock: Number.isFinite(endBlock) ? endBlock : undefined }];
  });
}

/** The end of a chain's range, if it has one; with its time once `snapshot` contains it. */
export function endOfChain(chain: StatusChain | undefined, snapshot: Snapshot | undefined): Head | undefined {
  if (chain?.endBlock === undefined) return undefined;
  const config = snapshot?.omnichainSnapshot.chains[chain.chainId]?.config;
  return config?.configType === "definite" ? config.endBlock : { number: chain.endBlock };
}

/** Looks up a block by number, for its timestamp; undefined while it is unknown. */
export type FindBlock = (chainId: number, number: number) => BlockRef | undefined;

/** Facts of one chain; undefined while its start block, or an end block that it has passed, is unknown. */
export function chainFacts(
  { chainId, startBlock: start, endBlock: end }: StatusChain,
  row: CheckpointRow | undefined,
  metrics: SyncMetrics | undefined,
  findBlock: FindBlock,
): ChainFacts | undefined {
  const find = (number: number) => findBlock(chainId, number);
  const first = row && parseCheckpoint(row.latestCheckpoint).block;
  const startBlock = first?.number === start ? first : find(start);
  if (startBlock === undefined) return undefined;

  const head = row && indexedBlock(row);
  const latestIndexedBlock = head && head.number >= start ? head : undefined;
  const indexed = latestIndexedBlock?.number ?? -1;
  // An end block that does not exist yet is unknown: the chain follows its head until it does.
  const endBlock = end === undefined ? undefined : indexed === end ? latestIndexedBlock : find(end);
  // Blocks past the end are fetched but not indexed: a cursor that followed them would have to return to the end.
  if (end !== undefined && indexed > end && endBlock === undefined) return undefined;

  const { historicalTotalBlocks: total = 0, syncBlock, syncBlockTimestamp } = metrics ?? {};
  const finalized = row && parseCheckpoint(row.finalizedCheckpoint);
  const isUsable = finalized?.chainId === chainId && finalized.block.number >= start;
  // Until Ponder sets where its backfill ends, the last finalized block in its table is the best known target.
  const backfillEndBlock =
    (total > 0 ? find(start + total - 1) : undefined) ?? (isUsable ? finalized.block : undefined);
  // ponder: number and timestamp belong together only for live blocks. In the backfill the number may run ahead alone.
  const isLive = syncBlock !== undefined && syncBlockTimestamp !== undefined && syncBlock >= start + total;
  return {
    chainId,
    startBlock,
    endBlock,
    backfillEndBlock,
    latestIndexedBlock,
    latestKnownBlock: isLive ? { timestamp: syncBlockTimestamp, number: syncBlock } : backfillEndBlock,
    sync: metrics?.isComplete ? "complete" : metrics?.isRealtime ? "live" : "backfill",
  };
}

/** The second (Unix time) before which the backfill has processed all chains, also those without events; 0 until it is over. */
export function backfilledBefore(facts: readonly ChainFacts[], metrics: readonly SyncMetrics[]): number {
  if (facts.every(({ sync }) => sync === "backfill")) return 0;
  // ponder: every chain has the same figure, from the earliest start of all to the end of the backfill.
  const seconds = Math.max(...metrics.map(({ historicalTotalSeconds }) => historicalTotalSeconds ?? 0));
  const time = Math.min(...facts.map(({ startBlock }) => startBlock.timestamp)) + seconds;
  // That end is the last end of all chains, whose second is over then, or the earliest finalized block, whose second may have more events.
  const ends = facts.map(({ sync, endBlock }) => (sync === "complete" && endBlock?.timestamp) || Infinity);
  return time === Math.max(...ends) ? time + 1 : time;
}

/** The call of a chain's client that the status needs. Rejects with `BlockNotFoundError` for a block not there yet. */
export type BlockClient = {
  getBlock(options: { blockNumber: bigint }): Promise<{ timestamp: bigint }>;
};

const askAgainMs = 5_000;

/** Creates a FindBlock that fetches requested blocks in the background, once in five seconds until they are there. */
export function createFindBlock(
  clientOf: (chainId: number) => BlockClient | undefined,
  { log, clock = Date.now }: { log: Log; clock?: () => number },
): FindBlock {
  const blocks = new LRUCache<string, { found?: BlockRef }, { chainId: number; number: number }>({
    max: 1_000,
    perf: { now: clock },
    ttlResolution: 0,
    ignoreFetchAbort: true,
    fetchMethod: async (_key, _stale, { options, context: { chainId, number } }) => {
      try {
        const block = await clientOf(chainId)?.getBlock({ blockNumber: BigInt(number) });
        if (block) return { found: { timestamp: Number(block.timestamp), number } };
      } catch (error) {
        // Without the reason: an RPC client's error may contain its URL, and with it a key.
        const isBehind = error instanceof Error && error.name === "BlockNotFoundError";
        if (!isBehind)
          log(
            "warn",
            `Could not fetch block ${number} of chain ${chainId} for the indexing status; retrying.`,
          );
      }
      options.ttl = askAgainMs;
      return {};
    },
  });
  return (chainId, number) => {
    const key = `${chainId}:${number}`;
    void blocks.fetch(key, { context: { chainId, number } });
    return blocks.get(key)?.found;
  };
}

/** The last indexed blocks by chain id, of those whose hashes are stored. */
type HeadBlocks = Readonly<Record<string, Head>>;

const headBlocksOf = (rows: readonly CheckpointRow[]): HeadBlocks =>
  Object.fromEntries(rows.flatMap((row) => [[row.chainId, indexedHead(row)]]).filter(([, head]) => head));

/** A snapshot, the heads that it was read with (`headsOf`), when the indexing process reported it (Unix seconds), and how many seconds ago. */
export type Reading = {
  snapshot: Snapshot;
  heads: string;
  blocks?: HeadBlocks;
  reportedAt: number;
  age: number;
};

type IndexerFacts = {
  chains: readonly StatusChain[];
  readCheckpoints: () => Promise<readonly CheckpointRow[]>;
  readMetrics: () => Promise<ReadonlyMap<number, SyncMetrics>>;
  findBlock: FindBlock;
  clock?: () => number;
};

/** Creates the status reader of the indexing process. It returns undefined while facts are unknown or fit no status. `clock`: milliseconds. */
export function createIndexerStatus(facts: IndexerFacts): () => Promise<Reading | undefined> {
  const { chains, readCheckpoints, readMetrics, findBlock, clock = Date.now } = facts;
  return async () => {
    const rows = await readCheckpoints();
    const metrics = await readMetrics();
    const found = chains.flatMap((chain) => {
      const row = rows.find((candidate) => candidate.chainId === chain.chainId);
      return chainFacts(chain, row, metrics.get(chain.chainId), findBlock) ?? [];
    });
    if (found.length < chains.length) return undefined;
    const now = Math.floor(clock() / 1000);
    const snapshot = snapshotOf(found, now, backfilledBefore(found, [...metrics.values()]));
    return (
      snapshot && { snapshot, heads: headsOf(rows), blocks: headBlocksOf(rows), reportedAt: now, age: 0 }
    );
  };
}

/** Hashes of a block. */
export type BlockHashes = Pick<ChainBlock, "hash" | "parentHash">;

const timeoutMs = 2_000;

/** Looks up hashes of final blocks, of which the index stores none, and caches them for 15 seconds. */
export function createBlockHashes(
  blockOf: (chainId: number, number: number) => Promise<Omit<ChainBlock, "number"> | undefined>,
) {
  const known = new LRUCache<string, BlockHashes, { chainId: number; head: Head }>({
    max: 64,
    ttl: 15_000,
    allowStale: true,
    noDeleteOnStaleGet: true,
    // An entry that is evicted meanwhile still gets its hashes.
    ignoreFetchAbort: true,
    fetchMethod: async (_key, _stale, { context: { chainId, head } }) => {
      // Without a response in time, the hash stays unknown; responses may show null.
      const late = pause(timeoutMs, undefined, { ref: false });
      const block = await Promise.race([blockOf(chainId, head.number), late]).catch(() => undefined);
      if (block === undefined || block.timestamp !== head.timestamp) return undefined;
      return { hash: block.hash, parentHash: block.parentHash };
    },
  });
  const keyOf = (chainId: number, { number, timestamp }: Head) => `${chainId}/${number}/${timestamp}`;
  /** Undefined if the RPC request fails, takes over two seconds, or returns another block, and if the cache drops it before that. */
  const ask = (chainId: number, head: Head) =>
    known
      .fetch(keyOf(chainId, head), { context: { chainId, head }, allowStale: false })
      .catch(() => undefined);
  return {
    ask,
    /** The hashes if they are known, else undefined. Fetches them for the next time. */
    peek(chainId: number, head: Head): BlockHashes | undefined {
      void ask(chainId, head);
      return known.get(keyOf(chainId, head));
    },
  };
}

/** Since when (Unix seconds) the index cannot be relied on, and why, as a sentence. */
export type Staleness = { since: number; reason: string };

/** The newest snapshot and its heads (`headsOf`, `blocks`); `stale` if it is too old, or contradicted by the chain. */
export type CurrentStatus = {
  snapshot: Snapshot;
  heads?: string;
  blocks?: HeadBlocks | undefined;
  stale?: Staleness | undefined;
};

/** The hash of a chain's last indexed block, if it is the block whose hash is known. */
export const headHash = (known: Head | undefined, { number, timestamp }: BlockRef): string | undefined =>
  known?.number === number && known.timestamp === timestamp ? known.hash : undefined;

/** Holds the current indexing status. */
export type StatusSource = ReturnType<typeof createStatusSource>;

// The indexing process reports each second; some seconds late if it is busy or the database is slow.
const staleAfterMs = 30_000;

// For how long a request waits for blocks that the index lacks, how often they are looked for, and how many may be missing.
const reachMs = 2_000;
const reachPauseMs = 200;
const maxMissing = 32;

/** Whether a live chain has more than one block that is not indexed yet. */
export const hasWaitingBlocks = (snapshot: Snapshot | undefined): boolean =>
  Object.values(snapshot?.omnichainSnapshot.chains ?? {}).some(
    (chain) =>
      chain.chainStatus === "chain-following" &&
      chain.latestKnownBlock.number - chain.latestIndexedBlock.number > 1,
  );

/** A block of a chain by its number. */
export type Block = { chainId: string; number: number };

/** How many blocks a status lacks up to a block. */
export function missingBlocks({ chainId, number }: Block, status: CurrentStatus | undefined): number {
  const indexed = indexedBlockOf(status?.snapshot.omnichainSnapshot.chains[chainId]);
  return indexed === undefined ? Number.POSITIVE_INFINITY : number - indexed.number;
}

type SourceOptions = {
  read: () => Promise<Reading | undefined>;
  /** Reads the heads that the tables have now (`headsOf`). */
  readHeads: () => Promise<string>;
  /** Saves a reading for other processes. */
  save?: ((snapshot: Snapshot) => Promise<void>) | undefined;
  /** Why the index cannot be relied on although it is being indexed; undefined if it can. */
  fault?: (() => Staleness | undefined) | undefined;
  log: Log;
  clock?: () => number;
};

/**
 * Creates a source that holds the newest snapshot and knows when it is stale. A `fault` makes it stale at once, and keeps it from being
 * saved, so that it becomes stale for readers. `log` gets each reason why a reading or saving fails once, until a reading succeeds. `clock`
 * returns milliseconds from any start.
 */
export function createStatusSource({
  read,
  readHeads,
  save,
  fault,
  log,
  clock = () => performance.now(),
}: SourceOptions) {
  const headsFromNow = nextReading(readHeads);
  let latest: (CurrentStatus & { reportedAt: number; ifStale: Staleness }) | undefined;
  let isOpen = true;
  let lastFailure: string | undefined;
  let wasStale = false;

  /** The newest snapshot; undefined before the first. Never waits. */
  const current = (): CurrentStatus | undefined => {
    if (latest === undefined) return undefined;
    const { omnichainStatus } = latest.snapshot.omnichainSnapshot;
    // A completed index needs no indexing process.
    const isSilent = clock() - latest.reportedAt > staleAfterMs && omnichainStatus !== "omnichain-completed";
    const stale = fault?.() ?? (isSilent ? latest.ifStale : undefined);
    return stale === undefined ? latest : { ...latest, stale };
  };

  const readOnce = async () => {
    let [verb, failure] = ["read", undefined as string | undefined];
    try {
      const reading = await read();
      if (reading !== undefined) {
        const { reportedAt, age, snapshot } = reading;
        latest = { ...reading, reportedAt: clock() - age * 1_000, ifStale: stalenessSince(reportedAt) };
        verb = "save";
        if (fault?.() === undefined) await save?.(snapshot);
      }
    } catch (error) {
      failure = `Could not ${verb} the indexing status: ${error instanceof Error ? error.message : error}`;
    }
    const stale = current()?.stale;
    if (isOpen) {
      if (failure !== undefined && failure !== lastFailure) log("warn", failure);
      if (stale && !wasStale) log("error", stale.reason, sectionOf(stale));
      if (wasStale && !stale) log("info", "The index is no longer stale.");
    }
    lastFailure = failure;
    wasStale = stale !== undefined;
  };

  let reading: Promise<void> | undefined;
  /** Reads the status, once for all who ask meanwhile. Never rejects: a reading that fails leaves the snapshot as it was. */
  const refresh = () => {
    reading ??= readOnce().finally(() => {
      reading = undefined;
    });
    return reading;
  };

  return {
    current,
    refresh,
    /** The status itself if rows that were read since it are of its blocks, else a newer one. */
    async confirm(known: CurrentStatus): Promise<CurrentStatus> {
      const heads = await headsFromNow();
      if (heads === known.heads) return known;
      if (latest?.heads !== heads) await refresh();
      return current() ?? known;
    },
    /** The status once it has these blocks, else the newest one after two seconds or, if a block is far ahead, at once. */
    reach: (blocks: readonly Block[], signal: AbortSignal): Promise<CurrentStatus | undefined> =>
      reach(blocks, signal, { current, refresh, clock }),
    /** Refreshes at once and then `intervalMs` after each reading, until `stop`. */
    async start(intervalMs: number) {
      while (isOpen) {
        await refresh();
        await pause(intervalMs, undefined, { ref: false });
      }
    },
    stop: () => {
      isOpen = false;
    },
  };
}

async function reach(
  blocks: readonly Block[],
  signal: AbortSignal,
  { current, refresh, clock }: Pick<StatusSource, "current" | "refresh"> & { clock: () => number },
): Promise<CurrentStatus | undefined> {
  const until = clock() + reachMs;
  for (;;) {
    const found = current();
    const behind = Math.max(...blocks.map((block) => missingBlocks(block, found)));
    if (behind <= 0 || behind > maxMissing || clock() > until || signal.aborted) return found;
    await pause(reachPauseMs, undefined, { ref: false });
    await refresh();
  }
}

// Reads what holds after the call, once for all who ask while an earlier reading lasts.
function nextReading<T>(read: () => Promise<T>): () => Promise<T> {
  let running: Promise<unknown> = Promise.resolve();
  let next: Promise<T> | undefined;
  const begin = () => {
    next = undefined;
    const reading = read();
    running = reading;
    return reading;
  };
  return () => {
    next ??= running.then(begin, begin);
    return next;
  };
}

function stalenessSince(since: number): Staleness {
  const time = new Date(since * 1_000).toISOString().replace(".000", "");
  return {
    since,
    reason: `The index is stale: no progress has been reported by its indexing process since ${time}.`,
  };
}

const refreshMs = 1_000;
const statementMs = 30_000;

/**
 * Follows the indexing status of this process, or under `ponder serve` the snapshots that the indexing process saves each second. Stops
 * with the process. `registry` gets its metrics.
 */
export function openStatus({
  process: { isIndexer, write, schema, ofChain, readMetrics, onStop },
  database,
  clients,
  chains,
  fault,
  log,
  registry,
  readSaved = () =>
    readSavedSnapshot({ row: (...given) => database.row(...given, AbortSignal.timeout(statementMs)) }),
}: Pick<SourceOptions, "fault" | "log"> & {
  process: PonderProcess;
  /** Reads what the indexing process has saved; by default from `database`. */
  readSaved?: (() => Promise<SavedReading | undefined>) | undefined;
  database: RowReader;
  /** By Ponder's chain names. */
  clients: Readonly<Record<string, BlockClient>>;
  chains: readonly StatusChain[];
  registry?: Registry | undefined;
}): StatusSource {
  const signal = () => AbortSignal.timeout(statementMs);
  const findBlock = createFindBlock((chainId) => ofChain(clients, chainId), { log });
  const readRows = () => readCheckpoints(database, signal());
  const own = { chains, readCheckpoints: readRows, readMetrics, findBlock };
  const status = createStatusSource({
    read: isIndexer ? createIndexerStatus(own) : async () => ofRows(await readSaved()),
    readHeads: async () => headsOf(await readRows()),
    save: isIndexer ? (snapshot) => saveStatus(write, schema, "indexing", snapshot) : undefined,
    fault: isIndexer ? fault : undefined,
    log,
  });
  for (const [name, help, read] of metrics)
    addGauge(registry, { name, help }, (gauge) => {
      gauge.remove();
      const value = read(status.current());
      if (value !== undefined) gauge.set(value);
    });
  void status.start(refreshMs);
  onStop(status.stop);
  return status;
}

const nowSeconds = () => Math.floor(Date.now() / 1_000);

// An unknown value is undefined.
const metrics: [name: string, help: string, read: (status?: CurrentStatus) => number | undefined][] = [
  [
    "nsindex_index_stale_seconds",
    "Seconds for which the index has been stale; 0 if it is not",
    (status) => (status?.stale === undefined ? 0 : nowSeconds() - status.stale.since),
  ],
  [
    "nsindex_index_distance_seconds",
    "Seconds from the time up to which every chain is indexed until now",
    (status) => status && Math.max(0, nowSeconds() - slowestOf(status.snapshot).time),
  ],
  [
    "nsindex_index_is_backfilled",
    "1 once the backfill is complete",
    (status) => status && Number(isBackfilled(status.snapshot)),
  ],
];

// The reason of a chain that contradicts the index names its own section.
const sectionOf = ({ reason }: Staleness) =>
  reason.includes("docs/operations.md") ? {} : { section: seeOperations("When a dependency is unavailable") };

// The snapshot is saved each second, the rows of a chain that is followed are those of its head.
function ofRows(saved: SavedReading | undefined): Reading | undefined {
  if (saved === undefined) return undefined;
  const { snapshot, checkpoints } = saved;
  const chains = { ...snapshot.omnichainSnapshot.chains };
  for (const row of checkpoints) {
    const [chain, head] = [chains[row.chainId], indexedBlock(row)];
    if (chain?.chainStatus !== "chain-following" || head === undefined) continue;
    const latestKnownBlock = higherBlock(head, chain.latestKnownBlock);
    chains[row.chainId] = { ...chain, latestIndexedBlock: head, latestKnownBlock };
  }
  const cursor = omnichainCursor(Object.values(chains));
  const of = {
    slowestChainIndexingCursor: cursor,
    snapshotTime: Math.max(snapshot.snapshotTime, cursor),
    omnichainSnapshot: { ...snapshot.omnichainSnapshot, chains, omnichainIndexingCursor: cursor },
  };
  return {
    ...saved,
    heads: headsOf(checkpoints),
    blocks: headBlocksOf(checkpoints),
    snapshot: { ...snapshot, ...of },
  };
}

const savedReading = z.object({
  snapshot: snapshotSchema,
  checkpoints: z.array(z.custom<CheckpointRow>()),
  reportedAt: z.int(),
  age: z.number(),
  savedAt: z.number(),
});

/** A snapshot that the indexing process has saved; `savedAt` is its exact time in milliseconds. */
export type SavedReading = z.output<typeof savedReading>;

type Row = (sql: string, values: readonly string[]) => Promise<(string | null)[]>;

/** The saved snapshot; undefined if no indexing process has saved one. Throws if it is malformed. */
export async function readSavedSnapshot({ row }: { row: Row }): Promise<SavedReading | undefined> {
  const [exists] = await row("select to_regclass('_indexing_status')::text", []);
  if (typeof exists !== "string") return undefined;
  const [text] = await row(
    // Both times are of the database, so that no other clock decides how old a snapshot is.
    `select json_build_object('snapshot', snapshot, 'checkpoints', coalesce(${checkpointsSql}, '[]'), 'reportedAt', floor(extract(epoch from saved_at)),
      'age', extract(epoch from now() - saved_at), 'savedAt', extract(epoch from saved_at) * 1000)::text
      from _indexing_status where id = 'indexing'`,
    [],
  );
  return typeof text === "string" ? savedReading.parse(JSON.parse(text)) : undefined;
}
