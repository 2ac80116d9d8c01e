import type { BlockRef } from "../../ponder/checkpoints.ts";
import type { ChainSnapshot } from "../status/snapshot.ts";

/** Where a chain is: its state, first, last and target block, seconds behind `now` (Unix seconds), and percent. */
export function chainFacts(chain: ChainSnapshot | undefined, now: number) {
  const state = chain?.chainStatus.replace("chain-", "") ?? "unknown";
  const indexed = indexedBlock(chain);
  const target = chain && targetOf(chain);
  const start = chain?.config.startBlock;
  const isDone = chain?.chainStatus === "chain-completed";
  const behind = indexed && !isDone ? Math.max(0, now - indexed.timestamp) : undefined;
  // Rounded down, so that 100 % means all.
  const all = start && target ? target.number - start.number + 1 : undefined;
  const done = start && indexed ? indexed.number - start.number + 1 : 0;
  const percent = all === undefined ? 0 : Math.floor((10_000 * Math.min(all, done)) / all) / 100;
  return { state, start, indexed, target, behind, percent };
}

/** The last indexed block; undefined before the first. */
export const indexedBlock = (chain: ChainSnapshot | undefined) =>
  chain === undefined || chain.chainStatus === "chain-queued" ? undefined : chain.latestIndexedBlock;

/** The block that the chain is being indexed up to; undefined while that is not known. */
export function targetOf(chain: ChainSnapshot): BlockRef | undefined {
  if (chain.config.configType === "definite") return chain.config.endBlock;
  if (chain.chainStatus === "chain-backfill") return chain.backfillEndBlock;
  return chain.chainStatus === "chain-following" ? chain.latestKnownBlock : undefined;
}
