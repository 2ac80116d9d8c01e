import type { Hex } from "viem";
import type { ServedBlock, ServedTransaction } from "./served-block.ts";
import { createStandIns } from "./stand-ins.ts";

/** A chain in memory whose head can move: forwards, backwards, and onto another branch. */
export type Chain = ReturnType<typeof createChain>;

/**
 * A chain that begins with `blocks` (ascending, at least one). `finality` is how many blocks `safe` and
 * `finalized` lie behind the head. With `standIns`, every block that is lacking is answered as an empty one,
 * that many of them behind the last.
 */
export function createChain({
  chainId,
  blocks,
  finality = 64,
  standIns,
}: {
  chainId: number;
  blocks: ServedBlock[];
  finality?: number | undefined;
  standIns?: number | undefined;
}) {
  const first = blocks[0];
  const last = blocks.at(-1);
  if (first === undefined || last === undefined) throw new Error("A chain needs at least one block.");
  const canonical = [...blocks];
  const byNumber = new Map(blocks.map((block) => [block.number, block]));
  const byHash = new Map(blocks.map((block) => [block.hash, block]));
  const places = new Map<Hex, { block: ServedBlock; index: number }>();
  for (const block of blocks) index(block);
  const empty =
    standIns === undefined ? undefined : createStandIns({ first, last, byNumber, after: standIns });
  const lowest = empty === undefined ? first.number : 0;
  let tip = last.number + (standIns ?? 0);
  let head = tip;

  function index(block: ServedBlock) {
    byHash.set(block.hash, block);
    block.transactions.forEach(({ hash }, position) => {
      places.set(hash, { block, index: position });
    });
  }

  function block(number: number): ServedBlock | undefined {
    if (!(number >= lowest && number <= head)) return undefined;
    return byNumber.get(number) ?? empty?.withNumber(number);
  }

  return {
    chainId,
    lowest,
    head: () => head,
    tip: () => tip,

    /** The canonical block with that number; undefined above the head and where the recording lacks it. */
    block,

    /** Block with that hash. Blocks that a reorganisation dropped are still known by their hash, as to any node. */
    blockWithHash(hash: string): ServedBlock | undefined {
      const known = byHash.get(hash.toLowerCase() as Hex) ?? empty?.withHash(hash.toLowerCase() as Hex);
      return known !== undefined && known.number > head && isCanonical(known) ? undefined : known;
    },

    /** A transaction of the canonical chain and the block that holds it. */
    transaction(hash: string): { block: ServedBlock; transaction: ServedTransaction } | undefined {
      const place = places.get(hash.toLowerCase() as Hex);
      const transaction = place?.block.transactions[place.index];
      if (place === undefined || transaction === undefined) return undefined;
      if (place.block.number > head || !isCanonical(place.block)) return undefined;
      return { block: place.block, transaction };
    },

    /** Number that a block tag stands for; undefined when it is neither a tag nor a number. */
    numberOf(tag: unknown): number | undefined {
      if (tag === undefined || tag === null || tag === "latest" || tag === "pending") return head;
      if (tag === "earliest") return lowest;
      if (tag === "finalized" || tag === "safe") return Math.max(lowest, head - finality);
      if (typeof tag !== "string" || !/^0x[0-9a-f]{1,13}$/i.test(tag)) return undefined;
      return Number(tag);
    },

    /** Recorded and mined blocks from `from` to `to`, both included, up to the head. */
    range(from: number, to: number): ServedBlock[] {
      const end = Math.min(to, head);
      const found: ServedBlock[] = [];
      for (let at = firstAtOrAbove(canonical, from); at < canonical.length; at++) {
        const block = canonical[at] as ServedBlock;
        if (block.number > end) break;
        found.push(block);
      }
      return found;
    },

    /** Moves the head to a block of the chain, or as near to it as the chain reaches. */
    setHead(number: number) {
      head = Math.max(lowest, Math.min(number, tip));
    },

    /** Puts a block on the head. Blocks above the head are no longer part of the chain: that is a reorganisation. */
    append(block: ServedBlock) {
      if (block.number !== head + 1)
        throw new Error(`Block ${block.number} does not follow the head ${head}.`);
      while ((canonical.at(-1)?.number ?? -1) > head)
        byNumber.delete((canonical.pop() as ServedBlock).number);
      canonical.push(block);
      byNumber.set(block.number, block);
      index(block);
      tip = head = block.number;
    },
  };

  function isCanonical({ number, hash }: ServedBlock): boolean {
    return (byNumber.get(number) ?? empty?.withNumber(number))?.hash === hash;
  }
}

function firstAtOrAbove(blocks: ServedBlock[], number: number): number {
  let low = 0;
  let high = blocks.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((blocks[middle] as ServedBlock).number < number) low = middle + 1;
    else high = middle;
  }
  return low;
}
