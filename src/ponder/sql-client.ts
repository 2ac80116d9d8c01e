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
  query(query: {
    text: string;
    values?: unknown[];
    rowMode?: "array";
    /** Milliseconds until the connection gives up waiting. */
    query_timeout?: number;
  }): Promise<SqlResult>;
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

/** The response to a request that needs the database while it is away. */
export const databaseAway = {
  message: "The database does not respond.",
  details: "Try again in some seconds.",
};

// Node's codes of connections that fail; Postgres' classes of those it ends or refuses; what node-postgres says of both.
const systemCodes = /^(ECONN(REFUSED|RESET|ABORTED)|EPIPE|ETIMEDOUT|ENOTFOUND|EAI_AGAIN|E(HOST|NET)UNREACH)$/;
const sqlStates = /^(08...|57P0[1-3]|53300)$/;
const driverMessages =
  /^(Connection terminated|timeout exceeded when trying to connect|Query read timeout|Client has encountered a connection error)/;

/** Whether an error of a statement says that the database is away, and not that the statement failed. */
export function isDatabaseAway(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const code = "code" in error ? String(error.code) : "";
  return systemCodes.test(code) || sqlStates.test(code) || driverMessages.test(error.message);
}

/**
 * The first column of a statement's row, read on a connection beside those of requests. On Postgres it rejects when the
 * server has not responded after `timeoutMs`.
 */
export async function readText(client: SqlClient, text: string, timeoutMs: number): Promise<unknown> {
  if (!("connect" in client)) {
    const result = await client.transaction((inner) => inner.query(text, [], { rowMode: "array" }));
    return result?.rows[0]?.[0];
  }
  const connection = await client.connect();
  let isSound = false;
  try {
    const { rows } = await connection.query({ text, rowMode: "array", query_timeout: timeoutMs });
    isSound = true;
    return rows[0]?.[0];
  } finally {
    connection.release(!isSound);
  }
}
