import type { Hex } from "viem";
import type { ServedBlock, ServedTransaction } from "./served-block.ts";
import { createStandIns } from "./stand-ins.ts";

/** A chain in memory whose head can move: forwards, backwards, and onto another branch. */
export type Chain = ReturnType<typeof createChain>;

type ChainOptions = {
  chainId: number;
  /** Ascending, at least one. */
  blocks: readonly ServedBlock[];
  /** Blocks from `safe` and `finalized` to the head. */
  finality?: number | undefined;
  /** Serves every missing block as an empty one, and that many after the last. */
  standIns?: number | undefined;
};

/** A chain that starts with the given blocks. */
export function createChain({ chainId, blocks, finality = 64, standIns }: ChainOptions) {
  const store = createBlockStore(blocks, standIns);
  const { lowest } = store;
  let tip = store.highest;
  let head = tip;

  // Blocks of a reorganised branch never count as above the head: they are still known by hash, as to any node.
  const isHidden = (block: ServedBlock) => block.number > head && store.isCanonical(block);

  return {
    chainId,
    lowest,
    head: () => head,
    tip: () => tip,

    /** The canonical block with that number; undefined above the head and in gaps of the recording. */
    block: (number: number): ServedBlock | undefined =>
      number >= lowest && number <= head ? store.withNumber(number) : undefined,

    /** Block with that hash, of the canonical chain or of a dropped branch. */
    blockWithHash(hash: string): ServedBlock | undefined {
      const known = store.withHash(hash.toLowerCase() as Hex);
      return known === undefined || isHidden(known) ? undefined : known;
    },

    /** A transaction of the canonical chain and the block that holds it. */
    transaction(hash: string): PlacedTransaction | undefined {
      const place = store.transaction(hash.toLowerCase() as Hex);
      if (place === undefined || place.block.number > head) return undefined;
      return store.isCanonical(place.block) ? place : undefined;
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
    range: (from: number, to: number): ServedBlock[] => store.range(from, Math.min(to, head)),

    /** Moves the head to a block of the chain, or as near to it as the chain reaches. */
    setHead(number: number) {
      head = Math.max(lowest, Math.min(number, tip));
    },

    /** Puts a block on the head. Blocks above the head are no longer part of the chain: that is a reorganisation. */
    append(block: ServedBlock) {
      if (block.number !== head + 1)
        throw new Error(`Block ${block.number} does not follow the head ${head}.`);
      store.replaceFrom(block);
      tip = head = block.number;
    },
  };
}

type PlacedTransaction = { block: ServedBlock; transaction: ServedTransaction };

/** Blocks by number, hash and transaction. Dropped blocks keep their hash. */
function createBlockStore(blocks: readonly ServedBlock[], standIns: number | undefined) {
  const [first, last] = [blocks[0], blocks.at(-1)];
  if (first === undefined || last === undefined) throw new Error("A chain needs at least one block.");
  const canonical = [...blocks];
  const byNumber = new Map(blocks.map((block) => [block.number, block]));
  const byHash = new Map<Hex, ServedBlock>();
  const places = new Map<Hex, PlacedTransaction>();
  for (const block of blocks) index(block);
  const empty =
    standIns === undefined ? undefined : createStandIns({ first, last, byNumber, after: standIns });

  function index(block: ServedBlock) {
    byHash.set(block.hash, block);
    for (const transaction of block.transactions) places.set(transaction.hash, { block, transaction });
  }

  const withNumber = (number: number) => byNumber.get(number) ?? empty?.withNumber(number);

  return {
    lowest: empty === undefined ? first.number : 0,
    highest: last.number + (standIns ?? 0),
    withNumber,
    withHash: (hash: Hex) => byHash.get(hash) ?? empty?.withHash(hash),
    transaction: (hash: Hex) => places.get(hash),
    isCanonical: ({ number, hash }: ServedBlock) => withNumber(number)?.hash === hash,

    /** Without stand-ins: they have no logs. */
    range(from: number, to: number): ServedBlock[] {
      const start = firstAtOrAbove(canonical, from);
      return canonical.slice(start, Math.max(start, firstAtOrAbove(canonical, to + 1)));
    },

    /** Puts the block at the end of the canonical chain, replacing all blocks from its number on. */
    replaceFrom(block: ServedBlock) {
      const dropped = canonical.splice(firstAtOrAbove(canonical, block.number));
      for (const { number } of dropped) byNumber.delete(number);
      canonical.push(block);
      byNumber.set(block.number, block);
      index(block);
    },
  };
}

function firstAtOrAbove(blocks: readonly ServedBlock[], number: number): number {
  let low = 0;
  let high = blocks.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((blocks[middle] as ServedBlock).number < number) low = middle + 1;
    else high = middle;
  }
  return low;
}
