import { setTimeout as wait } from "node:timers/promises";

// Ponder's own figures for an entry of its list of URLs, which it applies to the archive in front of it.
const [mostRate, leastRate] = [500, 3];
const [faster, slower, successes] = [1.05, 0.95, 5];

/**
 * Sends requests by the first of several senders that is free, by each in turn while several are: `perSecond` requests each at first, more
 * while they succeed, fewer when a node refuses some (429).
 */
export function createPaces<Sender>(
  senders: readonly Sender[],
  { now, perSecond = 20 }: { now: () => number; perSecond?: number },
) {
  const paces = senders.map((sender) => ({ sender, rate: perSecond, succeeded: 0, next: 0 }));
  return async <Result>(request: (sender: Sender) => Promise<Result>): Promise<Result> => {
    const freeAt = ({ next }: { next: number }) => Math.max(next, now());
    const pace = paces.reduce((best, one) => (freeAt(one) < freeAt(best) ? one : best));
    // The next request begins with another one.
    paces.splice(paces.indexOf(pace), 1);
    paces.push(pace);
    const pause = freeAt(pace) - now();
    pace.next = freeAt(pace) + 1_000 / pace.rate;
    if (pause > 0) await wait(pause);
    try {
      const result = await request(pace.sender);
      pace.succeeded += 1;
      if (pace.succeeded < pace.rate * successes) return result;
      pace.rate = Math.min(Math.max(mostRate, perSecond), pace.rate * faster);
      pace.succeeded = 0;
      return result;
    } catch (error) {
      const { code, status } = (error ?? {}) as { code?: unknown; status?: unknown };
      if (code === 429 || status === 429) {
        pace.rate = Math.max(leastRate, pace.rate * slower);
        pace.succeeded = 0;
      }
      throw error;
    }
  };
}
