import type { BlockRef } from "../../ponder/checkpoints.ts";
import { type ChainFacts, type ChainSnapshot, chainSnapshot, indexedBlock, type Processed } from "./chain.ts";

/** States of all chains together. */
export type OmnichainStatus =
  | "omnichain-unstarted"
  | "omnichain-backfill"
  | "omnichain-following"
  | "omnichain-completed";

/** Status of all chains together; `chains` is keyed by decimal chain ids, the cursor is a Unix time in seconds. */
export type OmnichainSnapshot = {
  omnichainStatus: OmnichainStatus;
  chains: Record<string, ChainSnapshot>;
  omnichainIndexingCursor: number;
};

/**
 * Joins the facts of all chains, or undefined if they fit no status (some chains completed, the rest queued).
 * `processedBefore` is a second (Unix time) before which the events of all chains are processed, if one is known
 * besides the chains' own blocks.
 */
export function omnichainSnapshot(
  facts: readonly ChainFacts[],
  processedBefore: number | undefined,
): OmnichainSnapshot | undefined {
  const processed = furthest(facts, processedBefore);
  const snapshots = facts.map((chain) => chainSnapshot(chain, processed));
  const omnichainStatus = omnichainStatusOf(snapshots);
  if (omnichainStatus === undefined) return undefined;

  const chains: Record<string, ChainSnapshot> = {};
  for (const [index, chain] of facts.entries()) {
    const snapshot = snapshots[index];
    if (snapshot !== undefined) chains[String(chain.chainId)] = snapshot;
  }
  return { omnichainStatus, chains, omnichainIndexingCursor: omnichainCursor(snapshots) };
}

/** The status of all chains: the first that fits of following, backfill, unstarted, completed. */
export function omnichainStatusOf(chains: readonly ChainSnapshot[]): OmnichainStatus | undefined {
  if (chains.some((chain) => chain.chainStatus === "chain-following")) return "omnichain-following";
  if (chains.some((chain) => chain.chainStatus === "chain-backfill")) return "omnichain-backfill";
  if (chains.every((chain) => chain.chainStatus === "chain-queued")) return "omnichain-unstarted";
  if (chains.every((chain) => chain.chainStatus === "chain-completed")) return "omnichain-completed";
  return undefined;
}

/**
 * Time up to which every chain is processed. Events of all chains are processed in one order of time, so the newest
 * block of any started chain is the mark of all; before the first, it is one second ahead of the earliest start.
 */
function omnichainCursor(chains: readonly ChainSnapshot[]): number {
  const indexed = chains.flatMap((chain) =>
    chain.chainStatus === "chain-queued" ? [] : [chain.latestIndexedBlock.timestamp],
  );
  if (indexed.length > 0) return Math.max(...indexed);
  return Math.min(...chains.map((chain) => chain.config.startBlock.timestamp)) - 1;
}

// A bare timestamp only marks chains started or finished: no block is invented for it, and the cursor stays at the
// newest block that is known to be indexed.
function furthest(facts: readonly ChainFacts[], processedBefore: number | undefined): Processed {
  const known =
    processedBefore === undefined ? undefined : { before: processedBefore, through: processedBefore - 1 };
  const times = facts.flatMap((chain) => indexedBlock(chain, known)?.timestamp ?? []);
  if (times.length === 0) return known;
  const newest = Math.max(...times);
  if (known === undefined) return { before: newest, through: newest };
  return { before: Math.max(newest, known.before), through: Math.max(newest, known.through) };
}

/** Indexing status of all chains at `snapshotTime`; all times are Unix seconds. */
export type Snapshot = {
  strategy: "omnichain";
  slowestChainIndexingCursor: number;
  snapshotTime: number;
  omnichainSnapshot: OmnichainSnapshot;
};

/** Dates the omnichain snapshot by the clock, or by the newest block in it where that is ahead of the clock. */
export function createSnapshot(omnichainSnapshot: OmnichainSnapshot, now: number): Snapshot {
  return {
    strategy: "omnichain",
    slowestChainIndexingCursor: omnichainSnapshot.omnichainIndexingCursor,
    snapshotTime: Math.max(now, highestKnownTimestamp(Object.values(omnichainSnapshot.chains))),
    omnichainSnapshot,
  };
}

/** Timestamp of the newest block among the chains' ranges, backfill targets and heads. */
export function highestKnownTimestamp(chains: readonly ChainSnapshot[]): number {
  return Math.max(...chains.flatMap(knownBlocks).map((block) => block.timestamp));
}

function knownBlocks(chain: ChainSnapshot): BlockRef[] {
  const blocks = [chain.config.startBlock];
  if (chain.config.configType === "definite") blocks.push(chain.config.endBlock);
  if (chain.chainStatus === "chain-backfill") blocks.push(chain.backfillEndBlock);
  if (chain.chainStatus === "chain-following") blocks.push(chain.latestKnownBlock);
  return blocks;
}

/** A snapshot seen from `projectedAt` on: no progress since it was taken and a new block on every chain just now. */
export type Projection = { projectedAt: number; worstCaseDistance: number };

/** Projects a snapshot to `now`; both times and the distance are in (Unix) seconds. */
export function project(
  snapshot: Pick<Snapshot, "snapshotTime" | "slowestChainIndexingCursor">,
  now: number,
): Projection {
  const projectedAt = Math.max(now, snapshot.snapshotTime);
  return { projectedAt, worstCaseDistance: projectedAt - snapshot.slowestChainIndexingCursor };
}
