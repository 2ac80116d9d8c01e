import { AsyncLocalStorage } from "node:async_hooks";
import { hash } from "node:crypto";
import { LRUCache } from "lru-cache";
import type { SubgraphLimits } from "../../config/limits.ts";

/** Too many statements wait, or one for a lock; the caller may retry after `retryAfter` seconds. */
export class BusyError extends Error {
  override name = "BusyError";
  readonly retryAfter: number;
  readonly details: string;

  constructor(retryAfter: number, { message, details } = queueFull) {
    super(message);
    this.retryAfter = retryAfter;
    this.details = details;
  }
}

const queueFull = {
  message: "Too many queries are running. Try again in a moment.",
  details: "The queue for the database is full.",
};

/** The words for a statement that a lock held up. */
export const lockedUp = {
  message: "What the query reads is locked in the database. Try again in a moment.",
  details: "A table is being changed.",
};

/** The limits of statements that a queue keeps. */
export type QueueLimits = Pick<
  SubgraphLimits,
  "concurrency" | "queue" | "queuePerClient" | "quickMs" | "slow" | "slowQueue" | "timeoutMs"
> & {
  /** Statements beyond `concurrency`, only for clients that have none running. */
  spare: number;
};

type LaneLimits = Pick<QueueLimits, "concurrency" | "spare" | "queue" | "queuePerClient">;

type Client = {
  running: number;
  /** Those who wait, in their order. */
  line: Set<() => void>;
  /** The number of its latest start. */
  latest: number;
};

const clients = new AsyncLocalStorage<string>();

/** The client whose request is worked on here, as named to `forClient`; undefined for the service's own work. */
export const currentClient = () => clients.getStore();

/** Runs a task whose statements, later ones too, count as those of the client with this name. */
export const forClient = <T>(name: string, task: () => T): T => clients.run(name, task);

// Made once: each error would compute its stack.
const tookTooLong = new DOMException("The statement took too long.", "TimeoutError");
const tooSlow = new Error("The statement is slow.");

/**
 * The one queue for statements, in two lanes: one that has taken longer than `quickMs` goes on only on one of the places for
 * slow ones, so that quick ones wait for quick ones alone. What was slow lately begins there. Statements that no client asked for
 * (the service's own) are neither slow nor refused.
 */
export function createQueue(limits: QueueLimits) {
  const { timeoutMs, quickMs, slow, slowQueue } = limits;
  const quickLane = createLane(limits);
  const slowLane = createLane({
    concurrency: Math.max(1, slow - 1),
    spare: slow > 1 ? 1 : 0,
    queue: slowQueue,
    queuePerClient: Math.ceil(slowQueue / 2),
  });
  // For a minute, by client: what is slow with one's values may be quick with another's.
  const slowOnes = new LRUCache<string, true>({ max: 2_000, ttl: 60_000 });

  /**
   * Runs the statement `sql` by `task` when its turn comes, twice if it was slow and had no place among the slow ones. Throws
   * BusyError, a TimeoutError, or the reason of `signal` once aborted; the turn ends with the statement.
   */
  return async <T>(sql: string, signal: AbortSignal, task: (stop: AbortSignal) => Promise<T>): Promise<T> => {
    const client = currentClient();
    if (client === undefined || slow === 0)
      return runInTurn({ leave: await quickLane.turn(client, signal), signal, timeoutMs }, task);
    const key = `${client} ${hash("sha1", sql)}`;
    const leave = slowOnes.has(key) ? undefined : await quickLane.turn(client, signal);
    // Others like it may have been slow while it waited.
    if (leave && slowOnes.has(key)) leave();
    else if (leave) {
      try {
        const next = () => {
          slowOnes.set(key, true);
          return slowLane.enter(client);
        };
        return await runInTurn({ leave, signal, timeoutMs, overrun: { quickMs, next } }, task);
      } catch (error) {
        if (error !== tooSlow) throw error;
      }
    }
    const leaveSlow = await slowLane.turn(client, signal);
    const since = performance.now();
    const end = () => {
      if (performance.now() - since < quickMs) slowOnes.delete(key);
      leaveSlow();
    };
    return runInTurn({ leave: end, signal, timeoutMs }, task);
  };
}

type Turn = {
  leave: () => void;
  signal: AbortSignal;
  timeoutMs: number;
  /** After so many milliseconds the statement goes on only if `next` gives another place: how to leave it. */
  overrun?: { quickMs: number; next: () => (() => void) | undefined };
};

function runInTurn<T>(
  { leave, signal, timeoutMs, overrun }: Turn,
  task: (stop: AbortSignal) => Promise<T>,
): Promise<T> {
  // One signal for all: AbortSignal.any() costs as much as the rest of a small statement.
  const stop = new AbortController();
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  let [hasEnded, end] = [false, leave];
  const giveUp = (reason: unknown) => {
    stop.abort(reason);
    reject(reason);
  };
  const onAbort = () => giveUp(signal.reason);
  const onTimeout = () => giveUp(tookTooLong);
  const onOverrun = ({ quickMs, next }: NonNullable<Turn["overrun"]>) => {
    if (hasEnded) return;
    const leaveNext = next();
    if (leaveNext === undefined) return stop.abort(tooSlow);
    end();
    end = leaveNext;
    timer = setTimeout(onTimeout, timeoutMs - quickMs);
  };
  // A row that came while the event loop was held is read before.
  let timer = overrun
    ? setTimeout(() => setImmediate(onOverrun, overrun), overrun.quickMs)
    : setTimeout(onTimeout, timeoutMs);
  signal.addEventListener("abort", onAbort, { once: true });
  task(stop.signal)
    .then(resolve, (error) => reject(stop.signal.reason === tooSlow ? tooSlow : error))
    .finally(() => {
      hasEnded = true;
      clearTimeout(timer);
      signal.removeEventListener("abort", onAbort);
      end();
    });
  return promise;
}

/**
 * Places for statements. The next turn goes to the client with the fewest running statements; among equals to the one whose
 * latest began first.
 */
export function createLane({ concurrency, spare, queue, queuePerClient }: LaneLimits) {
  const clients = new Map<string, Client>();
  let [waiting, running, starts] = [0, 0, 0];

  const clientOf = (key: string) => clients.get(key) ?? { running: 0, line: new Set(), latest: 0 };
  const mayRun = (client: Client) =>
    running < concurrency || (running < concurrency + spare && client.running === 0);

  function start(key: string, client: Client): () => void {
    running += 1;
    starts += 1;
    client.running += 1;
    client.latest = starts;
    clients.set(key, client);
    return () => {
      running -= 1;
      client.running -= 1;
      forget(key, client);
      serveNext();
    };
  }

  function forget(key: string, { running, line }: Client): void {
    if (running === 0 && line.size === 0) clients.delete(key);
  }

  function serveNext(): void {
    const lines = [...clients.values()].filter(({ line }) => line.size > 0);
    const [next] = lines.sort((one, other) => one.running - other.running || one.latest - other.latest);
    if (next === undefined || !mayRun(next)) return;
    const [enter] = next.line;
    enter?.();
  }

  /** A place if one is free; how to leave it. */
  function enter(key: string): (() => void) | undefined {
    const client = clientOf(key);
    return client.line.size === 0 && mayRun(client) ? start(key, client) : undefined;
  }

  /** Waits for a place. Resolves with how to leave it; throws BusyError, or the reason of `signal` once aborted. */
  async function turn(name: string | undefined, signal: AbortSignal): Promise<() => void> {
    signal.throwIfAborted();
    const key = name ?? "";
    const leave = enter(key);
    if (leave !== undefined) return leave;
    const client = clientOf(key);
    const isFull = waiting >= queue || client.line.size >= queuePerClient;
    if (isFull && name !== undefined) throw new BusyError(1);
    clients.set(key, client);
    waiting += 1;
    try {
      return await lineUp(client.line, signal, () => start(key, client));
    } finally {
      waiting -= 1;
      forget(key, client);
    }
  }

  return { enter, turn };
}

// Joins a line. Resolves with what `begin` gives once the entry in `line` is called; leaves and rejects once `signal` is aborted.
function lineUp<T>(line: Set<() => void>, signal: AbortSignal, begin: () => T): Promise<T> {
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  const next = () => {
    line.delete(next);
    resolve(begin());
  };
  const stop = () => {
    line.delete(next);
    reject(signal.reason);
  };
  line.add(next);
  signal.addEventListener("abort", stop, { once: true });
  return promise.finally(() => signal.removeEventListener("abort", stop));
}
