import { type ChainFacts, type ChainSnapshot, chainSnapshot, indexedBlock, type Processed } from "./chain.ts";

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
 * beside the chains' own blocks.
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

/** The status that the chains' states make together (following, backfill, unstarted, completed, in this order). */
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
export function omnichainCursor(chains: readonly ChainSnapshot[]): number {
  const indexed = chains.flatMap((chain) =>
    chain.chainStatus === "chain-queued" ? [] : [chain.latestIndexedBlock.timestamp],
  );
  if (indexed.length > 0) return Math.max(...indexed);
  return Math.min(...chains.map((chain) => chain.config.startBlock.timestamp)) - 1;
}

// A time without a block only starts and finishes chains: no block is made up to stand for it, and the cursor stays at
// the newest block that is known to be indexed.
function furthest(facts: readonly ChainFacts[], processedBefore: number | undefined): Processed {
  const known =
    processedBefore === undefined ? undefined : { before: processedBefore, through: processedBefore - 1 };
  const times = facts.flatMap((chain) => indexedBlock(chain, known)?.timestamp ?? []);
  if (times.length === 0) return known;
  const newest = Math.max(...times);
  if (known === undefined) return { before: newest, through: newest };
  return { before: Math.max(newest, known.before), through: Math.max(newest, known.through) };
}
