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
  return {
    // One stays free to carry a cancellation, one for the other endpoints that share the pool.
    connections: Math.max(1, (pool.options.max ?? 10) - 2),
    async row(text, values, signal) {
      signal.throwIfAborted();
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
    },
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
