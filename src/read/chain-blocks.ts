import { setTimeout as pause } from "node:timers/promises";
import { LRUCache } from "lru-cache";
import { currentClient } from "../http/turn.ts";
import type { Log } from "../log/json-log.ts";
import type { BlockRef, ChainBlock, Head } from "../ponder/checkpoints.ts";
import { createLane } from "./sql/client.ts";

type By = { number: number } | { hash: string };

/** Reads a block from a node. Resolves with undefined if the node does not know it; rejects if there is no response. */
export type ReadBlock = (chainId: number, by: By) => Promise<ChainBlock | undefined>;

/** `clock`: milliseconds. */
type BlockOptions = { log: Log; clock?: () => number };

/** Hashes of a block. */
export type BlockHashes = Pick<ChainBlock, "hash" | "parentHash">;

/** Blocks of the chains, by number, hash or time. */
export type ChainBlocks = ReturnType<typeof createChainBlocks>;

// Indexing asks the same nodes, so that clients must not keep them busy.
const places = { concurrency: 8, spare: 2, queue: 200, queuePerClient: 40 };
const [freshMs, askAgainMs, hashMs] = [15_000, 5_000, 2_000];

// Blocks by number or hash, as the nodes have them.
function createBlockCache(readBlock: ReadBlock, { log, clock = Date.now }: BlockOptions) {
  const lane = createLane(places);
  const known = new LRUCache<string, { block?: ChainBlock | undefined }, { chainId: number; by: By }>({
    max: 2_000,
    perf: { now: clock },
    ttlResolution: 0,
    ttl: freshMs,
    allowStale: true,
    noDeleteOnStaleGet: true,
    ignoreFetchAbort: true,
    fetchMethod: async (_key, _stale, { options, context: { chainId, by } }) => {
      const leave = await lane.turn(currentClient(), AbortSignal.timeout(30_000));
      const block = await readBlock(chainId, by).finally(leave);
      if (block === undefined) options.ttl = askAgainMs;
      return { block };
    },
  });
  const keyOf = (chainId: number, by: By) => `${chainId} ${JSON.stringify(by)}`;
  // Asks anew for a block that no node knew, or that has another time than the given one.
  const ask = async (chainId: number, by: By, time?: number): Promise<ChainBlock | undefined> => {
    const key = keyOf(chainId, by);
    const forceRefresh = !isOfTime(known.peek(key)?.block, time);
    const found = await known.fetch(key, { context: { chainId, by }, allowStale: false, forceRefresh });
    return found?.block;
  };
  const peeked = new Set<string>();
  const peek = (chainId: number, number: number, time?: number): ChainBlock | undefined => {
    const key = keyOf(chainId, { number });
    const block = known.get(key)?.block;
    if (isOfTime(block, time)) return block;
    if (known.getRemainingTTL(key) > 0 || peeked.has(key)) return undefined;
    peeked.add(key);
    // Without the reason: an RPC client's error may contain its URL, and with it a key.
    void ask(chainId, { number }, time)
      .catch(() => {
        log("warn", `Could not fetch block ${number} of chain ${chainId}; retrying.`);
        known.set(key, {}, { ttl: askAgainMs });
      })
      .finally(() => peeked.delete(key));
    return undefined;
  };
  return { ask, peek };
}

/**
 * Creates a reader of blocks of the branch that an index is of: `branch` has those that a reorganization may replace,
 * nodes have what is final, kept for 15 s. Throws BusyError if too many are asked for.
 */
export function createChainBlocks(readBlock: ReadBlock, options: BlockOptions) {
  const { ask, peek } = createBlockCache(readBlock, options);
  return {
    /** The time of a final block if it is known; else it is asked for in the background, once in five seconds. */
    peekTime(chainId: number, number: number): BlockRef | undefined {
      const block = peek(chainId, number);
      return block && { timestamp: block.timestamp, number };
    },
    /** The hashes of a final block, likewise. */
    peekHashes: (chainId: number, { number, timestamp }: Head): BlockHashes | undefined =>
      timestamp === undefined ? undefined : peek(chainId, number, timestamp),
    /**
     * The hashes of a final block; undefined if no node has them within two seconds, or a node has another block of
     * that number.
     */
    async findHashes(chainId: number, { number, timestamp }: Head): Promise<BlockHashes | undefined> {
      const late = pause(hashMs, undefined, { ref: false });
      const block = await Promise.race([ask(chainId, { number }, timestamp), late]).catch(() => undefined);
      return block?.timestamp === timestamp ? block : undefined;
    },
    /**
     * A block; undefined if it is not of the branch, or no node knows it. One after the branch is as a node has it.
     * Rejects if no node responds.
     */
    async find(chainId: number, by: By, branch: readonly ChainBlock[]): Promise<ChainBlock | undefined> {
      const own = branch.find((one) => ("number" in by ? one.number === by.number : one.hash === by.hash));
      const [first, last] = [branch[0]?.number ?? Infinity, branch.at(-1)?.number ?? Infinity];
      if (own !== undefined || ("number" in by && by.number >= first)) return own;
      const block = await ask(chainId, by);
      if (block === undefined || "number" in by || block.number > last) return block;
      if (block.number >= first) return undefined;
      const canonical = await ask(chainId, { number: block.number });
      return canonical?.hash === by.hash ? canonical : undefined;
    },
    /**
     * The last block up to a time (Unix seconds), of those up to `head`; undefined if there is none. Rejects likewise.
     */
    async lastUpTo(
      chainId: number,
      time: number,
      head: { number: number; timestamp: number },
      branch: readonly ChainBlock[],
    ): Promise<ChainBlock | undefined> {
      const own = branch.filter(({ number }) => number <= head.number);
      const found = own.findLast(({ timestamp }) => timestamp <= time);
      if (found !== undefined) return found;
      let [low, high] = [await ask(chainId, { number: 0 }), own[0] ?? head];
      if (low === undefined || low.timestamp > time) return undefined;
      for (let isGuess = true; high.number - low.number > 1; isGuess = !isGuess) {
        // Blocks come at an even pace, mostly.
        const share = isGuess ? (time - low.timestamp) / Math.max(1, high.timestamp - low.timestamp) : 0.5;
        const steps = Math.floor(share * (high.number - low.number));
        const number: number = Math.min(high.number - 1, Math.max(low.number + 1, low.number + steps));
        const block = await ask(chainId, { number });
        if (block === undefined) return undefined;
        if (block.timestamp <= time) low = block;
        else high = block;
      }
      return low;
    },
  };
}

const isOfTime = (block: ChainBlock | undefined, time: number | undefined) =>
  block !== undefined && (time === undefined || block.timestamp === time);
