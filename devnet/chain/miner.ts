import type { Hex } from "viem";
import { type Block, buildBlock, type PlannedTransaction } from "./block.ts";
import type { Chain } from "./chain.ts";

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

/** Mines blocks on the head of a chain. */
export function createMiner({ chain, plan, seed, clock }: MinerOptions) {
  const plans = new Map<Hex, PlannedTransaction[]>();
  const nonces = new Map<Hex, number>();
  let mined = 0;
  let ticking: NodeJS.Timeout | undefined;

  function numbered(transaction: PlannedTransaction): PlannedTransaction {
    if (transaction.nonce !== undefined) return transaction;
    const nonce = nonces.get(transaction.from) ?? 0;
    nonces.set(transaction.from, nonce + 1);
    return { ...transaction, nonce };
  }

  function mineBlock({ timestamp: wanted = clock(), transactions }: BlockOptions = {}): Block {
    const parent = chain.block(chain.head());
    if (parent === undefined) throw new Error(`The head ${chain.head()} is not served.`);
    const timestamp = Math.max(wanted, parent.timestamp + 1);
    mined += 1;
    const planned = (transactions ?? plan(timestamp)).map(numbered);
    const { chainId } = chain;
    const entropy = `${seed}-${mined}`;
    const block = buildBlock({ parent, chainId, timestamp, transactions: planned, entropy });
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
    mineUpToNow({ count, seconds, busy = count }: { count: number; seconds: number; busy?: number }) {
      const now = clock();
      for (let left = count - 1; left >= 0; left--) {
        mineBlock({ timestamp: now - left * seconds, ...(left < busy ? {} : { transactions: [] }) });
      }
    },

    /** Drops the newest `depth` blocks and mines one more than that, so that the new branch is longer. */
    reorganise({ depth, transactions }: Reorganisation) {
      const fork = chain.head() - depth;
      const dropped = chain.range(fork + 1, chain.head()).map(({ hash }) => plans.get(hash) ?? []);
      chain.setHead(fork);
      for (let position = 0; position <= depth; position++) {
        const again = position === 0 ? [] : (dropped[position - 1] ?? []);
        mineBlock({ transactions: transactions?.(position) ?? again });
      }
    },

    /** Mines a block every `seconds` until `stopMining`. */
    startMining(seconds: number) {
      clearInterval(ticking);
      ticking = setInterval(mineBlock, seconds * 1000);
    },

    stopMining: () => clearInterval(ticking),
  };
}

type Reorganisation = {
  depth: number;
  /** Contents of the new blocks: by default those of the dropped ones, one block later. */
  transactions?: ((position: number) => PlannedTransaction[]) | undefined;
};
