import { PGlite } from "@electric-sql/pglite";
import { expect, test } from "vitest";
import {
  createSearchIndexes,
  createSearchIndexesWhenReady,
  searchIndexStatements,
} from "./search-indexes.ts";

test("names schemas and the extension's operators in full", () => {
  const statements = searchIndexStatements('my"schema', "extensions");
  expect(statements.filter((text) => !text.startsWith("DO"))).toEqual([
    'CREATE INDEX CONCURRENTLY IF NOT EXISTS domain_name_search ON "my""schema".domain USING gin (name "extensions".gin_trgm_ops)',
    'CREATE INDEX CONCURRENTLY IF NOT EXISTS domain_label_name_search ON "my""schema".domain USING gin (label_name "extensions".gin_trgm_ops)',
  ]);
});

test("waits for the backfill, then creates the indexes once and logs it", async () => {
  const statements: string[] = [];
  const lines: string[] = [];
  const states = [false, new Error("not yet"), true, true, true];
  const stop = createSearchIndexesWhenReady({
    isReady: async () => {
      const state = states.shift();
      if (state instanceof Error) throw state;
      return state ?? true;
    },
    connection: {
      query: async (text) => {
        statements.push(text);
        return { rows: [] };
      },
    },
    schema: "s",
    log: (_, line) => lines.push(line),
    everyMs: 5,
  });
  await expect.poll(() => lines).toEqual(["Names can be searched by index."]);
  await new Promise((resolve) => setTimeout(resolve, 30));
  expect(statements).toHaveLength(6);
  stop();
});

test("does without if the extension is not installed", async () => {
  const client = new PGlite();
  const outcome = await createSearchIndexes({ query: (text) => client.exec(text) }, "public");
  expect(outcome.state).toBe("unavailable");
  await client.close();
});
