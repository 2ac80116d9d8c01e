import { setTimeout as wait } from "node:timers/promises";

// ponder: fetches blocks as fast as nodes answer, however far the rules are behind. An archive answers faster than rules go on: they
// would share the processors until all is fetched, so that the first half of a backfill took twice as long as the second.

/** How far fetching may get ahead of the rules. */
export type FetchAhead = {
  /** Fetching of a chain begins, with nothing of it unread. */
  begin(chainId: number): void;
  /** Blocks up to `to` are being stored, with so many logs since the former ones. */
  stored(chainId: number, to: number, logs: number): void;
  /** All events of blocks up to `to` have been read. */
  read(chainId: number, to: number): void;
  /** Rules begin or end with a batch of events. */
  rulesWork(isWorking: boolean): void;
  /** Resolves once the rules wait for events, or have few enough of the chain to read; or if all of it is over. */
  room(chainId: number, isOver: () => boolean): Promise<void>;
};

type Chain = { waiting: { to: number; logs: number }[]; unread: number };
type Timing = { mostLogs: number; idleMs: number; pauseMs: number; now: () => number };

// Reading the next batch takes a tenth of a second.
const usual: Timing = { mostLogs: 50_000, idleMs: 300, pauseMs: 20, now: () => performance.now() };

/** `mostLogs`: unread logs of a chain beyond which fetching waits for the rules; `idleMs`: how long these do nothing if they wait. */
export function createFetchAhead({ mostLogs, idleMs, pauseMs, now }: Timing = usual): FetchAhead {
  const chains = new Map<number, Chain>();
  let [isWorking, endedAt] = [false, Number.NEGATIVE_INFINITY];
  const of = (chainId: number): Chain => {
    const chain = chains.get(chainId) ?? { waiting: [], unread: 0 };
    chains.set(chainId, chain);
    return chain;
  };
  return {
    begin: (chainId) => void chains.delete(chainId),
    stored(chainId, to, logs) {
      const chain = of(chainId);
      chain.waiting.push({ to, logs });
      chain.unread += logs;
    },
    read(chainId, to) {
      const chain = of(chainId);
      while (chain.waiting[0] !== undefined && chain.waiting[0].to <= to)
        chain.unread -= chain.waiting.shift()?.logs ?? 0;
    },
    rulesWork(value) {
      isWorking = value;
      endedAt = now();
    },
    async room(chainId, isOver) {
      const chain = of(chainId);
      const isBusy = () => isWorking || now() - endedAt < idleMs;
      while (chain.unread > mostLogs && isBusy() && !isOver()) await wait(pauseMs);
    },
  };
}

const ofStarts = new WeakMap<object, FetchAhead>();

/** The one of a start, which Ponder's `common` stands for. */
export function fetchAheadOf(common: object): FetchAhead {
  const ahead = ofStarts.get(common) ?? createFetchAhead();
  ofStarts.set(common, ahead);
  return ahead;
}
