import { hash } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import { LRUCache } from "lru-cache";
import { defaultSubgraphLimits, type SubgraphLimits } from "../../config/limits.ts";
import { currentClient } from "../../http/turn.ts";
import {
  cancelStatement,
  isDatabaseAway,
  type Pool,
  type PoolClient,
  quoted,
  type RowReader,
} from "../../ponder/sql-client.ts";
import { checkMoment, currentMoment, momentQuery } from "./moment.ts";
import { maxPrepared, type Planning, type Prepared, preparedAs } from "./prepared.ts";

// Runs the statements of all reads, with limits, retries and a moment. This folder knows Postgres, not names; the
// statements are in the folders beside it.

type Take = (text: string) => void;

/** Runs statements that return one row. */
export type Database = RowReader;

/** Runs statements that return many rows of one text each. */
export type RowsReader = {
  /**
   * Passes each row to `take` as it arrives, the first ones again if the statement is repeated. Resolves after the last
   * row. Throws RowTooLongError once the rows together are longer than a row may be.
   */
  rows(sql: string, values: readonly string[], signal: AbortSignal, take: Take): Promise<void>;
};

type TextRow = Awaited<ReturnType<RowReader["row"]>>;
// Resolves with the first row; `take` receives all rows.
type Run = (sql: string, values: readonly string[], signal: AbortSignal, take?: Take) => Promise<TextRow>;

/** Limits of statements. */
export type DatabaseLimits = Omit<QueueLimits, "spare"> & Pick<SubgraphLimits, "responseBytes">;

/** The rows of a statement are longer than allowed. */
export class RowTooLongError extends Error {
  override name = "RowTooLongError";
}

/** A database whose statements all pass through one queue; `waiting`: how many wait in it. */
export type QueuedDatabase = Database & RowsReader & { waiting(): number };

/**
 * A database over a node-postgres pool. `schema`: of the index, if its connections are PooledConnections; each
 * statement is a transaction of its own then, which goes to that schema.
 */
export function createDatabase(
  pool: Pool,
  given: Partial<DatabaseLimits> = {},
  schema?: string,
): QueuedDatabase {
  const limits = { ...defaultSubgraphLimits, ...given };
  // One connection stays free for Ponder's own paths, another for a statement that runs on after its cancellation.
  const connections = Math.max(1, (pool.options.max ?? 10) - 2);
  return queueStatements(createPooled(pool, limits, schema), limits, connections);
}

/** Queues the statements of `statement` for `connections` connections. */
export function queueStatements(
  statement: Run,
  { concurrency, slow, ...limits }: Omit<DatabaseLimits, "responseBytes">,
  connections: number,
): QueuedDatabase {
  const slowOnes = limits.quickMs < limits.timeoutMs ? Math.min(slow, connections - 1) : 0;
  const max = Math.min(concurrency, connections - slowOnes);
  const spare = Math.min(2, connections - slowOnes - max);
  const run = createQueue({ ...limits, concurrency: max, spare, slow: slowOnes });
  const inTurn: Run = (sql, values, signal, take) =>
    run(sql, signal, (stop) => statement(sql, values, stop, take));
  return { row: inTurn, rows: async (...given) => void (await inTurn(...given)), waiting: run.waiting };
}

// Each connection, or transaction, applies these first, so that they hold before a statement is parsed. Rows are looked
// up by index in tables that are mostly in memory: the default cost of a random page makes the planner walk whole
// indexes in sort order instead. JIT compilation costs more than a statement takes; parallel workers would take the
// processors of other statements. During a reorg, which locks tables for a moment, statements wait nearly as long as
// they may take, where Ponder's setting fails them after half a second. A lock timeout can be retried.
const settingsSql = (set: "SET" | "SET LOCAL", timeoutMs: number) =>
  [
    ...["random_page_cost = 1.1", "jit = off", "max_parallel_workers_per_gather = 0", "work_mem = '64MB'"],
    ...["hash_mem_multiplier = 1", `lock_timeout = ${Math.ceil(timeoutMs * 0.9)}`],
    `statement_timeout = ${timeoutMs}`,
  ]
    .map((setting) => `${set} ${setting}`)
    .join("; ");

type Query = Parameters<PoolClient["query"]>[0];
type QueryResult = Awaited<ReturnType<PoolClient["query"]>>;

// Runs a statement on a connection. Results of node-postgres' own promises stay in memory until the next collection of
// the whole heap.
const ask = (client: PoolClient, query: Query) =>
  new Promise<QueryResult>((resolve, reject) => {
    const done = (error: Error | null, result: QueryResult) => (error ? reject(error) : resolve(result));
    (client as { query(query: Query, done: unknown): void }).query(query, done);
  });

type Session = { planning: Planning | undefined; names: Set<string>; characters: number };

// Connections that have the session settings: their plan cache mode, and the statements of clients that they have
// prepared.
function createSessions(timeoutMs: number) {
  const sessions = new WeakMap<PoolClient, Session>();
  return {
    /** Prepares a connection for a statement. */
    async prepare(client: PoolClient, text: string, prepared: Prepared | undefined): Promise<void> {
      const session = sessions.get(client) ?? { planning: undefined, names: new Set(), characters: 0 };
      if (!sessions.has(client)) await ask(client, { text: settingsSql("SET", timeoutMs) });
      sessions.set(client, session);
      const planning = prepared?.planning ?? "force_custom_plan";
      if (session.planning !== planning) await ask(client, { text: `SET plan_cache_mode = ${planning}` });
      session.planning = planning;
      if (!prepared?.isOfClient || session.names.has(prepared.name)) return;
      session.names.add(prepared.name);
      session.characters += text.length;
    },
    isFull: (client: PoolClient) => (sessions.get(client)?.characters ?? 0) > maxPrepared,
  };
}

function createPooled(
  pool: Pool,
  { timeoutMs, responseBytes }: Pick<DatabaseLimits, "timeoutMs" | "responseBytes">,
  schema: string | undefined,
): Run {
  const sessions = createSessions(timeoutMs);
  // Connections without a session of their own get all of it with each transaction.
  const local =
    schema && `; SET LOCAL search_path = ${quoted(schema)}; ${settingsSql("SET LOCAL", timeoutMs)}`;
  const begin = (client: PoolClient, level: "READ COMMITTED" | "REPEATABLE READ") =>
    ask(client, { text: `BEGIN ISOLATION LEVEL ${level} READ ONLY${local ?? ""}` });

  const once: Run = async (text, values, signal, take) => {
    const client = await pool.connect();
    const ended = new AbortController();
    let cancellation: Promise<unknown> | undefined;
    const cancel = () => {
      cancellation ??= cancelUntil(ended.signal, client);
    };
    let isBroken = true;
    let end: (() => Promise<boolean>) | undefined;
    try {
      const moment = currentMoment();
      const prepared = moment === undefined && !local ? preparedAs(text) : undefined;
      const isAlone = local !== undefined && moment === undefined;
      if (!local) await sessions.prepare(client, text, prepared);
      isBroken = false;
      signal.throwIfAborted();
      signal.addEventListener("abort", cancel, { once: true });
      if (moment !== undefined) {
        end = () => fails(ask(client, { text: "ROLLBACK" }));
        await begin(client, "REPEATABLE READ");
        checkMoment(await ask(client, { ...momentQuery(moment), rowMode: "array" }));
      }
      const types = { getTypeParser: () => readUpTo(responseBytes, cancel, take) };
      // The three statements of a transaction leave together. Without the first, the second may have read other tables.
      const begun = isAlone ? begin(client, "READ COMMITTED") : undefined;
      const asked = { name: prepared?.name, text, values: [...values], types };
      const reading = ask(client, { ...asked, rowMode: "array" });
      if (isAlone) {
        const committed = fails(ask(client, { text: "COMMIT" }));
        end = () => committed;
      }
      const [{ rows }] = await Promise.all([reading, begun]);
      return (rows[0] ?? []).map(toText);
    } finally {
      signal.removeEventListener("abort", cancel);
      if (cancellation !== undefined) {
        ended.abort();
        // A cancellation that is still on its way must not hit the connection's next statement.
        await cancellation;
      }
      if (end !== undefined) isBroken = await end();
      client.release(isBroken || sessions.isFull(client));
    }
  };
  return startOver(once, timeoutMs);
}

// A statement only reads. If its server interrupts it or is away, it starts over, within its time.
function startOver(once: Run, timeoutMs: number): Run {
  return async (...statement) => {
    const [, , signal] = statement;
    const since = performance.now();
    for (let pauseMs = 10; ; pauseMs = Math.min(2 * pauseMs, 500)) {
      try {
        return await once(...statement);
      } catch (error) {
        if (findErrorCode(error) === lockNotAvailable) throw new BusyError(1, lockedUp);
        const isAway = isDatabaseAway(error);
        if (!isAway && !isInterrupted(error)) throw error;
        const retryMs = Math.min(timeoutMs * 0.9, isAway ? awayMs : timeoutMs);
        if (performance.now() + pauseMs - since > retryMs)
          throw isAway ? error : new BusyError(1, interrupted);
        await pause(pauseMs, undefined, { signal }).catch(() => undefined);
        signal.throwIfAborted();
      }
    }
  };
}

const fails = (work: Promise<unknown>): Promise<boolean> =>
  work.then(
    () => false,
    () => true,
  );

const findErrorCode = (error: unknown) =>
  error instanceof Error && "code" in error ? error.code : undefined;

// A reorg deadlocked with the read or, on a hot standby, what is replayed cancelled it or ended its connection.
// Postgres reports that as 40001; some versions report 57014, as for a timeout.
function isInterrupted(error: unknown): boolean {
  const code = findErrorCode(error);
  if (code === deadlock || code === replayConflict) return true;
  return code === queryCanceled && error instanceof Error && /conflict with recovery/.test(error.message);
}

// Cancels a statement once its rows together have more than `max` characters.
function readUpTo(max: number, cancel: () => void, take?: Take) {
  let characters = 0;
  return (text: string): string => {
    characters += text.length;
    if (characters > max) {
      cancel();
      throw new RowTooLongError();
    }
    take?.(text);
    return take ? "" : text;
  };
}

// Postgres error codes.
const deadlock = "40P01";
const replayConflict = "40001";
const lockNotAvailable = "55P03";
const queryCanceled = "57014";

// For how long a statement waits for a server that restarts, or for another one in its place.
const awayMs = 2_000;

const cancelAgainMs = 500;

// A backend that has not begun the statement yet ignores a cancellation, so it is repeated until the statement ends.
async function cancelUntil(ended: AbortSignal, client: PoolClient): Promise<void> {
  while (!ended.aborted) {
    // If the cancellation fails, the statement's timeout ends it.
    await cancelStatement(client);
    await pause(cancelAgainMs, undefined, { signal: ended }).catch(() => undefined);
  }
}

function toText(value: unknown): string | null {
  return typeof value === "string" ? value : null;
}

/**
 * Too many statements are waiting, or one waited too long for a lock. The client may retry after `retryAfter` seconds.
 */
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

/** Message for a statement that a lock held up. */
export const lockedUp = {
  message: "What the query reads is locked in the database. Try again in a moment.",
  details: "A table is being changed.",
};

const interrupted = {
  message: "What the query reads is being changed. Try again in a moment.",
  details: "Changes cancelled it again and again.",
};

/** Limits of a queue. */
export type QueueLimits = Pick<
  SubgraphLimits,
  "concurrency" | "queue" | "queuePerClient" | "quickMs" | "slow" | "slowQueue" | "timeoutMs"
> & {
  /** Places beyond `concurrency`, only for clients without a running statement. */
  spare: number;
};

type LaneLimits = Pick<QueueLimits, "concurrency" | "spare" | "queue" | "queuePerClient">;

type QueuedClient = {
  running: number;
  line: Set<() => void>;
  /** Sequence number of its latest start. */
  latest: number;
};

// Shared instances: a new error would compute its stack each time.
const tookTooLong = new DOMException("The statement took too long.", "TimeoutError");
const tooSlow = new Error("The statement is slow.");

/**
 * The queue of statements, in two lanes. A statement that runs longer than `quickMs` continues only in a place of the
 * slow lane, so that quick ones wait for quick ones alone; one that was slow lately starts there. Statements without a
 * client (the service's own) are neither slow nor refused.
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
  // Slow statements of the last minute, by client: the same text may be quick with another client's values.
  const slowOnes = new LRUCache<string, true>({ max: 2_000, ttl: 60_000 });

  /**
   * Runs the statement `sql` by `task` when its turn comes, a second time if it was slow and the slow lane was full.
   * Throws BusyError, a TimeoutError, or the reason of `signal` once aborted. The turn ends with the statement.
   */
  const run = async <T>(
    sql: string,
    signal: AbortSignal,
    task: (stop: AbortSignal) => Promise<T>,
  ): Promise<T> => {
    const client = currentClient();
    if (client === undefined || slow === 0)
      return runInTurn({ leave: await quickLane.turn(client, signal), signal, timeoutMs }, task);
    const key = () => `${client} ${hash("sha1", sql)}`;
    const isSlow = () => slowOnes.size > 0 && slowOnes.has(key());
    const leave = isSlow() ? undefined : await quickLane.turn(client, signal);
    // The same text may have turned out to be slow during the wait.
    if (leave && isSlow()) leave();
    else if (leave) {
      try {
        const next = () => {
          slowOnes.set(key(), true);
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
      if (performance.now() - since < quickMs) slowOnes.delete(key());
      leaveSlow();
    };
    return runInTurn({ leave: end, signal, timeoutMs }, task);
  };
  return Object.assign(run, { waiting: () => quickLane.waiting() + slowLane.waiting() });
}

type Turn = {
  leave: () => void;
  signal: AbortSignal;
  timeoutMs: number;
  /** After `quickMs` the statement continues only if `next` returns a place, as the function that leaves it. */
  overrun?: { quickMs: number; next: () => (() => void) | undefined };
};

function runInTurn<T>(
  { leave, signal, timeoutMs, overrun }: Turn,
  task: (stop: AbortSignal) => Promise<T>,
): Promise<T> {
  // A single controller: AbortSignal.any() costs as much as the rest of a small statement.
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
  // setImmediate lets a row that arrived while the event loop was blocked be read first.
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
 * Places for statements. The next turn goes to the client with the fewest running statements, then the least recent
 * start.
 */
export function createLane({ concurrency, spare, queue, queuePerClient }: LaneLimits) {
  const clients = new Map<string, QueuedClient>();
  let [waiting, running, starts] = [0, 0, 0];

  const clientOf = (key: string) => clients.get(key) ?? { running: 0, line: new Set(), latest: 0 };
  const mayRun = (client: QueuedClient) =>
    running < concurrency || (running < concurrency + spare && client.running === 0);

  function start(key: string, client: QueuedClient): () => void {
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

  function forget(key: string, { running, line }: QueuedClient): void {
    if (running === 0 && line.size === 0) clients.delete(key);
  }

  function serveNext(): void {
    const lines = [...clients.values()].filter(({ line }) => line.size > 0);
    const [next] = lines.sort((one, other) => one.running - other.running || one.latest - other.latest);
    if (next === undefined || !mayRun(next)) return;
    const [enter] = next.line;
    enter?.();
  }

  /** Takes a place if one is free. Returns the function that leaves it. */
  function enter(key: string): (() => void) | undefined {
    const client = clientOf(key);
    return client.line.size === 0 && mayRun(client) ? start(key, client) : undefined;
  }

  /**
   * Waits for a place. Resolves with the function that leaves it; throws BusyError, or the reason of `signal` once
   * aborted.
   */
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

  return { enter, turn, waiting: () => waiting };
}

// Waits in `line`. Resolves with the result of `begin` once its entry is called; leaves and rejects once `signal` is
// aborted.
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
