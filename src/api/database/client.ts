import { hash } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import { LRUCache } from "lru-cache";
import { defaultSubgraphLimits, type SubgraphLimits } from "../../config/limits.ts";
import { currentClient } from "../../http/turn.ts";
import {
  type EmbeddedClient,
  ownConnections,
  type Pool,
  type PoolClient,
  type RowReader,
  type SqlClient,
} from "../../ponder/sql-client.ts";

/** Takes the text of a row. */
type Take = (text: string) => void;

/** Runs statements of one row. */
export type Database = RowReader;

/** Runs statements of many rows of one text. */
export type RowsReader = {
  /**
   * Gives each row to `take` as it arrives, the first ones again if the statement has to be repeated. Resolves after the last one.
   * Throws RowTooLongError once they are longer together than a row may be.
   */
  rows(sql: string, values: readonly string[], signal: AbortSignal, take: Take): Promise<void>;
};

type Row = Awaited<ReturnType<RowReader["row"]>>;
// A statement's row; `take` gets all of its rows.
type Run = (sql: string, values: readonly string[], signal: AbortSignal, take?: Take) => Promise<Row>;

// Names of the statements that connections plan once. Each connection keeps the plans, some hundred kilobytes each.
const plannedOnce = new LRUCache<string, string>({ max: 400 });
let planned = 0;

/**
 * Marks a statement that each connection to a server plans once, since planning a long one takes longer than running it. It suits
 * texts of a few forms with one good plan whatever their values, such as look-ups by key. Returns the text.
 */
export function planOnce(sql: string): string {
  if (!plannedOnce.has(sql)) plannedOnce.set(sql, `once_${planned++}`);
  return sql;
}

/** Whether connections to a server plan this statement once, for any values. */
export const isPlannedOnce = (sql: string) => plannedOnce.has(sql);

/** The limits of statements. */
export type DatabaseLimits = Omit<QueueLimits, "spare"> & Pick<SubgraphLimits, "responseBytes">;

/** The rows that a statement gives are longer than allowed. */
export class RowTooLongError extends Error {
  override name = "RowTooLongError";
}

/** A database, all of whose statements pass through one queue. */
export type QueuedDatabase = Database & RowsReader;

/** A database over a connection pool of node-postgres, or over PGlite, which has one connection. */
export function createDatabase(client: SqlClient, given: Partial<DatabaseLimits> = {}): QueuedDatabase {
  const limits = { ...defaultSubgraphLimits, ...given };
  if (!("connect" in client)) return queueStatements(createEmbedded(client), limits, 1);
  // A connection stays free for Ponder's own paths, and another for what a statement that cannot be stopped still holds.
  const connections = Math.max(1, (client.options.max ?? 10) - 2);
  return queueStatements(createPooled(client, limits), limits, connections);
}

/** Lets the statements of `statement` run in turn, on `connections` connections. */
export function queueStatements(
  statement: Run,
  { concurrency, slow, ...limits }: Omit<DatabaseLimits, "responseBytes">,
  connections: number,
): QueuedDatabase {
  const slowOnes = limits.quickMs < limits.timeoutMs ? Math.min(slow, connections - 1) : 0;
  const most = Math.min(concurrency, connections - slowOnes);
  const spare = Math.min(2, connections - slowOnes - most);
  const run = createQueue({ ...limits, concurrency: most, spare, slow: slowOnes });
  const inTurn: Run = (sql, values, signal, take) =>
    run(sql, signal, (stop) => statement(sql, values, stop, take));
  return { row: inTurn, rows: async (...given) => void (await inTurn(...given)) };
}

// Each connection sets them once, so that they hold before a statement is parsed. The rows that are asked for are looked up by
// index in tables that are mostly in memory: the default price of a random page makes the planner walk whole indexes in
// the order of a sort instead. Compiling statements to machine code costs more than they take; parallel workers would take
// the processors of other statements. A reorg locks tables for a moment: statements wait for it nearly as long as they may take,
// where Ponder's setting fails them after half a second. What a lock holds up is not slow: its clients may try again.
const sessionSettings = (timeoutMs: number) =>
  `SET random_page_cost = 1.1; SET jit = off; SET max_parallel_workers_per_gather = 0; SET work_mem = '64MB'; SET hash_mem_multiplier = 1;
   SET lock_timeout = ${Math.ceil(timeoutMs * 0.9)}; SET statement_timeout = ${timeoutMs}`;

// Left to itself, Postgres goes on planning a statement for its values where that promises a cheaper plan, without regard to what
// planning takes.
const planning = { once: "force_generic_plan", always: "auto" } as const;

function createPooled(
  pool: Pool,
  { timeoutMs, responseBytes }: Pick<DatabaseLimits, "timeoutMs" | "responseBytes">,
): Run {
  // A connection is here once it has the session's settings, with how it plans.
  const modes = new WeakMap<PoolClient, string>();
  const canceller = ownConnections(pool, { max: 1, idleTimeoutMillis: 0 });

  async function prepare(client: PoolClient, mode: string) {
    if (!modes.has(client)) {
      await client.query({ text: sessionSettings(timeoutMs) });
      modes.set(client, planning.always);
    }
    if (modes.get(client) !== mode) await client.query({ text: `SET plan_cache_mode = ${mode}` });
    modes.set(client, mode);
  }

  const once: Run = async (text, values, signal, take) => {
    const client = await pool.connect();
    const ended = new AbortController();
    let cancellation: Promise<unknown> | undefined;
    const cancel = () => {
      cancellation ??= cancelUntil(ended.signal, canceller, client);
    };
    let isBroken = true;
    try {
      const name = plannedOnce.get(text);
      await prepare(client, name === undefined ? planning.always : planning.once);
      isBroken = false;
      signal.throwIfAborted();
      signal.addEventListener("abort", cancel, { once: true });
      const types = { getTypeParser: () => readUpTo(responseBytes, cancel, take) };
      const { rows } = await client.query({ name, text, values: [...values], rowMode: "array", types });
      return (rows[0] ?? []).map(toText);
    } finally {
      signal.removeEventListener("abort", cancel);
      if (cancellation !== undefined) {
        ended.abort();
        // A cancellation that is still on its way must not hit the connection's next statement.
        await cancellation;
      }
      client.release(isBroken);
    }
  };
  return async (...statement) => {
    for (;;) {
      try {
        return await once(...statement);
      } catch (error) {
        const code = error instanceof Error && "code" in error ? error.code : undefined;
        if (code === lockNotAvailable) throw new BusyError(1, lockedUp);
        // A reorganization got in the way of the read, which begins again, within its time.
        if (code !== deadlock) throw error;
      }
    }
  };
}

// Cancels a statement whose rows have more characters than this together.
function readUpTo(most: number, cancel: () => void, take?: Take) {
  let characters = 0;
  return (text: string): string => {
    characters += text.length;
    if (characters > most) {
      cancel();
      throw new RowTooLongError();
    }
    take?.(text);
    return take ? "" : text;
  };
}

// Postgres' codes.
const deadlock = "40P01";
const lockNotAvailable = "55P03";

const cancelAgainMs = 500;

// A backend that has not begun the statement yet ignores a cancellation: it is repeated until the statement has ended.
async function cancelUntil(
  ended: AbortSignal,
  canceller: Pick<Pool, "query">,
  { processID }: PoolClient,
): Promise<void> {
  while (!ended.aborted) {
    // Where the cancellation fails, the statement ends by the session's timeout.
    await canceller
      .query({ text: "SELECT pg_cancel_backend($1)", values: [processID] })
      .catch(() => undefined);
    await pause(cancelAgainMs, undefined, { signal: ended }).catch(() => undefined);
  }
}

// ponder: large updates pass through temporary tables named like the real ones. PGlite has one session, in which they
// would hide the real tables from then on: here they are searched last.
const ownTablesFirst = "SELECT set_config('search_path', quote_ident(current_schema()) || ', pg_temp', true)";

function createEmbedded(client: EmbeddedClient): Run {
  return async (text, values, signal, take) => {
    signal.throwIfAborted();
    const result = await client.transaction(async (transaction) => {
      // Nothing can stop a statement of this database: its thread is that of the service. It is not begun in vain.
      signal.throwIfAborted();
      await transaction.query(ownTablesFirst, [], { rowMode: "array" });
      return transaction.query(text, [...values], { rowMode: "array" });
    });
    if (take) for (const [value] of result?.rows ?? []) take(toText(value) ?? "");
    return (result?.rows[0] ?? []).map(toText);
  };
}

function toText(value: unknown): string | null {
  return typeof value === "string" ? value : null;
}

// --- Turns of statements ---

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

// One object each, since each new error would compute its stack.
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
  // They are kept by client and for a minute: what is slow with one's values may be quick with another's.
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
