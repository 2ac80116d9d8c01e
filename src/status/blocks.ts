import { setTimeout as pause } from "node:timers/promises";
import { LRUCache } from "lru-cache";
import type { Log } from "../log/json-log.ts";
import type { BlockRef, ChainBlock, Head } from "../ponder/checkpoints.ts";
import type { FindBlock } from "./snapshot.ts";

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
