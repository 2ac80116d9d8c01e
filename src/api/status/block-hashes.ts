import { setTimeout as pause } from "node:timers/promises";
import { LRUCache } from "lru-cache";
import type { Head } from "../../ponder/checkpoints.ts";

/** Hashes of a block, which are not indexed. */
export type BlockHashes = { hash: string; parentHash: string };

/** A block as a node reports it. Timestamp in Unix seconds. */
export type RpcBlock = BlockHashes & { timestamp: number };

const patienceMs = 2_000;

/** Looks up hashes of indexed blocks, and caches them for 15 seconds: a reorg may replace a block by one of the same height and time. */
export function createBlockHashes(
  blockOf: (chainId: number, number: number) => Promise<RpcBlock | undefined>,
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
      const late = pause(patienceMs, undefined, { ref: false });
      const block = await Promise.race([blockOf(chainId, head.number), late]).catch(() => undefined);
      if (block === undefined || block.timestamp !== head.timestamp) return undefined;
      return { hash: block.hash, parentHash: block.parentHash };
    },
  });
  const keyOf = (chainId: number, { number, timestamp }: Head) => `${chainId}/${number}/${timestamp}`;
  /** Undefined if the RPC request fails, takes over two seconds, or returns another block (a reorg that is not indexed yet). */
  const ask = (chainId: number, head: Head) =>
    known.fetch(keyOf(chainId, head), { context: { chainId, head }, allowStale: false });
  return {
    ask,
    /** The hashes if they are known, else undefined. Fetches them for the next time. */
    peek(chainId: number, head: Head): BlockHashes | undefined {
      void ask(chainId, head);
      return known.get(keyOf(chainId, head));
    },
  };
}
