import { AsyncLocalStorage } from "node:async_hooks";

/** Too many statements wait; the caller may retry after `retryAfter` seconds. */
export class BusyError extends Error {
  override name = "BusyError";
  readonly retryAfter: number;

  constructor(retryAfter: number) {
    super("Too many queries are running. Try again in a moment.");
    this.retryAfter = retryAfter;
  }
}

/** How many statements run and wait. */
export type QueueLimits = {
  /** Statements that run at the same time. */
  concurrency: number;
  /** Further ones, only for clients that have none running. */
  spare: number;
  /** Statements that wait, of all clients. */
  queue: number;
  /** Statements of one client that wait. */
  queuePerClient: number;
};

type Client = {
  running: number;
  /** Those who wait, in their order. */
  line: Set<() => void>;
  /** The number of its latest start. */
  latest: number;
};

/**
 * The one queue for statements. The next turn goes to the client with the fewest running statements; among equals to the
 * one whose latest began first. Statements that no client asked for (the service's own) are never refused.
 */
export function createQueue({ concurrency, spare, queue, queuePerClient }: QueueLimits) {
  const current = new AsyncLocalStorage<string>();
  const clients = new Map<string, Client>();
  let waiting = 0;
  let running = 0;
  let starts = 0;

  const mayRun = (client: Client) =>
    running < concurrency || (running < concurrency + spare && client.running === 0);

  function start(name: string, client: Client): () => void {
    running += 1;
    starts += 1;
    client.running += 1;
    client.latest = starts;
    clients.set(name, client);
    return () => {
      running -= 1;
      client.running -= 1;
      forget(name, client);
      serveNext();
    };
  }

  function forget(name: string, { running, line }: Client): void {
    if (running === 0 && line.size === 0) clients.delete(name);
  }

  function serveNext(): void {
    let next: Client | undefined;
    for (const client of clients.values()) {
      if (client.line.size > 0 && (next === undefined || isBefore(client, next))) next = client;
    }
    if (next === undefined || !mayRun(next)) return;
    const [enter] = next.line;
    enter?.();
  }

  return {
    /** Runs a task whose statements, later ones too, count as those of the client with this name. */
    forClient: <T>(name: string, task: () => T): T => current.run(name, task),

    /** Waits for a turn. Resolves with how to end it; throws BusyError, or the reason of `signal` once aborted. */
    async turn(signal: AbortSignal): Promise<() => void> {
      signal.throwIfAborted();
      const name = current.getStore();
      const key = name ?? "";
      const client = clients.get(key) ?? { running: 0, line: new Set(), latest: 0 };
      if (client.line.size === 0 && mayRun(client)) return start(key, client);
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
    },
  };
}

const isBefore = (one: Client, other: Client) =>
  one.running < other.running || (one.running === other.running && one.latest < other.latest);

/** Joins a line. Resolves with what `enter` gives once the entry in `line` is called; leaves and rejects once `signal` is aborted. */
export function lineUp<T>(line: Set<() => void>, signal: AbortSignal, enter: () => T): Promise<T> {
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  const leave = () => {
    line.delete(next);
    signal.removeEventListener("abort", stop);
  };
  const next = () => {
    leave();
    resolve(enter());
  };
  const stop = () => {
    leave();
    reject(signal.reason);
  };
  line.add(next);
  signal.addEventListener("abort", stop, { once: true });
  return promise;
}

type Run<Row> = (sql: string, values: readonly string[], signal: AbortSignal) => Promise<Row>;
type Flight<Row> = { row: Promise<Row>; since: number; waiting: number; stop: AbortController };

// A request that joins another's statement may see a moment before its own, but never more than this.
const joinableMs = 50;

/**
 * Runs statements through `run`; equal ones of the same moment run once. A statement is stopped when all who wait
 * for it have gone.
 */
export function shareRows<Row>(
  run: Run<Row>,
  clock: () => number = performance.now.bind(performance),
): Run<Row> {
  const flights = new Map<string, Flight<Row>>();

  function start(key: string, sql: string, values: readonly string[]): Flight<Row> {
    const stop = new AbortController();
    const flight: Flight<Row> = { row: run(sql, values, stop.signal), since: clock(), waiting: 0, stop };
    const land = () => {
      if (flights.get(key) === flight) flights.delete(key);
    };
    flight.row.then(land, land);
    flights.set(key, flight);
    return flight;
  }

  return async (sql, values, signal) => {
    signal.throwIfAborted();
    // No parameter contains a NUL: Postgres would refuse it.
    const key = [sql, ...values].join("\0");
    const found = flights.get(key);
    const isJoinable = found !== undefined && clock() - found.since < joinableMs;
    const flight = isJoinable ? found : start(key, sql, values);
    flight.waiting += 1;
    const { promise, resolve, reject } = Promise.withResolvers<Row>();
    const leave = () => {
      flight.waiting -= 1;
      if (flight.waiting === 0) {
        if (flights.get(key) === flight) flights.delete(key);
        flight.stop.abort(signal.reason);
      }
      reject(signal.reason);
    };
    signal.addEventListener("abort", leave, { once: true });
    flight.row.then(resolve, reject);
    return promise.finally(() => signal.removeEventListener("abort", leave));
  };
}
