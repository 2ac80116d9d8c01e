import { LRUCache } from "lru-cache";
import { currentClient } from "../http/turn.ts";
import type { ChainBlock } from "../ponder/checkpoints.ts";
import { createLane } from "./sql/client.ts";

type By = { number: number } | { hash: string };

/** Reads a block from a node. Resolves with undefined if the node does not know it; rejects if there is no response. */
export type ReadBlock = (chainId: number, by: By) => Promise<ChainBlock | undefined>;

/** Blocks of the chains, by number, hash or time. */
export type ChainBlocks = ReturnType<typeof createChainBlocks>;

// A cache rejects for an undefined value that it has no room for any more. One instance: a new error would compute its stack each time.
const noBlock = new Error("no such block");

// Indexing asks the same nodes, so that clients must not keep them busy.
const places = { concurrency: 8, spare: 2, queue: 200, queuePerClient: 40 };

/**
 * Creates a reader of blocks of the branch that an index is of: `branch` has those that a reorganization may replace, nodes have what is
 * final, kept for 15 s. Throws BusyError if too many are asked for.
 */
export function createChainBlocks(readBlock: ReadBlock) {
  const lane = createLane(places);
  const known = new LRUCache<string, ChainBlock, { chainId: number; by: By }>({
    max: 2_000,
    ttl: 15_000,
    ignoreFetchAbort: true,
    fetchMethod: async (_key, _stale, { context: { chainId, by } }) => {
      const leave = await lane.turn(currentClient(), AbortSignal.timeout(30_000));
      const block = await readBlock(chainId, by).finally(leave);
      if (block === undefined) throw noBlock;
      return block;
    },
  });
  const ask = (chainId: number, by: By): Promise<ChainBlock | undefined> =>
    known.forceFetch(`${chainId} ${JSON.stringify(by)}`, { context: { chainId, by } }).catch((error) => {
      if (error !== noBlock) throw error;
      return undefined;
    });
  return {
    /**
     * A block; undefined if it is not of the branch, or no node knows it. One after the branch is as a node has it. Rejects if no node
     * responds.
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
    /** The last block up to a time (Unix seconds), of those up to `head`; undefined if there is none. Rejects likewise. */
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
