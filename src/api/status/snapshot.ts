import type { BlockRef } from "../../ponder/checkpoints.ts";

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

/** The range of blocks that is indexed of a chain. */
type ChainRange =
  | { configType: "indefinite"; startBlock: BlockRef }
  | { configType: "definite"; startBlock: BlockRef; endBlock: BlockRef };

/** Status of one chain, with exactly the members that its `chainStatus` has in JSON and in their order. */
export type ChainSnapshot =
  | { chainStatus: "chain-queued"; config: ChainRange }
  | {
      chainStatus: "chain-backfill";
      config: ChainRange;
      latestIndexedBlock: BlockRef;
      backfillEndBlock: BlockRef;
    }
  | {
      chainStatus: "chain-following";
      config: ChainRange;
      latestIndexedBlock: BlockRef;
      latestKnownBlock: BlockRef;
    }
  | { chainStatus: "chain-completed"; config: ChainRange; latestIndexedBlock: BlockRef };

/**
 * How far all chains are processed in the one order of time, in Unix seconds: completely before the second `before`, and
 * up to some event in the second `through`. Undefined before the first event.
 */
export type Processed = { before: number; through: number } | undefined;

/**
 * The last block of the chain that counts as indexed, or undefined while the chain is queued. A chain whose start the
 * others have passed stands at least at its start, one whose end they have passed stands at its end.
 */
function indexedBlock(facts: ChainFacts, processed: Processed): BlockRef | undefined {
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
  const config: ChainRange =
    endBlock === undefined
      ? { configType: "indefinite", startBlock }
      : { configType: "definite", startBlock, endBlock };
  const latestIndexedBlock = indexedBlock(facts, processed);

  if (latestIndexedBlock === undefined) return { chainStatus: "chain-queued", config };
  if (isComplete(facts, processed)) return { chainStatus: "chain-completed", config, latestIndexedBlock };
  if (facts.sync !== "backfill" && endBlock === undefined) {
    const latestKnownBlock = higherBlock(latestIndexedBlock, facts.latestKnownBlock ?? latestIndexedBlock);
    return { chainStatus: "chain-following", config, latestIndexedBlock, latestKnownBlock };
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

/**
 * What is wrong with a snapshot, one sentence for each broken rule; empty if it is valid. Blocks are compared by number
 * alone, since fast chains produce several blocks in one second.
 */
export function brokenInvariants(snapshot: Snapshot): string[] {
  const { omnichainSnapshot, slowestChainIndexingCursor, snapshotTime } = snapshot;
  const chains = Object.values(omnichainSnapshot.chains);
  if (chains.length === 0) return ["no chain is indexed"];

  const faults = Object.entries(omnichainSnapshot.chains).flatMap(([chainId, chain]) =>
    chainFaults(chain).map((fault) => `chain ${chainId}: ${fault}`),
  );
  faults.push(...omnichainFaults(omnichainSnapshot));
  if (slowestChainIndexingCursor !== omnichainSnapshot.omnichainIndexingCursor) {
    faults.push("slowestChainIndexingCursor differs from omnichainIndexingCursor");
  }
  if (snapshotTime < highestKnownTimestamp(chains)) faults.push("snapshotTime is before a known block");
  return faults;
}

function chainFaults(chain: ChainSnapshot): string[] {
  const { config } = chain;
  const start = config.startBlock.number;
  const end = config.configType === "definite" ? config.endBlock.number : undefined;
  const faults: string[] = [];
  const require = (holds: boolean, fault: string) => {
    if (!holds) faults.push(fault);
  };

  require(end === undefined || start <= end, "the end block is below the start block");
  if (chain.chainStatus === "chain-queued") return faults;

  const latest = chain.latestIndexedBlock.number;
  require(start <= latest, "latestIndexedBlock is below the start block");
  switch (chain.chainStatus) {
    case "chain-backfill":
      require(latest <= chain.backfillEndBlock.number, "latestIndexedBlock is above backfillEndBlock");
      require(end === undefined ||
        chain.backfillEndBlock.number === end, "backfillEndBlock differs from endBlock");
      break;
    case "chain-following":
      require(end === undefined, "a chain with an end block is following");
      require(latest <= chain.latestKnownBlock.number, "latestIndexedBlock is above latestKnownBlock");
      break;
    case "chain-completed":
      require(end !== undefined, "a chain without an end block is completed");
      require(end === undefined || latest <= end, "latestIndexedBlock is above the end block");
  }
  return faults;
}

function omnichainFaults({ omnichainStatus, omnichainIndexingCursor, chains }: OmnichainSnapshot): string[] {
  const all = Object.values(chains);
  const indexed = all.flatMap((chain) =>
    chain.chainStatus === "chain-queued" ? [] : [chain.latestIndexedBlock.timestamp],
  );
  const queued = all.filter((chain) => chain.chainStatus === "chain-queued");
  const targets = all.flatMap((chain) =>
    chain.chainStatus === "chain-backfill" ? [chain.backfillEndBlock.timestamp] : [],
  );
  const faults: string[] = [];

  if (queued.some((chain) => omnichainIndexingCursor >= chain.config.startBlock.timestamp)) {
    faults.push("the cursor has passed the start of a queued chain");
  }
  if (targets.length > 0 && omnichainIndexingCursor > Math.max(...targets)) {
    faults.push("the cursor is past every backfillEndBlock");
  }
  if (indexed.length > 0 && omnichainIndexingCursor !== Math.max(...indexed)) {
    faults.push("the cursor is not the newest indexed block");
  }
  if (omnichainStatus !== omnichainStatusOf(all)) {
    faults.push(`${omnichainStatus} does not fit the chains`);
  }
  return faults;
}
