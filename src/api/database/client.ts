import type {
  EmbeddedClient,
  Pool,
  PoolClient,
  RowReader,
  SqlClient,
  SqlResult,
} from "../../ponder/sql-client.ts";

/** Runs statements of one row. */
export type Database = RowReader & {
  /** Statements that can run at the same time. */
  readonly connections: number;
};

/** A database over a connection pool of node-postgres, or over PGlite, which has one connection. */
export function createDatabase(client: SqlClient): Database {
  return "connect" in client ? createPooled(client) : createEmbedded(client);
}

// What the statements of this folder need, once per connection. Their rows are looked up by index in tables
// that are mostly in memory: the default price of a random page makes the planner walk whole indexes in the
// order of a sort instead. Compiling them to machine code costs more than they take.
const sessionSettings = "SET random_page_cost = 1.1; SET jit = off";

function createPooled(pool: Pool): Database {
  const ready = new WeakSet<PoolClient>();
  // Two connections stay free for cancellations and for Ponder's own paths. Were all of them busy, the cancellations that
  // end their statements would wait for each other.
  const connections = Math.max(1, (pool.options.max ?? 10) - 2);
  const takeTurn = createTurns(connections);

  async function run(text: string, values: readonly string[], signal: AbortSignal) {
    const client = await pool.connect();
    let cancellation: Promise<unknown> | undefined;
    const cancel = () => {
      cancellation = pool
        .query("SELECT pg_cancel_backend($1)", [(client as { processID?: number }).processID])
        // The statement then ends by the pool's own timeout.
        .catch(() => undefined);
    };
    signal.addEventListener("abort", cancel, { once: true });
    try {
      if (!ready.has(client)) await client.query({ text: sessionSettings });
      ready.add(client);
      signal.throwIfAborted();
      return read(await client.query({ text, values: [...values], rowMode: "array" }));
    } finally {
      signal.removeEventListener("abort", cancel);
      // A cancellation that is still on its way must not hit the connection's next statement.
      await cancellation;
      client.release();
    }
  }

  return {
    connections,
    async row(text, values, signal) {
      const leave = await takeTurn(signal);
      try {
        return await run(text, values, signal);
      } finally {
        leave();
      }
    },
  };
}

/** Lets `most` callers in at a time, the others in order; rejects once `signal` is aborted. Resolves with a way out. */
function createTurns(most: number): (signal: AbortSignal) => Promise<() => void> {
  const waiting = new Set<() => void>();
  let running = 0;
  const leave = () => {
    const [next] = waiting;
    if (next === undefined) running -= 1;
    else next();
  };
  return async (signal) => {
    signal.throwIfAborted();
    if (running < most) {
      running += 1;
      return leave;
    }
    const { promise, resolve, reject } = Promise.withResolvers<() => void>();
    const enter = () => {
      waiting.delete(enter);
      signal.removeEventListener("abort", stop);
      resolve(leave);
    };
    const stop = () => {
      waiting.delete(enter);
      reject(signal.reason);
    };
    waiting.add(enter);
    signal.addEventListener("abort", stop, { once: true });
    return promise;
  };
}

// ponder: large updates pass through temporary tables named like the real ones. PGlite has one session, in which they
// would hide the real tables from then on: here they are searched last.
const ownTablesFirst = "SELECT set_config('search_path', quote_ident(current_schema()) || ', pg_temp', true)";

function createEmbedded(client: EmbeddedClient): Database {
  return {
    connections: 1,
    async row(text, values, signal) {
      signal.throwIfAborted();
      const result = await client.transaction(async (transaction) => {
        await transaction.query(ownTablesFirst, [], { rowMode: "array" });
        return transaction.query(text, [...values], { rowMode: "array" });
      });
      return read(result ?? { rows: [] });
    },
  };
}

function read({ rows }: SqlResult): (string | null)[] {
  return (rows[0] ?? []).map((value) => (typeof value === "string" ? value : null));
}
