import { PGlite } from "@electric-sql/pglite";
import { drizzle as drizzlePool } from "drizzle-orm/node-postgres";
import { drizzle } from "drizzle-orm/pglite";
import pg from "pg";
import { expect, test } from "vitest";
import { sqlClientOf } from "./sql-client.ts";

test("finds the client behind drizzle's databases", async () => {
  const embedded = new PGlite();
  expect(sqlClientOf(drizzle(embedded))).toBe(embedded);
  await embedded.close();
  const pool = new pg.Pool();
  expect(sqlClientOf(drizzlePool(pool))).toBe(pool);
  await pool.end();
});

test("reports what a database without a client lacks", () => {
  expect(() => sqlClientOf({})).toThrow(
    /written for Ponder 0\.17\.7: db\.\$client: expected a node-postgres pool or PGlite/,
  );
});
