import pRetry from "p-retry";
import { membersOfPonder } from "./expected.ts";

/** Runs a statement that returns one row, as texts. Cancels it once `signal` is aborted. */
export type RowReader = {
  row(sql: string, values: readonly string[], signal: AbortSignal): Promise<(string | null)[]>;
};

/** Runs a statement; rows are by column name. It is `query` of node-postgres clients. */
export type Statement = (text: string, values?: unknown[]) => Promise<{ rows: Record<string, unknown>[] }>;

/** A name as an SQL identifier. */
export const quoted = (name: string) => `"${name.replaceAll('"', '""')}"`;

/** Whether the database has this table, given as `schema.table`, each part quoted where needed. */
export async function hasTable(run: Statement, table: string): Promise<boolean> {
  const { rows } = await run("SELECT to_regclass($1) IS NOT NULL AS found", [table]);
  return rows[0]?.["found"] === true;
}

/**
 * SQL that runs statements `CREATE … IF NOT EXISTS`. Such a statement alone fails if another process creates the same
 * object at the same time. An advisory lock does not help: any role may take it and keep it.
 */
export const createSql = (statements: string) =>
  `DO $create$ BEGIN ${statements}; EXCEPTION WHEN unique_violation OR duplicate_table OR duplicate_schema OR duplicate_object THEN NULL; END $create$`;

/** Creates a table unless it exists. */
export const createTable = (run: (text: string) => Promise<unknown>, definition: string) =>
  run(createSql(`CREATE TABLE IF NOT EXISTS ${definition}`));

/** Does work in one transaction; `run` must have a connection of its own. */
export async function inTransaction<T>(run: Statement, work: () => Promise<T>): Promise<T> {
  await run("BEGIN");
  try {
    const result = await work();
    await run("COMMIT");
    return result;
  } catch (error) {
    await run("ROLLBACK");
    throw error;
  }
}

/** Does work before Ponder indexes; waits out an outage of half a minute, as Ponder does. */
export const throughOutage = (work: () => Promise<unknown>) =>
  pRetry(work, { retries: 9, minTimeout: 500, maxTimeout: 5_000 });

type SqlResult = { rows: unknown[][] };

type QueryConfig = {
  /** A named statement is parsed once per connection, and planned once if one plan fits all values. */
  name?: string | undefined;
  text: string;
  values?: unknown[];
  rowMode?: "array";
  /** Parses each value of a row. */
  types?: { getTypeParser(): (text: string) => unknown } | undefined;
  /** Milliseconds until the connection gives up waiting. */
  query_timeout?: number;
};

// The lower half of a connection of node-postgres, which speaks the protocol.
type Wire = {
  on(event: "connect" | "sslconnect" | "end" | "error", listener: () => void): void;
  connect(port: number | string, host?: string): void;
  requestSsl(): void;
  cancel(processID: unknown, secretKey: unknown): void;
  readonly stream: { destroy(): void };
};

/** A connection of node-postgres. */
export type PoolClient = {
  readonly host: string;
  readonly port: number;
  /** What the server, or the pooler before it, knows the connection by. */
  readonly processID?: unknown;
  readonly secretKey?: unknown;
  readonly connection: Wire & { ssl: unknown; sslNegotiation: unknown };
  query(query: QueryConfig): Promise<SqlResult>;
  release(error?: boolean): void;
};

/** A connection pool of node-postgres. A statement sent by the pool itself ends its connection if it fails. */
export type Pool = {
  connect(): Promise<PoolClient>;
  query(query: QueryConfig): Promise<SqlResult>;
  readonly options: { max?: number | undefined; password?: unknown; connectionString?: string | undefined };
};

type OwnOptions = {
  max?: number;
  idleTimeoutMillis?: number;
  statement_timeout?: number;
  /** In place of the other pool's. */
  connectionString?: string;
  connectionTimeoutMillis?: number;
  /** Runs on each connection before it is used. */
  onConnect?: (client: { query(text: string): Promise<unknown> }) => Promise<unknown>;
};

type Events = { on(event: string, listener: (client: EndedConnection) => void): unknown };
type EndedConnection = Events & { end(): Promise<unknown> };

const ignore = () => undefined;

/** A pool to the database of another pool; connections open on demand. `options` are those of node-postgres. */
export function ownConnections<Own extends Pool>(other: Own, options: OwnOptions): Own & EndedConnection {
  // ponder: the driver is Ponder's. Its pools hide their password from copies.
  const Same = other.constructor as new (options: object) => Own & EndedConnection;
  const pool = new Same({
    ...other.options,
    password: other.options.password,
    ...options,
    allowExitOnIdle: true,
  });
  // A connection that is lost while idle, or between two statements, is opened again on demand.
  pool.on("error", ignore);
  pool.on("connect", (client) => void client.on("error", ignore));
  return pool;
}

const cancelMs = 5_000;

/**
 * Sends a CancelRequest (Postgres, "Canceling Requests in Progress") for the statement of a connection. Resolves once
 * no cancellation is on its way any more: the server closes the request's own connection when it has passed the signal
 * on, a pooler when its server has.
 */
export function cancelStatement({ connection, host, port, processID, secretKey }: PoolClient): Promise<void> {
  const { ssl, sslNegotiation } = connection;
  const Same = connection.constructor as new (options: object) => Wire;
  const wire = new Same({ ssl, sslNegotiation });
  const send = () => wire.cancel(processID, secretKey);
  return new Promise<void>((resolve) => {
    // A server that hangs accepts connections.
    const timer = setTimeout(() => wire.stream.destroy(), cancelMs);
    const done = () => {
      clearTimeout(timer);
      resolve();
    };
    wire.on("error", done);
    wire.on("end", done);
    wire.on("sslconnect", send);
    wire.on("connect", () => {
      if (!ssl) send();
      else if (sslNegotiation !== "direct") wire.requestSsl();
    });
    if (host.startsWith("/")) wire.connect(`${host}/.s.PGSQL.${port}`);
    else wire.connect(port, host);
  });
}

// If a build and an ANALYZE wait for each other, the build finds the deadlock first and is retried; maintenance by hand
// is not. Only superusers and roles with the right to (deploy/postgres/roles.sql) may set it.
const givingWay = "SET deadlock_timeout = '10ms'";

/**
 * Three connections for statements that may take hours: an index over a hundred million rows takes one on a slow disk.
 */
export const slowConnections = <Own extends Pool>(other: Own) =>
  ownConnections(other, {
    max: 3,
    idleTimeoutMillis: 10_000,
    statement_timeout: 86_400_000,
    // Without the right, builds run unchanged.
    onConnect: (client) => client.query(givingWay).catch(() => undefined),
  });

/** The client of the database of `ponder:api`, whose type does not show it. Throws PonderDiffersError. */
export function findSqlClient(db: object): Pool {
  // ponder: drizzle keeps it under this name.
  return membersOfPonder<{ $client: Pool }>(db, "db", "$client").$client;
}

/** The response to a request that needs the database while it is away. */
export const databaseAway = {
  message: "The database does not respond.",
  details: "Try again in some seconds.",
};

// Node's codes of failed connections; Postgres' states of ended or refused ones; node-postgres' messages for both.
const systemCodes = /^(ECONN(REFUSED|RESET|ABORTED)|EPIPE|ETIMEDOUT|ENOTFOUND|EAI_AGAIN|E(HOST|NET)UNREACH)$/;

const sqlStates = /^(08...|57P0[1-3]|53300)$/;

const driverMessages =
  /^(Connection terminated|timeout (exceeded when trying to connect|expired)|Query read timeout|Client (has encountered a connection error|was closed))/;

/** Whether a statement failed because the database is unavailable. */
export function isDatabaseAway(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const { code = "", severity } = error as Error & { code?: unknown; severity?: unknown };
  // Postgres also reports it for values that a statement does not use; only FATAL, as from PgBouncer, is about the
  // connection.
  if (code === "08P01" && severity !== "FATAL") return false;
  return systemCodes.test(String(code)) || sqlStates.test(String(code)) || driverMessages.test(error.message);
}

/** The first column of a statement's row. On Postgres it rejects if the server does not respond within `timeoutMs`. */
export async function readText(pool: Pool, text: string, timeoutMs: number): Promise<unknown> {
  const { rows } = await pool.query({ text, rowMode: "array", query_timeout: timeoutMs });
  return rows[0]?.[0];
}
