/** What a response holds for, unless it is about a moment in the past. */
export type Freshness = {
  /** Time of the newest indexed block, in Unix seconds. */
  newest: number;
  /** Ids of the indexed chains. */
  chainIds: readonly (number | string)[];
};

// Ethereum and its test networks have a block in each slot of 12 seconds, rollups one in two seconds or more often.
const slotSeconds = 12;
const rollupSeconds = 2;
const withSlots = new Set(["1", "17000", "11155111"]);

/**
 * `Cache-Control` of a response that the next block may change (RFC 9111): shared caches have it until that block is
 * due. Browsers ask each time, by its ETag, since pages read again what a stream of events says has changed. `now`:
 * milliseconds.
 */
export function untilNextBlock({ newest, chainIds }: Freshness, now: number): string {
  const between = chainIds.every((id) => withSlots.has(String(id))) ? slotSeconds : rollupSeconds;
  const left = Math.min(between, Math.max(1, Math.ceil(newest + between - now / 1_000)));
  return `public, max-age=0, s-maxage=${left}`;
}

// ponder: takes blocks for final after a quarter of an hour at most. Only healed labels change what was.
const settledAfter = 3_600;

/**
 * `Cache-Control` of a response about a moment in the past (Unix seconds); undefined while a reorganization may still
 * change it.
 */
export const ofPast = (time: number, now: number): string | undefined =>
  now / 1_000 - time > settledAfter ? "public, max-age=3600" : undefined;
