import { type Hex, zeroHash } from "viem";
import type { Answer } from "../recording.ts";
import { type Block, buildBlock } from "./block.ts";

/** A chain in memory whose head can move: forwards, backwards, and onto another branch. */
export type Chain = ReturnType<typeof createChain>;

type ChainOptions = {
  chainId: number;
  /** Ascending, at least one. */
  blocks: readonly Block[];
  /** Blocks from `safe` and `finalized` to the head. */
  finality?: number | undefined;
  /** Serves every missing block as an empty one, and that many after the last. */
  standIns?: number | undefined;
};

/** A transaction, its receipt and its block. */
type PlacedTransaction = { block: Block; transaction: Answer; receipt: Answer | undefined };

/** A chain that starts with the given blocks. */
export function createChain({ chainId, blocks, finality = 64, standIns }: ChainOptions) {
  const store = createBlockStore(chainId, blocks, standIns);
  const { lowest, withNumber } = store;
  let tip = store.highest;
  let head = tip;
  const isCanonical = ({ number, hash }: Block) => withNumber(number)?.hash === hash;

  return {
    chainId,
    lowest,
    head: () => head,
    tip: () => tip,

    /** The canonical block with that number; undefined above the head and in gaps of the recording. */
    block: (number: number): Block | undefined =>
      number >= lowest && number <= head ? withNumber(number) : undefined,

    /** Block with that hash, of the canonical chain or of a dropped branch. */
    blockWithHash(hash: string): Block | undefined {
      const known = store.withHash(hash.toLowerCase() as Hex);
      const isAboveHead = known !== undefined && known.number > head && isCanonical(known);
      return isAboveHead ? undefined : known;
    },

    /** A transaction of the canonical chain. */
    transaction(hash: string): PlacedTransaction | undefined {
      const found = store.transaction(hash.toLowerCase());
      const isThere = found !== undefined && found.block.number <= head && isCanonical(found.block);
      return isThere ? found : undefined;
    },

    /** Number that a block tag stands for; undefined if it is neither a tag nor a number. */
    numberOf(tag: unknown): number | undefined {
      if (tag === undefined || tag === null || tag === "latest" || tag === "pending") return head;
      if (tag === "earliest") return lowest;
      if (tag === "finalized" || tag === "safe") return Math.max(lowest, head - finality);
      if (typeof tag !== "string" || !/^0x[0-9a-f]{1,13}$/i.test(tag)) return undefined;
      return Number(tag);
    },

    /** Recorded and mined blocks from `from` to `to`, both included, up to the head. */
    range: (from: number, to: number): Block[] => store.range(from, Math.min(to, head)),

    /** Moves the head to a block of the chain, or as near to it as the chain reaches. */
    setHead(number: number) {
      head = Math.max(lowest, Math.min(number, tip));
    },

    /** Puts a block on the head. Blocks above the head are no longer part of the chain: that is a reorganisation. */
    append(block: Block) {
      if (block.number !== head + 1)
        throw new Error(`Block ${block.number} does not follow the head ${head}.`);
      store.replace(block, tip);
      tip = head = block.number;
    },
  };
}

/** Blocks by number, hash and transaction. Dropped blocks keep their hash. */
function createBlockStore(chainId: number, blocks: readonly Block[], standIns: number | undefined) {
  const [first, last] = [blocks[0], blocks.at(-1)];
  if (first === undefined || last === undefined) throw new Error("A chain needs at least one block.");
  const highest = last.number + (standIns ?? 0);
  const canonical = new Map<number, Block>();
  const byHash = new Map<Hex, Block>();
  const placed = new Map<unknown, PlacedTransaction>();
  const empty = new Map<number, Block>();
  for (const block of blocks) add(block);

  function add(block: Block) {
    canonical.set(block.number, block);
    byHash.set(block.hash, block);
    for (const [index, transaction] of block.transactions.entries())
      placed.set(transaction["hash"], { block, transaction, receipt: block.receipts[index] });
  }

  /**
   * An empty block for a number that a recording lacks: an indexer requests the finalized block and the start blocks of
   * contracts. Its header hashes to its hash and names its parent, recorded or not; only a recorded block that follows
   * one names another.
   */
  function standIn(number: number): Block | undefined {
    if (standIns === undefined || !(number >= 0 && number <= highest)) return undefined;
    const [from, to] = [first as Block, last as Block];
    const known = empty.get(number);
    if (known !== undefined) return known;
    // Those after the recording are linked from its last block on.
    const parent = canonical.get(number - 1) ?? (number > to.number ? standIn(number - 1) : undefined);
    const near = number < from.number ? from : to;
    const block = buildBlock({
      parent: { number: number - 1, hash: parent?.hash ?? zeroHash },
      timestamp: Math.max(0, near.timestamp + secondsPerBlock * (number - near.number)),
      ...{ chainId, transactions: [], entropy: "" },
    });
    empty.set(number, block);
    byHash.set(block.hash, block);
    return block;
  }

  return {
    lowest: standIns === undefined ? first.number : 0,
    highest,
    withNumber: (number: number) => canonical.get(number) ?? standIn(number),
    withHash: (hash: Hex) => byHash.get(hash),
    transaction: (hash: string) => placed.get(hash),

    /** Without stand-ins: they have no logs. */
    range(from: number, to: number): Block[] {
      const found: Block[] = [];
      for (let number = Math.max(from, first.number); number <= to; number++) {
        const block = canonical.get(number);
        if (block !== undefined) found.push(block);
      }
      return found;
    },

    /** Puts the block in place of those from its number to `tip`. */
    replace(block: Block, tip: number) {
      for (let number = block.number; number <= tip; number++) canonical.delete(number);
      add(block);
    },
  };
}

const secondsPerBlock = 12;
