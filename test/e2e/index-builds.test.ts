import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { buildIndexes } from "../../src/operations/indexes.ts";
import { type Pool, type Statement, slowConnections } from "../../src/ponder/sql-client.ts";
import { tableStatements } from "../support/create-tables.ts";
import { createEmptyDatabase, createPool } from "../support/postgres.ts";
import { generateStatements } from "../support/subgraph/generate.ts";

let database: Awaited<ReturnType<typeof createEmptyDatabase>>;
beforeAll(async () => {
  database = await createEmptyDatabase(inject("postgresUrl"));
});
afterAll(() => database?.drop());

test("builds give way to VACUUM ANALYZE, and all indexes are there in the end", async () => {
  const pool = createPool(database.url, 2);
  const run = (text: string, values: unknown[] = []) => pool.query(text, values);
  for (const text of [...tableStatements(), ...generateStatements(20_000)]) await run(text);
  const own = slowConnections(pool as unknown as Pool & { query: Statement });
  const lines: string[] = [];
  let isEnded = false;
  let rounds = 0;
  const maintenance = (async () => {
    for (; !isEnded; rounds += 1) await run("VACUUM ANALYZE");
  })();
  maintenance.catch(() => undefined);
  const build = buildIndexes({
    isBackfilled: async () => true,
    run: (text, values = []) => own.query(text, values),
    schema: "public",
    log: (level, line) => lines.push(`${level} ${line}`),
    everyMs: 1,
    retryMs: 1,
  });
  try {
    await expect.poll(build.isComplete).toBe(true);
    isEnded = true;
    await maintenance;
    expect(rounds).toBeGreaterThan(0);
    const { rows } = await run("SELECT count(*)::int AS invalid FROM pg_index WHERE NOT indisvalid");
    expect(rows).toEqual([{ invalid: 0 }]);
  } finally {
    isEnded = true;
    build.stop();
    await maintenance.catch(() => undefined);
    await pool.end();
  }
});
