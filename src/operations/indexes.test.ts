import { getTableName, is, Table } from "drizzle-orm";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import * as schema from "../../ponder.schema.ts";
import { createTestDatabase, type TestDatabase } from "../../test/support/database.ts";
import type { Statement } from "../ponder/sql-client.ts";
import { tableIndexes } from "../schema/indexes.ts";
import {
  areIndexesBuilt,
  buildIndexes,
  builtIndexesSql,
  createSearchIndexes,
  indexStatement,
} from "./indexes.ts";

test("has indexes of every table but those that are read by their keys alone", () => {
  const indexed = new Set(tableIndexes().map(({ table }) => table));
  const names = Object.values(schema).flatMap((table) => (is(table, Table) ? [getTableName(table)] : []));
  expect(names.filter((name) => !indexed.has(name)).sort()).toEqual([
    "account",
    "migrated_nodes",
    "read_allowances",
    "resolvers",
    "subregistries",
    "v2_accounts",
    "v2_aliases",
    "v2_kept_fuses",
    "v2_labels",
    "v2_naming_jobs",
    "v2_naming_queue",
    "v2_record_generations",
    "v2_registry_paths",
  ]);
});

test("names the schema in full, and builds online", () => {
  const index = {
    name: "domain_by_owner",
    table: "domain",
    method: "btree",
    keys: "(owner_id, id)",
  } as const;
  expect(indexStatement(index, 'my"schema')).toBe(
    'CREATE INDEX CONCURRENTLY IF NOT EXISTS domain_by_owner ON "my""schema".domain USING btree (owner_id, id)',
  );
});

// Each test goes on with the indexes that those before have built.
describe("over an index", () => {
  let client: TestDatabase;
  let statements: string[];
  let lines: string[];
  beforeAll(async () => {
    client = await createTestDatabase("tables");
  });
  beforeEach(() => {
    [statements, lines] = [[], []];
  });
  afterAll(() => client.close());

  const query: Statement = async (text, values) => {
    statements.push(text);
    const { rows } = await client.query<Record<string, unknown>>(text, values);
    return { rows };
  };
  const start = (given: Partial<Parameters<typeof buildIndexes>[0]> = {}) =>
    buildIndexes({
      isBackfilled: async () => true,
      run: query,
      schema: "public",
      log: (level, line) => lines.push(`${level} ${line}`),
      everyMs: 5,
      retryMs: 5,
      ...given,
    });
  const built = async () => {
    const { rows } = await client.query<{ built: string }>(`SELECT ${builtIndexesSql("public")} AS built`);
    return rows[0]?.built;
  };
  const total = tableIndexes().length;

  test("waits for the backfill, then builds all of them and says so", async () => {
    expect(areIndexesBuilt(await built())).toBe(false);
    const states = [false, new Error("not yet"), false];
    const build = start({
      isBackfilled: async () => {
        const state = states.shift() ?? true;
        if (state instanceof Error) throw state;
        return state;
      },
    });
    expect(build.progress()).toBeUndefined();
    await expect.poll(() => build.progress()?.built).toBe(total);
    await expect
      .poll(() => lines)
      .toEqual([
        "info Search index ready.",
        `info Building ${total} indexes for queries; /ready waits for them.`,
        expect.stringMatching(`^info Built ${total} indexes for queries in \\d+ s\\.$`),
      ]);
    expect(await built()).toBe(String(total));
    expect(areIndexesBuilt(await built())).toBe(true);
    build.stop();
    // Before it counts rows, it says that a name may have a hundredth of them below it.
    const ofDomain = statements.filter((text) => /^(ALTER TABLE|ANALYZE) \S+\.domain\b/.test(text));
    expect(ofDomain.map((text) => text.split(" ")[0])).toEqual(["ALTER", "ANALYZE"]);
    const { rows } = await client.query(
      "SELECT attoptions FROM pg_attribute WHERE attrelid = 'domain'::regclass AND attname = 'parent_id'",
    );
    expect(rows).toEqual([{ attoptions: ["n_distinct=100"] }]);
  });

  test("after a restart builds only those that are missing", async () => {
    await client.exec("DROP INDEX domain_by_owner; DROP INDEX name_tokens_by_owner");
    expect(areIndexesBuilt(await built())).toBe(false);
    const second = start();
    await expect.poll(() => lines).toHaveLength(3);
    // Tables are built side by side.
    expect(statements.filter((text) => text.includes("USING btree")).sort()).toEqual([
      'CREATE INDEX CONCURRENTLY IF NOT EXISTS domain_by_owner ON "public".domain USING btree (owner_id, left(id, 10))',
      'CREATE INDEX CONCURRENTLY IF NOT EXISTS name_tokens_by_owner ON "public".name_tokens USING btree (owner)',
    ]);
    second.stop();

    statements = [];
    const third = start();
    await expect.poll(() => third.progress()).toEqual({ built: total, total });
    expect(statements.filter((text) => text.includes("USING btree"))).toEqual([]);
    expect(lines.slice(3)).toEqual(["info Search index ready."]);
    third.stop();
  });

  test("first closes the gaps in tables whose rows change, once, if they have no indexes yet", async () => {
    const without = ["resolver", "wrapped_domain", "reverse_name_events"];
    const dropped = tableIndexes().filter(({ table }) => without.includes(table));
    for (const { name } of dropped) await client.exec(`DROP INDEX ${name}`);
    // A transaction holds the second table for a while.
    let isHeld = true;
    const run: Statement = async (text, values) => {
      if (isHeld && text.includes("LOCK TABLE") && text.includes("wrapped_domain")) {
        isHeld = false;
        throw new Error("canceling statement due to lock timeout");
      }
      statements.push(text);
      const { rows } = text.startsWith("SELECT") ? await client.query(text, values) : { rows: [] };
      return { rows: rows as Record<string, unknown>[] };
    };
    const build = start({ run });
    await expect.poll(build.isComplete).toBe(true);
    expect(statements.filter((text) => text.startsWith("VACUUM"))).toEqual([
      'VACUUM (FULL) "public".resolver',
      'VACUUM (FULL) "public".wrapped_domain',
    ]);
    expect(isHeld).toBe(false);
    const firstOf = (word: string) => statements.findIndex((text) => text.startsWith(word));
    expect(firstOf("VACUUM")).toBeLessThan(firstOf("CREATE INDEX"));
    for (const index of dropped) await client.exec(indexStatement(index, "public"));
  });

  test("is complete only when searches have their indexes too", async () => {
    const held = Promise.withResolvers<void>();
    const run: Statement = async (text, values) => {
      if (text.includes("gin")) await held.promise;
      const { rows } = await client.query(text, values);
      return { rows: rows as Record<string, unknown>[] };
    };
    const second = start({ run });
    expect(areIndexesBuilt(await built())).toBe(true);
    expect(second.isComplete()).toBe(false);
    held.resolve();
    await expect.poll(second.isComplete).toBe(true);
    expect(lines.at(-1)).toBe("info Search index ready.");
  });

  test("after an error tries again, only when no other table is being built any more", async () => {
    let [running, max, fails] = [0, 0, true];
    const build = start({
      run: async (text) => {
        if (!text.startsWith("CREATE INDEX")) {
          if (text.startsWith("SELECT")) max = Math.max(max, running);
          return { rows: [] };
        }
        running += 1;
        await new Promise((resolve) => setTimeout(resolve, fails ? 1 : 20));
        running -= 1;
        if (!fails) return { rows: [] };
        fails = false;
        throw new Error("deadlock detected");
      },
    });
    await expect.poll(() => build.progress()?.built).toBe(total);
    expect(lines.filter((line) => line.startsWith("warn"))).toEqual([
      "warn A database index could not be built; retrying: deadlock detected.",
    ]);
    expect(max).toBe(0);
    build.stop();
  });

  test("searches go on without trigrams if the extension is not installed", async () => {
    const run = (text: string) => client.query(text.replace("pg_trgm", "absent"));
    expect(await createSearchIndexes(run, "public")).toBe('extension "absent" is not available');
  });
});
