/** A block as the indexing status shows it: `timestamp` in Unix seconds, no other member. */
export type BlockRef = { timestamp: number; number: number };

/** The higher of two blocks of one chain. By number alone: fast chains make several blocks a second. */
export function higherBlock(a: BlockRef, b: BlockRef): BlockRef {
  return b.number > a.number ? b : a;
}

/** The lower of two blocks of one chain, by number. */
export function lowerBlock(a: BlockRef, b: BlockRef): BlockRef {
  return b.number < a.number ? b : a;
}
