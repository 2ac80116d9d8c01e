/** Generator of numbers from 0 to 1 that depend only on the seed ("mulberry32"). */
export function createRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** A seed for an unseeded run. */
export const createSeed = () => Date.now() % 1_000_000;

/** Percent of a whole that may be wrong at 95 % confidence if none of `samples` is. Exact for independent samples. */
export const computeMaxWrongShare = (samples: number) =>
  (samples === 0 ? 100 : (1 - 0.05 ** (1 / samples)) * 100).toFixed(2);
