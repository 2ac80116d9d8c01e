import { LRUCache } from "lru-cache";
import { currentClient } from "../../http/turn.ts";
import { createLane } from "../database/client.ts";

/** A block as a node of its chain has it; `timestamp` is in Unix seconds. */
export type ChainBlock = { number: number; hash: string; parentHash: string; timestamp: number };

type By = { number: number } | { hash: string };

/** Reads a block from a node. Resolves with undefined if the node does not know it; rejects if there is no response. */
export type ReadBlock = (chainId: number, by: By) => Promise<ChainBlock | undefined>;

/** Blocks of the chains, by number, hash or time. */
export type ChainBlocks = ReturnType<typeof createChainBlocks>;

// Indexing asks the same nodes, so that clients must not keep them busy.
const places = { concurrency: 8, spare: 2, queue: 200, queuePerClient: 40 };

/** Creates a reader of blocks, which keeps them for 15 s: a reorganization may replace them. Throws BusyError if too many are asked for. */
export function createChainBlocks(readBlock: ReadBlock) {
  const lane = createLane(places);
  const known = new LRUCache<string, ChainBlock, { chainId: number; by: By }>({
    max: 2_000,
    ttl: 15_000,
    fetchMethod: async (_key, _stale, { signal, context: { chainId, by } }) => {
      const leave = await lane.turn(currentClient(), signal);
      return readBlock(chainId, by).finally(leave);
    },
  });
  const find = (chainId: number, by: By) =>
    known.fetch(`${chainId} ${JSON.stringify(by)}`, { context: { chainId, by } });
  return {
    /** A block; undefined if the node does not know it, or has another one by now at the number of this hash. Rejects likewise. */
    async find(chainId: number, by: By): Promise<ChainBlock | undefined> {
      const block = await find(chainId, by);
      if (block === undefined || "number" in by) return block;
      const canonical = await find(chainId, { number: block.number });
      return canonical?.hash === by.hash ? canonical : undefined;
    },
    /** The last block up to a time (Unix seconds), of those before `head`; undefined if there is none. Rejects likewise. */
    async lastUpTo(chainId: number, time: number, head: { number: number; timestamp: number }) {
      let [low, high]: [ChainBlock | undefined, { number: number; timestamp: number }] = [
        await find(chainId, { number: 0 }),
        head,
      ];
      if (low === undefined || low.timestamp > time) return undefined;
      for (let isGuess = true; high.number - low.number > 1; isGuess = !isGuess) {
        // Blocks come at an even pace, mostly.
        const share = isGuess ? (time - low.timestamp) / Math.max(1, high.timestamp - low.timestamp) : 0.5;
        const steps = Math.floor(share * (high.number - low.number));
        const number: number = Math.min(high.number - 1, Math.max(low.number + 1, low.number + steps));
        const block = await find(chainId, { number });
        if (block === undefined) return undefined;
        if (block.timestamp <= time) low = block;
        else high = block;
      }
      return low;
    },
  };
}
