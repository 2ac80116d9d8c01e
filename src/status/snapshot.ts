import {
  type BlockRef,
  type CheckpointRow,
  type Head,
  indexedBlock,
  parseCheckpoint,
} from "../ponder/checkpoints.ts";
import type { SyncMetrics } from "../ponder/process.ts";
import { shared } from "../ponder/shared.ts";
import { type ChainSnapshot, findIndexedBlock, type Snapshot } from "./types.ts";
// From facts of chains to a snapshot, without reading anything.

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

// Progress in the common time order of all chains' events (Unix seconds): all before one second, and some event or all
// through another.
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
export function higherBlock(a: BlockRef, b: BlockRef = a): BlockRef {
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
 * The snapshot of all chains, dated `now` or by a newer block; undefined if the facts fit no status (some completed,
 * the rest queued). All times are Unix seconds.
 */
export function buildSnapshot(
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
  const omnichainStatus = deriveOmnichainStatus(snapshots);
  if (omnichainStatus === undefined) return undefined;

  const chains = Object.fromEntries(
    snapshots.map((snapshot, index) => [String(facts[index]?.chainId), snapshot]),
  );
  const cursor = omnichainCursor(snapshots);
  return {
    strategy: "omnichain",
    slowestChainIndexingCursor: cursor,
    snapshotTime: Math.max(now, ...snapshots.flatMap(listTimes)),
    omnichainSnapshot: { omnichainStatus, chains, omnichainIndexingCursor: cursor },
  };
}

const listTimes = ({ config, ...blocks }: ChainSnapshot): number[] =>
  [...Object.values(config), ...Object.values(blocks)].flatMap((one) =>
    typeof one === "string" ? [] : one.timestamp,
  );

function deriveOmnichainStatus(chains: readonly ChainSnapshot[]) {
  const states = chains.map(({ chainStatus }) => chainStatus);
  if (states.includes("chain-following")) return "omnichain-following";
  if (states.includes("chain-backfill")) return "omnichain-backfill";
  if (states.every((state) => state === "chain-queued")) return "omnichain-unstarted";
  return states.every((state) => state === "chain-completed") ? "omnichain-completed" : undefined;
}

/**
 * Time up to which every chain is processed. Events of all chains are processed in one order of time, so the newest
 * indexed block of any chain counts for all. Before the first, it is one second before the earliest start.
 */
export function omnichainCursor(chains: readonly ChainSnapshot[]): number {
  const indexed = chains.flatMap((chain) => findIndexedBlock(chain)?.timestamp ?? []);
  if (indexed.length > 0) return Math.max(...indexed);
  return Math.min(...chains.map((chain) => chain.config.startBlock.timestamp)) - 1;
}

/**
 * Projects a snapshot to `now`, or to its own time if that is later. The distance assumes no progress since the
 * snapshot, and a new block on every chain at `projectedAt`. Times and distance are in (Unix) seconds.
 */
export function project(
  { snapshotTime, slowestChainIndexingCursor }: Omit<Snapshot, "omnichainSnapshot" | "strategy">,
  now: number,
) {
  const projectedAt = Math.max(now, snapshotTime);
  return { projectedAt, worstCaseDistance: projectedAt - slowestChainIndexingCursor };
}

/**
 * The time (Unix seconds) up to which every chain is indexed, and the chain that has come least far, if one pauses: its
 * last indexed block is more than `pauseSeconds` before the cursor. The others have no events up to the cursor that are
 * not indexed.
 */
export function findSlowest(
  { omnichainSnapshot: { chains, omnichainIndexingCursor } }: Snapshot,
  pauseSeconds = shared().chainPauseMs / 1_000,
): { time: number; chainId?: string } {
  const slowest: { time: number; chainId?: string } = { time: omnichainIndexingCursor };
  for (const [chainId, chain] of Object.entries(chains)) {
    const { timestamp: time } = findIndexedBlock(chain) ?? { timestamp: omnichainIndexingCursor };
    const isPaused = chain.chainStatus === "chain-following" && omnichainIndexingCursor - time > pauseSeconds;
    if (isPaused && time < slowest.time) Object.assign(slowest, { time, chainId });
  }
  return slowest;
}

/** Seconds from the last indexed block of each followed chain until `now` (Unix seconds), by chain id. */
export const computeDistances = ({ omnichainSnapshot: { chains } }: Snapshot, now: number) =>
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
 * The range of each chain: from the lowest start of its contracts to the highest end, if all of them have one.
 * Contracts have a range by chain name. Chains without contracts are left out.
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

/**
 * The second (Unix time) before which the backfill has processed all chains, also those without events; 0 until it is
 * over.
 */
export function backfilledBefore(facts: readonly ChainFacts[], metrics: readonly SyncMetrics[]): number {
  if (facts.every(({ sync }) => sync === "backfill")) return 0;
  // ponder: every chain has the same figure, from the earliest start of all to the end of the backfill.
  const seconds = Math.max(...metrics.map(({ historicalTotalSeconds }) => historicalTotalSeconds ?? 0));
  const time = Math.min(...facts.map(({ startBlock }) => startBlock.timestamp)) + seconds;
  // That end is the last end of all chains, whose second is over then, or the earliest finalized block, whose second
  // may have more events.
  const ends = facts.map(({ sync, endBlock }) => (sync === "complete" && endBlock?.timestamp) || Infinity);
  return time === Math.max(...ends) ? time + 1 : time;
}
