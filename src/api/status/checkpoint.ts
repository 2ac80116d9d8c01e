import type { BlockRef } from "./block.ts";

/** A Ponder checkpoint taken apart. `isStart` marks the one that Ponder writes before the first event of a chain. */
export type Checkpoint = { block: BlockRef; chainId: number; isStart: boolean };

/**
 * Reads Ponder's 75 digits: timestamp 10, chain id 16, block number 16, transaction index 16, event type 1, event index 16.
 * Throws on any other text.
 */
export function parseCheckpoint(text: string): Checkpoint {
  if (!/^[0-9]{75}$/.test(text)) throw new Error(`A checkpoint has 75 digits, got "${text}".`);
  return {
    block: { timestamp: Number(text.slice(0, 10)), number: Number(text.slice(26, 42)) },
    chainId: Number(text.slice(10, 26)),
    // ponder: a processed event has type 5 and a processed block is filled up with nines.
    isStart: /^0+$/.test(text.slice(42)),
  };
}
