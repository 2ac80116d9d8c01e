import type { Socket } from "node:net";
import { z } from "zod/v4";
import { expectOfPonder } from "./expected.ts";

/** Runs one SQL statement that gives one row; its columns as texts. Cancels the statement once `signal` is aborted. */
export type RowReader = {
  row(sql: string, values: readonly string[], signal: AbortSignal): Promise<(string | null)[]>;
};

/** Runs one statement; rows by column name. PGlite and clients of node-postgres have it as `query`. */
export type Statement = (text: string, values?: unknown[]) => Promise<{ rows: Record<string, unknown>[] }>;

/** A name as an SQL identifier. */
export const quoted = (name: string) => `"${name.replaceAll('"', '""')}"`;

/** Rows of a statement, each a list of its columns. */
type SqlResult = { rows: unknown[][] };

/** A connection of node-postgres. */
export type PoolClient = {
  /** Of its backend; null until it is known. */
  readonly processID?: number | null;
  /** What it sends and receives, after TLS. */
  readonly connection: { stream: Pick<Socket, "on" | "off" | "listeners"> };
  query(query: {
    text: string;
    values?: unknown[];
    rowMode?: "array";
    /** Milliseconds until the connection gives up waiting. */
    query_timeout?: number;
  }): Promise<SqlResult>;
  /** Closes the connection at once if a statement runs, which then fails. */
  end(): Promise<void>;
  release(error?: boolean): void;
};

/** A connection pool of node-postgres. */
export type Pool = {
  connect(): Promise<PoolClient>;
  query(text: string, values: unknown[]): Promise<unknown>;
  readonly options: { max?: number | undefined; password?: unknown };
};

/** A pool of one connection to the database of another pool, opened when it is first needed and kept. */
export function ownConnection(other: Pool): Pick<Pool, "query"> {
  // ponder: the driver is the framework's. Its pools hide their password from copies.
  const Same = other.constructor as new (
    options: object,
  ) => Pool & { on(event: "error", listener: () => void): void };
  const pool = new Same({
    ...other.options,
    password: other.options.password,
    max: 1,
    idleTimeoutMillis: 0,
    allowExitOnIdle: true,
  });
  // A connection that is lost while idle is opened again when it is needed.
  pool.on("error", () => undefined);
  return pool;
}

type EmbeddedQueries = {
  query(text: string, values: unknown[], options: { rowMode: "array" }): Promise<SqlResult>;
};

/** PGlite, the embedded database. */
export type EmbeddedClient = {
  transaction(use: (transaction: EmbeddedQueries) => Promise<SqlResult>): Promise<SqlResult | undefined>;
};

/** The client behind a drizzle database. */
export type SqlClient = Pool | EmbeddedClient;

const holder = z.object({
  $client: z.custom<SqlClient>((value) => {
    const client = (value ?? {}) as { [Name in keyof (Pool & EmbeddedClient)]?: unknown };
    return (
      typeof client.transaction === "function" ||
      (typeof client.connect === "function" && typeof client.options === "object")
    );
  }, "expected a node-postgres pool or PGlite"),
});

/** The client of the database that `ponder:api` gives, whose type does not show it. Throws PonderDiffersError. */
export function sqlClientOf(db: object): SqlClient {
  // ponder: drizzle keeps it under this name.
  return expectOfPonder(holder, { $client: (db as { $client?: unknown }).$client }, "db").$client;
}
