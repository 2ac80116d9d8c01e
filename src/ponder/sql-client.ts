import { z } from "zod/v4";
import { expectOfPonder } from "./expected.ts";

/** Runs one SQL statement that gives one row; its columns as texts. Cancels the statement once `signal` is aborted. */
export type RowReader = {
  row(sql: string, values: readonly string[], signal: AbortSignal): Promise<(string | null)[]>;
};

/** Rows of a statement, each a list of its columns. */
export type SqlResult = { rows: unknown[][] };

/** A connection of node-postgres. */
export type PoolClient = {
  query(query: { text: string; values?: unknown[]; rowMode?: "array" }): Promise<SqlResult>;
  release(error?: boolean): void;
};

/** A connection pool of node-postgres. */
export type Pool = {
  connect(): Promise<PoolClient>;
  query(text: string, values: unknown[]): Promise<unknown>;
  readonly options: { max?: number | undefined };
};

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
