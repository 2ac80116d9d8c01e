import type { BlockRef } from "./block.ts";
import type { ChainSnapshot } from "./chain.ts";
import type { OmnichainSnapshot } from "./omnichain.ts";

/** Indexing status of all chains at `snapshotTime`; all times are Unix seconds. */
export type Snapshot = {
  strategy: "omnichain";
  slowestChainIndexingCursor: number;
  snapshotTime: number;
  omnichainSnapshot: OmnichainSnapshot;
};

/** Stamps the omnichain snapshot with the clock, or with the newest block it names where that is ahead of the clock. */
export function createSnapshot(omnichainSnapshot: OmnichainSnapshot, now: number): Snapshot {
  return {
    strategy: "omnichain",
    slowestChainIndexingCursor: omnichainSnapshot.omnichainIndexingCursor,
    snapshotTime: Math.max(now, highestKnownTimestamp(Object.values(omnichainSnapshot.chains))),
    omnichainSnapshot,
  };
}

/** Timestamp of the newest block that the chains' ranges, backfill targets and heads name. */
export function highestKnownTimestamp(chains: readonly ChainSnapshot[]): number {
  return Math.max(...chains.flatMap(knownBlocks).map((block) => block.timestamp));
}

/** Last indexed block of the chain, or undefined while it is queued or not indexed at all. */
export function latestIndexedBlock(snapshot: Snapshot, chainId: number): BlockRef | undefined {
  const chain = snapshot.omnichainSnapshot.chains[String(chainId)];
  if (chain === undefined || chain.chainStatus === "chain-queued") return undefined;
  return chain.latestIndexedBlock;
}

function knownBlocks(chain: ChainSnapshot): BlockRef[] {
  const blocks = [chain.config.startBlock];
  if (chain.config.configType === "definite") blocks.push(chain.config.endBlock);
  if (chain.chainStatus === "chain-backfill") blocks.push(chain.backfillEndBlock);
  if (chain.chainStatus === "chain-following") blocks.push(chain.latestKnownBlock);
  return blocks;
}
