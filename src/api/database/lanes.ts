/** Too many statements wait; the caller may retry after `retryAfter` seconds. */
export class BusyError extends Error {
  override name = "BusyError";
  readonly retryAfter: number;

  constructor(retryAfter: number) {
    super("Too many queries are running. Try again in a moment.");
    this.retryAfter = retryAfter;
  }
}

/** How many statements run and wait in one lane. */
export type LaneLimits = {
  /** Statements that run at the same time. */
  concurrency: number;
  /** Further ones, only for clients that have none running. */
  spare?: number;
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
 * Places for statements. The next turn goes to the client with the fewest running statements; among equals to the one whose
 * latest began first.
 */
export function createLane({ concurrency, spare = 0, queue, queuePerClient }: LaneLimits) {
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
