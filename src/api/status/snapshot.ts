import { z } from "zod/v4";
import type { BlockRef } from "../../ponder/checkpoints.ts";

const seconds = z.int().meta({ description: "Unix seconds" });
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

/** Indexing status of all chains at `snapshotTime`, as its JSON text is sent and saved. */
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
    chains: z.record(z.string(), chainSchema).meta({ description: "By chain id" }),
    omnichainIndexingCursor: seconds,
  }),
});

/** Indexing status of all chains at `snapshotTime`; all times are Unix seconds. */
export type Snapshot = z.output<typeof snapshotSchema>;
/** Status of all chains together; `chains` is keyed by decimal chain ids. */
export type OmnichainSnapshot = Snapshot["omnichainSnapshot"];
/** Status of one chain, with exactly the members that its `chainStatus` has, in their order. */
export type ChainSnapshot = z.output<typeof chainSchema>;
type OmnichainStatus = OmnichainSnapshot["omnichainStatus"];

/** What is known of one chain at one moment, whatever the source. */
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
  /** What the chain's sync does: fetch history, follow the head, or nothing more because its range is complete. */
  sync: "backfill" | "live" | "complete";
};

/**
 * How far all chains are processed in the one order of time, in Unix seconds: completely before the second `before`, and
 * up to some event in the second `through`. Undefined before the first event.
 */
export type Processed = { before: number; through: number } | undefined;

/**
 * The last block of the chain that counts as indexed, or undefined while the chain is queued. A chain whose start the
 * others have passed stands at least at its start, one whose end they have passed stands at its end.
 */
function reachedBlock(facts: ChainFacts, processed: Processed): BlockRef | undefined {
  const { startBlock, endBlock, latestIndexedBlock } = facts;
  if (isComplete(facts, processed)) return endBlock;
  if (latestIndexedBlock !== undefined && latestIndexedBlock.number >= startBlock.number) {
    return endBlock === undefined ? latestIndexedBlock : lowerBlock(latestIndexedBlock, endBlock);
  }
  return processed !== undefined && processed.through >= startBlock.timestamp ? startBlock : undefined;
}

/** Snapshot of one chain, given how far all chains are processed. */
export function chainSnapshot(facts: ChainFacts, processed: Processed): ChainSnapshot {
  const { startBlock, endBlock } = facts;
  const open = { configType: "indefinite" as const, startBlock };
  const config = endBlock === undefined ? open : { configType: "definite" as const, startBlock, endBlock };
  const latestIndexedBlock = reachedBlock(facts, processed);

  if (latestIndexedBlock === undefined) return { chainStatus: "chain-queued", config };
  if (config.configType === "definite" && isComplete(facts, processed))
    return { chainStatus: "chain-completed", config, latestIndexedBlock };
  if (facts.sync !== "backfill" && endBlock === undefined) {
    const latestKnownBlock = higherBlock(latestIndexedBlock, facts.latestKnownBlock ?? latestIndexedBlock);
    return { chainStatus: "chain-following", config: open, latestIndexedBlock, latestKnownBlock };
  }
  const backfillEndBlock =
    endBlock ?? higherBlock(latestIndexedBlock, facts.backfillEndBlock ?? latestIndexedBlock);
  return { chainStatus: "chain-backfill", config, latestIndexedBlock, backfillEndBlock };
}

// By number alone: fast chains produce several blocks a second.
function higherBlock(a: BlockRef, b: BlockRef): BlockRef {
  return b.number > a.number ? b : a;
}

function lowerBlock(a: BlockRef, b: BlockRef): BlockRef {
  return b.number < a.number ? b : a;
}

// A sync that is complete has fetched everything, which is not yet processed where other chains lag behind. So the
// end must have been reached too: by the chain's own checkpoint, or by the time before which all is processed.
function isComplete({ endBlock, latestIndexedBlock, sync }: ChainFacts, processed: Processed): boolean {
  if (endBlock === undefined || sync === "backfill") return false;
  if (latestIndexedBlock !== undefined && latestIndexedBlock.number >= endBlock.number) return true;
  return processed !== undefined && endBlock.timestamp < processed.before;
}

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

/** The last indexed block of a chain; undefined before the first. */
export const indexedBlockOf = (chain: ChainSnapshot | undefined): BlockRef | undefined =>
  chain === undefined || chain.chainStatus === "chain-queued" ? undefined : chain.latestIndexedBlock;

/** Whether the backfill of all chains is over: they are followed, or complete. */
export function isBackfilled({ omnichainSnapshot: { omnichainStatus } }: Snapshot): boolean {
  return omnichainStatus === "omnichain-following" || omnichainStatus === "omnichain-completed";
}

/** The status of all chains: the first that fits of following, backfill, unstarted, completed. */
function omnichainStatusOf(chains: readonly ChainSnapshot[]): OmnichainStatus | undefined {
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
  const indexed = chains.flatMap((chain) => indexedBlockOf(chain)?.timestamp ?? []);
  if (indexed.length > 0) return Math.max(...indexed);
  return Math.min(...chains.map((chain) => chain.config.startBlock.timestamp)) - 1;
}

// A bare timestamp only marks chains started or finished: no block is invented for it, and the cursor stays at the
// newest block that is known to be indexed.
function furthest(facts: readonly ChainFacts[], processedBefore: number | undefined): Processed {
  const known =
    processedBefore === undefined ? undefined : { before: processedBefore, through: processedBefore - 1 };
  const times = facts.flatMap((chain) => reachedBlock(chain, known)?.timestamp ?? []);
  if (times.length === 0) return known;
  const newest = Math.max(...times);
  if (known === undefined) return { before: newest, through: newest };
  return { before: Math.max(newest, known.before), through: Math.max(newest, known.through) };
}

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
function highestKnownTimestamp(chains: readonly ChainSnapshot[]): number {
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
