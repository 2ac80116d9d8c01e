import { expect, test } from "vitest";
import { findSqlClient, isDatabaseAway } from "./sql-client.ts";

test("reports what a database without a client lacks", () => {
  expect(() => findSqlClient({})).toThrow("Unsupported Ponder version: db lacks $client");
});

// Codes of Node's errors and SQLSTATEs (Postgres, appendix A); messages of node-postgres 8.
test.each([
  [{ code: "ECONNREFUSED" }, true],
  [{ code: "ENOTFOUND" }, true],
  [{ code: "08006" }, true],
  [{ code: "08P01", severity: "FATAL", message: "query_wait_timeout" }, true],
  [{ code: "08P01", severity: "ERROR", message: "bind message supplies 3 parameters" }, false],
  [{ code: "57P01" }, true],
  [{ code: "57P03" }, true],
  [{ code: "53300" }, true],
  [{ message: "Connection terminated unexpectedly" }, true],
  [{ message: "timeout exceeded when trying to connect" }, true],
  [{ code: "57014", message: "canceling statement due to statement timeout" }, false],
  [{ code: "42P01", message: "relation does not exist" }, false],
  [{ message: "TypeError" }, false],
])("an error with %o says that the database is away: %s", (error, expected) => {
  expect(isDatabaseAway(Object.assign(new Error(), error))).toBe(expected);
});
