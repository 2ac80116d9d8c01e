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
export function indexedBlock(facts: ChainFacts, processed: Processed): BlockRef | undefined {
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
