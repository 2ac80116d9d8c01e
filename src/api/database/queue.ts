import { AsyncLocalStorage } from "node:async_hooks";
import { hash } from "node:crypto";
import { LRUCache } from "lru-cache";

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

/** How many statements run and wait in one lane. */
type LaneLimits = {
  /** Statements that run at the same time. */
  concurrency: number;
  /** Further ones, only for clients that have none running. */
  spare: number;
  /** Statements that wait, of all clients. */
  queue: number;
  /** Statements of one client that wait. */
  queuePerClient: number;
};

/** How many statements run and wait, and from when on one counts as slow. */
export type QueueLimits = LaneLimits & {
  /** Milliseconds that a statement may take beside the quick ones. */
  quickMs: number;
  /** Statements that run for longer, at the same time; one of them only for clients that have none. 0: no limit of time. */
  slow: number;
  /** Slow statements that wait, of all clients; of one client half of them. */
  slowQueue: number;
};

/** What a statement may do from when its turn comes. */
export type Turn = {
  /** Milliseconds after which it asks whether it may go on; none if it need not. */
  quickMs: number | undefined;
  /** Whether it may go on. If not it is to be stopped, and may ask for a turn among the slow ones. */
  mayGoOn(): boolean;
  end(): void;
};

type Client = {
  running: number;
  /** Those who wait, in their order. */
  line: Set<() => void>;
  /** The number of its latest start. */
  latest: number;
};

// Statements that were slow are remembered for so long, by client: what is slow with one's values may be quick with another's.
const slowForMs = 60_000;
const mostSlow = 2_000;
const patience = 5;

const clients = new AsyncLocalStorage<string>();

/** The client whose request is worked on here, as named to `forClient`; undefined for the service's own work. */
export const currentClient = () => clients.getStore();

/**
 * The one queue for statements, in two lanes: one that has taken longer than `quickMs` goes on only on one of the places for
 * slow ones, so that quick ones wait for quick ones alone. What was slow lately begins there; what was quick lately has
 * `patience` times as long, since it may wait for a processor. Statements that no client asked for (the service's own) are
 * neither slow nor refused.
 */
export function createQueue(limits: QueueLimits, clock = performance.now.bind(performance)) {
  const { quickMs, slow, slowQueue } = limits;
  const quickLane = createLane(limits);
  const slowLane = createLane({
    concurrency: Math.max(1, slow - 1),
    spare: slow > 1 ? 1 : 0,
    queue: slowQueue,
    queuePerClient: Math.ceil(slowQueue / 2),
  });
  const slowOnes = new LRUCache<string, number>({ max: mostSlow, ttl: slowForMs });
  const quickOnes = new LRUCache<string, number>({ max: mostSlow, ttl: slowForMs });

  async function slowTurn(client: string, key: string, signal: AbortSignal): Promise<Turn> {
    const leave = await slowLane.turn(client, signal);
    const since = clock();
    const end = () => {
      if (clock() - since < quickMs) slowOnes.delete(key);
      leave();
    };
    return { quickMs: undefined, mayGoOn: () => true, end };
  }

  return {
    /** Runs a task whose statements, later ones too, count as those of the client with this name. */
    forClient: <T>(name: string, task: () => T): T => clients.run(name, task),

    /**
     * Waits for a turn of the statement `sql`; among the slow ones if it `wasStopped`. Throws BusyError, or the reason of
     * `signal` once aborted.
     */
    async turn(sql: string, signal: AbortSignal, wasStopped = false): Promise<Turn> {
      const client = currentClient();
      if (client === undefined || slow === 0) {
        const end = await quickLane.turn(client, signal);
        return { quickMs: undefined, mayGoOn: () => true, end };
      }
      const key = `${client} ${sql.length < longText ? sql : hash("sha1", sql)}`;
      if (wasStopped) slowOnes.set(key, 1);
      if (slowOnes.has(key)) return slowTurn(client, key, signal);
      let leave = await quickLane.turn(client, signal);
      // Others like it may have been slow while it waited.
      if (slowOnes.has(key)) {
        leave();
        return slowTurn(client, key, signal);
      }
      const since = clock();
      const end = () => {
        if (clock() - since < quickMs && !slowOnes.has(key)) quickOnes.set(key, 1);
        leave();
      };
      const mayGoOn = () => {
        quickOnes.delete(key);
        slowOnes.set(key, 1);
        const leaveSlow = slowLane.enter(client);
        if (leaveSlow === undefined) return false;
        leave();
        leave = leaveSlow;
        return true;
      };
      return { quickMs: quickOnes.has(key) ? quickMs * patience : quickMs, mayGoOn, end };
    },
  };
}

// Texts from here on are told apart by their hash.
const longText = 1_000;

/**
 * Places for statements. The next turn goes to the client with the fewest running statements; among equals to the one whose
 * latest began first.
 */
function createLane({ concurrency, spare, queue, queuePerClient }: LaneLimits) {
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

  const forget = (name: string, { running, line }: Client) => {
    if (running === 0 && line.size === 0) clients.delete(name);
  };

  function serveNext(): void {
    const next = firstOf(clients.values());
    if (next !== undefined && mayRun(next)) next.line.values().next().value?.();
  }

  const clientOf = (key: string) => clients.get(key) ?? { running: 0, line: new Set(), latest: 0 };
  const enterAs = (key: string, client: Client) =>
    client.line.size === 0 && mayRun(client) ? start(key, client) : undefined;

  return {
    /** A place if one is free; how to leave it. */
    enter: (key: string): (() => void) | undefined => enterAs(key, clientOf(key)),

    /** Waits for a place. Resolves with how to leave it; throws BusyError, or the reason of `signal` once aborted. */
    async turn(name: string | undefined, signal: AbortSignal): Promise<() => void> {
      signal.throwIfAborted();
      const key = name ?? "";
      const client = clientOf(key);
      const leave = enterAs(key, client);
      if (leave !== undefined) return leave;
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

function firstOf(clients: Iterable<Client>): Client | undefined {
  let first: Client | undefined;
  for (const client of clients) {
    if (client.line.size > 0 && (first === undefined || isBefore(client, first))) first = client;
  }
  return first;
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
