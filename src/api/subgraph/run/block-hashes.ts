import { LRUCache } from "lru-cache";
import type { BlockHashes, Head } from "../request/head.ts";

/** A block as the chain's RPC tells it. Timestamp in Unix seconds. */
export type RpcBlock = BlockHashes & { timestamp: number };

const patienceMs = 2_000;

/**
 * Looks up the hashes of indexed blocks, once per block. Undefined if the RPC fails, takes longer than two
 * seconds, or knows another block at that height (a reorganisation that is still to be indexed).
 */
export function createBlockHashes(blockOf: (number: number) => Promise<RpcBlock | undefined>) {
  // Kept for a few seconds only: the block may be replaced by one of the same height and time.
  const known = new LRUCache<string, Promise<BlockHashes | undefined>>({ max: 64, ttl: 15_000 });
  const settled = new LRUCache<string, BlockHashes>({ max: 64, ttl: 15_000 });

  function ask(head: Head): Promise<BlockHashes | undefined> {
    const key = `${head.number}/${head.timestamp}`;
    const before = known.get(key);
    if (before !== undefined) return before;
    const asked = withPatience(blockOf(head.number)).then((block) => {
      if (block?.timestamp !== head.timestamp) {
        known.delete(key);
        return undefined;
      }
      const hashes = { hash: block.hash, parentHash: block.parentHash };
      settled.set(key, hashes);
      return hashes;
    });
    known.set(key, asked);
    return asked;
  }

  return {
    ask,
    /** The hashes if they are at hand; else asks for them, so that they are next time. */
    peek(head: Head): BlockHashes | undefined {
      const hashes = settled.get(`${head.number}/${head.timestamp}`);
      if (hashes === undefined) void ask(head);
      return hashes;
    },
  };
}

async function withPatience(answer: Promise<RpcBlock | undefined>): Promise<RpcBlock | undefined> {
  let timer: number | NodeJS.Timeout | undefined;
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(resolve, patienceMs);
  });
  try {
    return await Promise.race([answer, late]);
  } catch {
    // Without an answer the hash is unknown, which `_meta` may say.
    return undefined;
  } finally {
    clearTimeout(timer);
  }
}
