import { expect, test } from "vitest";
import type { Pool } from "../../ponder/sql-client.ts";
import { createDatabase } from "./client.ts";

/** A pool whose statements fail as `failures` say, one after the other; `tried` counts them. */
function failing(failures: readonly object[]) {
  const left = [...failures];
  const counts = { tried: 0 };
  const run = async (text: string) => {
    if (text !== "SELECT 1") return { rows: [] };
    counts.tried += 1;
    const failure = left.shift();
    if (failure !== undefined) throw Object.assign(new Error(), failure);
    return { rows: [["1"]] };
  };
  const query = ({ text }: { text: string }, done: (...result: unknown[]) => void) =>
    void run(text).then((result) => done(null, result), done);
  const pool = { options: {}, query, connect: async () => ({ query, release: () => undefined }) };
  const read = (limits = {}) =>
    createDatabase(pool as unknown as Pool, limits).row("SELECT 1", [], new AbortController().signal);
  return { read, counts };
}

// https://www.postgresql.org/docs/current/errcodes-appendix.html, and the texts of src/backend/tcop/postgres.c.
const conflict = { code: "40001", message: "canceling statement due to conflict with recovery" };
const interruptions = [
  conflict,
  { code: "57014", message: "canceling statement due to conflict with recovery" },
  { code: "40001", message: "terminating connection due to conflict with recovery", severity: "FATAL" },
  { code: "40P01", message: "deadlock detected" },
  { code: "57P01", message: "terminating connection due to administrator command" },
  { code: "57P03", message: "the database system is starting up" },
  { code: "ECONNREFUSED", message: "connect ECONNREFUSED 127.0.0.1:5432" },
  { message: "Connection terminated unexpectedly" },
];

test.each(interruptions)("starts over after $code $message", async (failure) => {
  const { read, counts } = failing([failure, failure]);
  expect([await read(), counts.tried]).toEqual([["1"], 3]);
});

test.each([
  { code: "57014", message: "canceling statement due to user request" },
  { code: "57014", message: "canceling statement due to statement timeout" },
  { code: "42P01", message: 'relation "domain" does not exist' },
])("fails at once after $message", async (failure) => {
  const { read, counts } = failing([failure]);
  await expect(read()).rejects.toMatchObject(failure);
  expect(counts.tried).toBe(1);
});

test("what is interrupted again and again is to be asked later", async () => {
  const limits = { timeoutMs: 200 };
  const again = (failure: object) => failing(Array.from({ length: 1_000 }, () => failure)).read(limits);
  await expect(again(conflict)).rejects.toMatchObject({ name: "BusyError", retryAfter: 1 });
  await expect(again({ code: "57P03" })).rejects.toMatchObject({ code: "57P03" });
});
