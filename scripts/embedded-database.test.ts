import { PGlite as Published } from "@electric-sql/pglite";
import { afterAll, beforeAll, expect, test } from "vitest";
import { PGlite } from "./embedded-database.ts";

// Compared with the published class: Ponder must not notice a difference.
let published: Published;
let database: Published;

beforeAll(async () => {
  published = new Published();
  database = PGlite({});
  for (const one of [published, database]) {
    await one.exec(
      "CREATE TABLE t (id int PRIMARY KEY, big numeric(78), name text, list text[], data jsonb, at timestamptz)",
    );
  }
}, 60_000);
afterAll(async () => {
  await published.close();
  // The first close is the one after Ponder's check; the second ends it.
  await database.close();
  expect((await database.query("SELECT 1 AS one")).rows).toEqual([{ one: 1 }]);
  await database.close();
  expect(database.closed).toBe(true);
}, 60_000);

const insertion =
  "insert into t values ($1, $2, $3, $4, $5, $6) on conflict (id) do update set name = excluded.name returning id, name";
const rowOf = (id: number, name: string | null) => [
  id,
  2n ** 255n,
  name,
  ["a", 'quote " and \\', ""],
  { deep: [1, null] },
  new Date(1_700_000_000_000),
];

/** What both say, results or errors, in this order. */
async function both<T>(ask: (one: Published) => Promise<T>): Promise<[T, T]> {
  const outcome = (one: Published) => ask(one).catch(({ message, code }) => ({ message, code }) as T);
  return [await outcome(published), await outcome(database)];
}

test.each<[string, string, unknown[]]>([
  ["an insertion", insertion, rowOf(1, "one")],
  ["the same again, prepared", insertion, rowOf(2, null)],
  ["the same once more", insertion, rowOf(1, "again, with \u0001 and 🦄")],
  ["one that fails", insertion, ["no number", 1n, "", [], {}, new Date(0)]],
  ["one after a failure", insertion, rowOf(3, "three")],
  ["a selection", "select * from t order by id", []],
  ["none", "select * from t where id = $1", [99]],
  ["an update", "update t set name = $1 where id < $2", ["both", 3]],
  ["a deletion", "delete from t where id = $1 returning *", [3]],
  ["a wrong statement", "select nothing from nowhere", []],
  ["too few values", "select $1::int, $2::int", [1]],
])("%s", async (_, text, values) => {
  for (const options of [
    undefined,
    { rowMode: "array" as const, parsers: { 1184: (value: string) => value } },
  ]) {
    const [expected, found] = await both((one) => one.query(text, values, options));
    expect(found).toEqual(expected);
  }
});

test("a transaction, one that is rolled back, and a use of it after its end", async () => {
  const [expected, found] = await both(async (one) => {
    await one.transaction((tx) => tx.query(insertion, rowOf(10, "kept")));
    const lost = one.transaction(async (tx) => {
      await tx.query(insertion, rowOf(11, "lost"));
      await tx.query("select nothing from nowhere");
    });
    await expect(lost).rejects.toThrow('relation "nowhere" does not exist');
    let ended: Promise<unknown> | undefined;
    await one.transaction(async (tx) => {
      ended = new Promise((resolve) => setTimeout(() => resolve(tx.query("select 1").catch(String)), 50));
    });
    return [await ended, (await one.query("select id, name from t where id > 9")).rows];
  });
  expect(found).toEqual(expected);
  expect(found).toEqual(["Error: Transaction is closed", [{ id: 10, name: "kept" }]]);
});

test("a prepared insertion into a table that was changed", async () => {
  const text = "insert into u values ($1) returning *";
  const [expected, found] = await both(async (one) => {
    await one.exec("CREATE TABLE u (id int)");
    for (const id of [1, 2, 3]) await one.query(text, [id]);
    await one.exec("ALTER TABLE u ADD COLUMN more text DEFAULT 'x'");
    // What Postgres says once to a plan that it has kept.
    await one.query(text, [4]).catch(() => one.query(text, [4]));
    return (await one.query(text, [5])).rows;
  });
  expect(found).toEqual(expected);
});

test("COPY from a file", async () => {
  const [expected, found] = await both((one) =>
    one.query("COPY t (id, name) FROM '/dev/blob'", [], { blob: new Blob(["20\tcopied\n"]) }),
  );
  expect(found).toEqual(expected);
  expect((await database.query("select name from t where id = 20")).rows).toEqual([{ name: "copied" }]);
});
