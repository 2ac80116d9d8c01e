import type { SqlClient } from "./sql-client.ts";

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
