import { drizzle } from "drizzle-orm/node-postgres";
import pg from "pg";
import { afterAll, beforeAll, beforeEach, describe, expect, inject, test } from "vitest";
import { account } from "../../src/schema/subgraph.ts";
import { tableStatements } from "../support/create-tables.ts";
import { changeRowsAtRandom, createStore, type TestDatabase } from "../support/ponder/random-rows.ts";
import { createEmptyDatabase } from "../support/postgres.ts";

const server = inject("postgresUrl");
let client: pg.Client | undefined;
let database: TestDatabase;
let drop: (() => Promise<void>) | undefined;

beforeAll(async () => {
  if (!server) return;
  const created = await createEmptyDatabase(server);
  drop = created.drop;
  const own = new pg.Client(created.url);
  await own.connect();
  for (const statement of tableStatements()) await own.query(statement);
  const db = drizzle(own, { casing: "snake_case" });
  database = {
    connect: () => ({
      $dialect: "postgres",
      $client: own,
      // Types of another driver.
      wrap: async (query) => query(db as never),
    }),
    run: (statement) => own.query(statement),
  };
  client = own;
});
afterAll(async () => {
  await client?.end();
  await drop?.();
});
beforeEach(async ({ skip }) => {
  if (client === undefined)
    return skip("needs a Postgres server: rows are copied and replaced in other ways there");
  await client.query("TRUNCATE account, resolver_records, v2_roles");
});

const id = (index: number): `0x${string}` => `0x${index.toString(16).padStart(40, "0")}`;

describe.each([4, 5, 6])("seed %i", (seed) => {
  test("uses, flushes and failed transactions leave what a map says", async () => {
    await changeRowsAtRandom(database, seed);
  });
});

test("a row that the database has already ends the index with what the database says", async () => {
  await client?.query("INSERT INTO account VALUES ($1, 7)", [id(123)]);
  const { store, cache, db } = createStore(1_000_000, { isEmpty: true });
  await client?.query("BEGIN");
  const connection = database.connect();
  store.qb = connection;
  cache.qb = connection;
  for (let index = 0; index < 200; index++)
    await db.insert(account).values({ id: id(index), changeBlock: 1 });
  await expect(cache.flush()).rejects.toThrow(
    expect.objectContaining({
      name: "NonRetryableUserError",
      message: expect.stringMatching(/^account: duplicate key value violates/),
    }),
  );
  await client?.query("ROLLBACK");
});
