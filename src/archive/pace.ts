import { setTimeout as wait } from "node:timers/promises";

// Ponder's own figures for an entry of its list of URLs, which it applies to the archive in front of it.
const [mostRate, leastRate] = [500, 3];
const [faster, slower, successes] = [1.05, 0.95, 5];

/**
 * Runs requests to a node at no more than a rate: `perSecond` at first, more while they succeed, less when the node refuses
 * some (429).
 */
export function createPace({ now, perSecond = 20 }: { now: () => number; perSecond?: number }) {
  let rate = perSecond;
  let succeeded = 0;
  let next = 0;
  return async <Result>(request: () => Promise<Result>): Promise<Result> => {
    const start = Math.max(now(), next);
    next = start + 1_000 / rate;
    if (start > now()) await wait(start - now());
    try {
      const result = await request();
      succeeded += 1;
      if (succeeded >= rate * successes) {
        rate = Math.min(Math.max(mostRate, perSecond), rate * faster);
        succeeded = 0;
      }
      return result;
    } catch (error) {
      if (isRefusedForRate(error)) {
        rate = Math.max(leastRate, rate * slower);
        succeeded = 0;
      }
      throw error;
    }
  };
}

const isRefusedForRate = (error: unknown) => {
  const { code, status } = (error ?? {}) as { code?: unknown; status?: unknown };
  return code === 429 || status === 429;
};
