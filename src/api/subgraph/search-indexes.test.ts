import { PGlite } from "@electric-sql/pglite";
import { expect, test } from "vitest";
import { createSearchIndexes, searchIndexStatements } from "./search-indexes.ts";

test("tells the statements that an operator may run", () => {
  expect(searchIndexStatements('my"schema')).toEqual([
    "CREATE EXTENSION IF NOT EXISTS pg_trgm",
    'CREATE INDEX CONCURRENTLY IF NOT EXISTS domain_name_search ON "my""schema".domain USING gin (name gin_trgm_ops)',
    'CREATE INDEX CONCURRENTLY IF NOT EXISTS domain_label_name_search ON "my""schema".domain USING gin (label_name gin_trgm_ops)',
  ]);
});

test("goes without where the extension is not installed", async () => {
  const client = new PGlite();
  const outcome = await createSearchIndexes({ query: (text) => client.exec(text) }, "public");
  expect(outcome.state).toBe("unavailable");
  await client.close();
});
