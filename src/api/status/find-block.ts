import type { BlockRef } from "../../ponder/checkpoints.ts";
import type { FindBlock } from "./facts.ts";

/** Asks a node for a block by number: undefined if the chain has none of that number yet. Rejects if the node cannot respond. */
export type FetchBlock = (chainId: number, number: number) => Promise<BlockRef | undefined>;

type Clock = () => number;

const missingRetryMs = 5_000;
const firstFailureRetryMs = 1_000;
const maxFailureRetryMs = 30_000;

/**
 * Caches blocks whose timestamps the status needs, and fetches a missing one in the background when it is requested.
 * Each block is fetched once; a failed fetch is tried again with growing pauses (1 to 30 s), one not mined yet each 5 s.
 */
export function createFindBlock(
  fetchBlock: FetchBlock,
  { clock = Date.now, onFailure }: { clock?: Clock; onFailure: (chainId: number, number: number) => void },
): FindBlock {
  const found = new Map<string, BlockRef>();
  const waiting = new Map<string, { retryAt: number; failures: number }>();

  const fetch = async (key: string, chainId: number, number: number, failures: number) => {
    waiting.set(key, { retryAt: Number.POSITIVE_INFINITY, failures });
    try {
      const block = await fetchBlock(chainId, number);
      if (block !== undefined) found.set(key, block);
      waiting.set(key, { retryAt: clock() + missingRetryMs, failures: 0 });
    } catch {
      onFailure(chainId, number);
      const pause = Math.min(firstFailureRetryMs * 2 ** failures, maxFailureRetryMs);
      waiting.set(key, { retryAt: clock() + pause, failures: failures + 1 });
    }
  };

  return (chainId, number) => {
    const key = `${chainId}:${number}`;
    const block = found.get(key);
    if (block !== undefined) return block;
    const wait = waiting.get(key);
    if (wait === undefined || clock() >= wait.retryAt) void fetch(key, chainId, number, wait?.failures ?? 0);
    return undefined;
  };
}
