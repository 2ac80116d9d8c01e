import { setTimeout as wait } from "node:timers/promises";

// Ponder's own figures for an entry of its list of URLs, which it applies to the archive in front of it.
const [mostRate, leastRate] = [500, 3];
const [faster, slower, successes] = [1.05, 0.95, 5];

/** Sends requests to a node at no more than a rate. */
export type Pace = {
  /** Milliseconds until the next request would be sent. */
  delay: () => number;
  run: <Result>(request: () => Promise<Result>) => Promise<Result>;
};

/** A pace of `perSecond` requests at first, more while they succeed, less when the node refuses some (429). */
export function createPace({ now, perSecond = 20 }: { now: () => number; perSecond?: number }): Pace {
  let rate = perSecond;
  let succeeded = 0;
  let next = 0;
  const delay = () => Math.max(0, next - now());
  const run = async <Result>(request: () => Promise<Result>): Promise<Result> => {
    const pause = delay();
    next = now() + pause + 1_000 / rate;
    if (pause > 0) await wait(pause);
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
  return { delay, run };
}

/** Sends a request at the first of several paces that is free, each in turn while several are. */
export function createPaces<Sender>(senders: readonly Sender[], options: Parameters<typeof createPace>[0]) {
  const all = senders.map((sender) => ({ sender, pace: createPace(options) }));
  let turn = 0;
  return <Result>(request: (sender: Sender) => Promise<Result>): Promise<Result> => {
    turn += 1;
    const order = all.map((_, i) => all[(i + turn) % all.length]).flatMap((one) => one ?? []);
    const [first, ...others] = order;
    if (first === undefined) throw new Error("There is no RPC URL.");
    const chosen = others.reduce((best, one) => (one.pace.delay() < best.pace.delay() ? one : best), first);
    return chosen.pace.run(() => request(chosen.sender));
  };
}

const isRefusedForRate = (error: unknown) => {
  const { code, status } = (error ?? {}) as { code?: unknown; status?: unknown };
  return code === 429 || status === 429;
};
