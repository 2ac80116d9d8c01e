/** Random numbers that a seed determines, the same on every platform (xorshift with 32 bits, Marsaglia 2003). */
export type Random = ReturnType<typeof createRandom>;

/** A generator of numbers, choices and identifiers; equal seeds give equal sequences. */
export function createRandom(seed: number) {
  let state = seed >>> 0 || 1;

  /** At least 0, less than 1. */
  function fraction(): number {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    state >>>= 0;
    return state / 2 ** 32;
  }

  return {
    fraction,
    /** A whole number from 0 to `limit` - 1. */
    below: (limit: number): number => Math.floor(fraction() * limit),
    /** One of the values; the list must not be empty. */
    pick: <Value>(values: readonly Value[]) => values[Math.floor(fraction() * values.length)] as Value,
    /** `bytes` random bytes as hex digits without prefix. */
    hexDigits(bytes: number): string {
      let digits = "";
      while (digits.length < bytes * 2)
        digits += Math.floor(fraction() * 2 ** 32)
          .toString(16)
          .padStart(8, "0");
      return digits.slice(0, bytes * 2);
    },
  };
}
