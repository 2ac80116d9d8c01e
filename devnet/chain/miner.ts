import type { Hex } from "viem";
import { buildBlock, type PlannedTransaction } from "./block-builder.ts";
import type { Chain } from "./chain.ts";
import type { ServedBlock } from "./served-block.ts";

// Contents of a mined block: by default the miner's own plan and the current time.
type BlockOptions = { transactions?: PlannedTransaction[]; timestamp?: number };

type MinerOptions = {
  chain: Chain;
  /** Decides what happens in a block at a time (Unix seconds) unless the caller does. */
  plan: (time: number) => PlannedTransaction[];
  /** Keeps the hashes of two miners distinct. */
  seed: number;
  clock: () => number;
};

/** Mines blocks on the head of a chain, one at a time regardless of who requests them. */
export function createMiner({ chain, plan, seed, clock }: MinerOptions) {
  const plans = new Map<Hex, PlannedTransaction[]>();
  let mined = 0;
  let ticking: NodeJS.Timeout | undefined;
  let queue: Promise<unknown> = Promise.resolve();

  function mineBlock(options: BlockOptions = {}): Promise<ServedBlock> {
    const done = queue.then(() => mineNow(options));
    queue = done.catch(() => undefined);
    return done;
  }

  async function mineNow(options: BlockOptions): Promise<ServedBlock> {
    const { chainId } = chain;
    const parent = headOf(chain);
    const timestamp = Math.max(options.timestamp ?? clock(), parent.timestamp + 1);
    mined += 1;
    const planned = options.transactions ?? plan(timestamp);
    const entropy = `${seed}-${mined}`;
    const block = await buildBlock({ parent, chainId, timestamp, transactions: planned, entropy });
    chain.append(block);
    plans.set(block.hash, planned);
    return block;
  }

  return {
    mineBlock,

    /**
     * Mines `count` blocks, `seconds` apart and the last of them now, as if the chain had been live so far; something happens in
     * the last `busy` of them, by default in all.
     */
    async mineUpToNow({ count, seconds, busy = count }: { count: number; seconds: number; busy?: number }) {
      const now = clock();
      for (let left = count - 1; left >= 0; left--) {
        await mineBlock({ timestamp: now - left * seconds, ...(left < busy ? {} : { transactions: [] }) });
      }
    },

    /** Drops the newest `depth` blocks and mines one more than that, so that the new branch is longer. */
    async reorganise({ depth, transactions }: Reorganisation) {
      await queue;
      const fork = chain.head() - depth;
      const dropped = chain.range(fork + 1, chain.head()).map(({ hash }) => plans.get(hash) ?? []);
      chain.setHead(fork);
      for (let position = 0; position <= depth; position++) {
        const again = position === 0 ? [] : (dropped[position - 1] ?? []);
        await mineBlock({ transactions: transactions?.(position) ?? again });
      }
    },

    /** Mines a block every `seconds` until `stop`. */
    startMining(seconds: number) {
      clearInterval(ticking);
      ticking = setInterval(() => void mineBlock(), seconds * 1000);
    },

    /** Mines no more blocks on its own; settles when the last one is on the chain. */
    async stopMining() {
      clearInterval(ticking);
      await queue;
    },
  };
}

function headOf(chain: Chain): ServedBlock {
  const head = chain.block(chain.head());
  if (head === undefined) throw new Error(`The head ${chain.head()} is not served.`);
  return head;
}

type Reorganisation = {
  depth: number;
  /** Contents of the new blocks: by default those of the dropped ones, one block later. */
  transactions?: ((position: number) => PlannedTransaction[]) | undefined;
};
