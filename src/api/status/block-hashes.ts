import { setTimeout as pause } from "node:timers/promises";
import { LRUCache } from "lru-cache";
import type { Head } from "../../ponder/checkpoints.ts";

/** Hashes of a block, which only a node knows. */
export type BlockHashes = { hash: string; parentHash: string };

/** A block as a node reports it. Timestamp in Unix seconds. */
export type RpcBlock = BlockHashes & { timestamp: number };

const patienceMs = 2_000;

/** Looks up the hashes of indexed blocks, of each block every 15 seconds at most: it may be replaced by one of the same height and time. */
export function createBlockHashes(
  blockOf: (chainId: number, number: number) => Promise<RpcBlock | undefined>,
) {
  const known = new LRUCache<string, BlockHashes, { chainId: number; head: Head }>({
    max: 64,
    ttl: 15_000,
    allowStale: true,
    noDeleteOnStaleGet: true,
    // One that is displaced meanwhile has its hashes nevertheless.
    ignoreFetchAbort: true,
    fetchMethod: async (_key, _stale, { context: { chainId, head } }) => {
      // Without a response the hash is unknown, which responses may show as null.
      const late = pause(patienceMs, undefined, { ref: false });
      const block = await Promise.race([blockOf(chainId, head.number), late]).catch(() => undefined);
      if (block === undefined || block.timestamp !== head.timestamp) return undefined;
      return { hash: block.hash, parentHash: block.parentHash };
    },
  });
  const keyOf = (chainId: number, { number, timestamp }: Head) => `${chainId}/${number}/${timestamp}`;
  /** Undefined if the RPC fails, takes longer than two seconds, or has another block at that height (a reorganisation that is not indexed yet). */
  const ask = (chainId: number, head: Head) =>
    known.fetch(keyOf(chainId, head), { context: { chainId, head }, allowStale: false });
  return {
    ask,
    /** The hashes if they are known; else undefined, and they are fetched for the next time. */
    peek(chainId: number, head: Head): BlockHashes | undefined {
      void ask(chainId, head);
      return known.get(keyOf(chainId, head));
    },
  };
}
