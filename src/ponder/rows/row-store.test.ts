import { integer, pgTable, text, timestamp } from "drizzle-orm/pg-core";
import pg from "pg";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { createTestDatabase, type TestDatabase } from "../../../test/support/database.ts";
import { changeRowsAtRandom, connectionTo, createStore } from "../../../test/support/ponder/random-rows.ts";
import { modesOf, seeds } from "../../../test/support/rounds.ts";
import { v2Role } from "../../schema/ensv2.ts";
import { account, domainEvent } from "../../schema/subgraph.ts";
import { describeTable } from "./table-shape.ts";

let database: TestDatabase;
let client: pg.Client;
let asked: string[] = [];
const connect = () => connectionTo(client, (text) => asked.push(text));

beforeAll(async () => {
  database = await createTestDatabase("tables");
  client = new pg.Client(database.url);
  await client.connect();
});
afterAll(async () => {
  await client?.end();
  await database?.close();
});
beforeEach(async () => {
  await client.query("TRUNCATE account, resolver_records, v2_roles");
  asked = [];
});

const id = (index: number): `0x${string}` => `0x${index.toString(16).padStart(40, "0")}`;
const queries = () => asked.filter((text) => text.startsWith("select")).length;

describe.each(seeds)("seed %i", (seed) => {
  test.each(modesOf(["own", "stock"] as const))(
    "uses, flushes and failed transactions leave what a map says, %s stores",
    async (stores) => {
      await changeRowsAtRandom(client, seed, stores);
    },
  );
});

describe("what is asked of the database", () => {
  async function storeWithRows(rows: number, maxBytes: number) {
    const created = createStore(maxBytes, { isEmpty: true });
    created.cache.qb = connect();
    for (let position = 0; position < rows; position++)
      await created.db
        .insert(account)
        .values({ id: id(position), changeBlock: 1 })
        .onConflictDoNothing();
    await created.cache.flush();
    await created.cache.prefetch({ events: [] });
    asked = [];
    return created;
  }

  test("nothing while all rows fit", async () => {
    const { db } = await storeWithRows(50, 1_000_000);
    for (let position = 0; position < 100; position++) {
      const row = position < 50 ? { id: id(position), changeBlock: 1 } : null;
      expect(await db.find(account, { id: id(position) })).toEqual(row);
    }
    expect(queries()).toBe(0);
  });

  test("rows that were dropped, and almost none that never was", async () => {
    const { db, cache } = await storeWithRows(50, 0);
    // The second time nothing was used since the first.
    await cache.prefetch({ events: [] });
    for (let position = 0; position < 50; position++)
      expect(await db.find(account, { id: id(position) })).toEqual({ id: id(position), changeBlock: 1 });
    expect(queries()).toBe(50);
    for (let position = 1_000; position < 2_000; position++)
      expect(await db.find(account, { id: id(position) })).toBeNull();
    expect(queries()).toBeLessThan(100);
  });

  describe("after a restart", () => {
    async function restarted() {
      await client.query(
        "INSERT INTO account (id, change_block) SELECT '0x' || lpad(to_hex(n), 40, '0'), 1 FROM generate_series(0, 49) n",
      );
      const created = createStore(1_000_000, { isEmpty: false });
      created.cache.qb = connect();
      for (let index = 1_000; index < 1_200; index++)
        expect(await created.db.find(account, { id: id(index) })).toBeNull();
      return created;
    }

    test("nothing about new keys, once as many were asked for as reading all keys is worth", async () => {
      const { db, cache } = await restarted();
      expect(queries()).toBe(200);
      await cache.prefetch({ events: [] });
      asked = [];
      for (let index = 2_000; index < 2_200; index++)
        expect(await db.find(account, { id: id(index) })).toBeNull();
      expect(queries()).toBeLessThan(20);
      for (let index = 0; index < 50; index++)
        expect(await db.find(account, { id: id(index) })).toEqual({ id: id(index), changeBlock: 1 });
    });

    test("nothing about rows that are there: all pages of keys of several columns are read", async () => {
      const all = 41_000;
      await client.query(
        `INSERT INTO v2_roles (chain_id, address, resource, account, roles) SELECT n % 3, '0x', '0x0' || n % 7, '0x' || lpad(to_hex(n), 40, '0'), '0x' FROM generate_series(1, ${all}) n`,
      );
      const { db, cache } = createStore(1_000_000, { isEmpty: false });
      cache.qb = connect();
      const key = (n: number) => ({
        chainId: n % 3,
        address: "0x",
        resource: `0x0${n % 7}`,
        account: id(n),
      });
      const absent = all / 50 + 1;
      for (let n = 0; n < absent; n++) await db.find(v2Role, key(all + 1 + n));
      await cache.prefetch({ events: [] });
      asked = [];
      for (let n = 1; n <= all; n += 41)
        expect(await db.find(v2Role, key(n))).toEqual({ ...key(n), roles: "0x" });
      for (let n = 0; n < absent; n++) expect(await db.find(v2Role, key(2 * all + n))).toBeNull();
      expect(queries()).toBeLessThan(all / 41 + 50);
    });

    test("about each new key after the backfill: a reorganization may bring back what was deleted", async () => {
      const { db, cache } = await restarted();
      // The end of a backfill without events.
      cache.clear();
      await cache.prefetch({ events: [] });
      await client.query("INSERT INTO account (id, change_block) VALUES ($1, 7)", [id(3_000)]);
      expect(await db.find(account, { id: id(3_000) })).toEqual({ id: id(3_000), changeBlock: 7 });
    });
  });

  test("about a row again whose deletion was flushed and rolled back", async () => {
    const { db, cache } = await storeWithRows(10, 1_000_000);
    expect(await db.delete(account, { id: id(3) })).toBe(true);
    await cache.flush();
    // The transaction fails.
    await client.query("INSERT INTO account (id, change_block) VALUES ($1, 1)", [id(3)]);
    cache.clear();
    expect(await db.find(account, { id: id(3) })).toEqual({ id: id(3), changeBlock: 1 });
    expect(await db.delete(account, { id: id(3) })).toBe(true);
    await cache.flush();
    await cache.prefetch({ events: [] });
    expect(await db.find(account, { id: id(3) })).toBeNull();
  });
});

// The later number is copied before the flush.
test.each([200, 2_100])(
  "of %i rows, one that the database has already ends the index with what the database says",
  async (rows) => {
    await client.query("INSERT INTO account VALUES ($1, 7)", [id(123)]);
    const { store, cache, db } = createStore(1_000_000, { isEmpty: true });
    await client.query("BEGIN");
    const connection = connect();
    store.qb = connection;
    cache.qb = connection;
    for (let index = 0; index < rows; index++)
      await db.insert(account).values({ id: id(index), changeBlock: 1 });
    const refusal = expect.objectContaining({
      name: "NonRetryableUserError",
      message: expect.stringMatching(/^account: duplicate key value violates/),
    });
    if (rows > 2_000) await expect(db.find(account, { id: id(3) })).rejects.toThrow(refusal);
    await expect(cache.flush()).rejects.toThrow(refusal);
    await client.query("ROLLBACK");
  },
);

test("rows that nobody reads are copied before the flush: a rollback takes them away, a later read sees them", async () => {
  const { store, cache, db } = createStore(1_000_000, { isEmpty: true });
  const countRows = async () => (await client.query("SELECT count(*)::int AS n FROM account")).rows[0].n;
  for (const end of ["ROLLBACK", "COMMIT"]) {
    await client.query("BEGIN");
    const connection = connect();
    store.qb = connection;
    cache.qb = connection;
    for (let index = 0; index < 2_500; index++)
      await db.insert(account).values({ id: id(index), changeBlock: 1 });
    expect(await countRows()).toBe(2_000);
    if (end === "COMMIT") {
      expect(await db.find(account, { id: id(3) })).toEqual({ id: id(3), changeBlock: 1 });
      expect(await db.update(account, { id: id(4) }).set({ changeBlock: 2 })).toEqual({
        id: id(4),
        changeBlock: 2,
      });
      await cache.flush();
    } else cache.clear();
    await client.query(end);
  }
  expect(await countRows()).toBe(2_500);
  const { rows } = await client.query("SELECT change_block FROM account WHERE id = ANY ($1) ORDER BY id", [
    [id(4), id(5)],
  ]);
  expect(rows.map((row) => Number(row.change_block))).toEqual([2, 1]);
});

test("uses of a row at the same time see each other's change", async () => {
  await client.query("INSERT INTO account (id, change_block) VALUES ($1, 1)", [id(0)]);
  const { db, cache } = createStore(1_000, { isEmpty: false });
  cache.qb = connect();
  const count = (row: Readonly<Record<string, unknown>>) => ({ changeBlock: Number(row["changeBlock"]) + 1 });
  await Promise.all([1, 2, 3].map(() => db.update(account, { id: id(0) }).set(count)));
  expect(await db.find(account, { id: id(0) })).toEqual({ id: id(0), changeBlock: 4 });
});

test("rows that events name in an argument are read together before their handlers ask for them", async () => {
  const eventCount = { Transfer: 1 };
  const { cache, db } = createStore(0, { isEmpty: true, eventCount });
  const transfer = (index: number) => ({
    type: "log",
    chain: { id: 1 },
    eventCallback: { name: "Transfer" },
    event: { id: "1", args: { to: id(index) }, log: {}, block: { timestamp: 1n }, transaction: {} },
  });
  cache.qb = connect();
  for (let index = 0; index < 50; index++) await db.insert(account).values({ id: id(index), changeBlock: 1 });
  await cache.flush();
  cache.event = transfer(7);
  await db.find(account, { id: id(7) });
  await cache.prefetch({ events: [] });
  asked = [];
  await cache.prefetch({ events: Array.from({ length: 50 }, (_, index) => transfer(index)) });
  expect(queries()).toBe(1);
  for (let index = 0; index < 50; index++)
    expect(await db.find(account, { id: id(index) })).toEqual({ id: id(index), changeBlock: 1 });
  expect(queries()).toBe(1);
});

test("a key has one form, whatever the case of its hex digits", async () => {
  const { db } = createStore(1_000, { isEmpty: true });
  await db.insert(account).values({ id: "0xABCD", changeBlock: 1 });
  expect(await db.find(account, { id: "0xabcd" })).toEqual({ id: "0xabcd", changeBlock: 1 });
});

test("a missing value, a row that is there, a changed key, a table of elsewhere and a late use are errors", async () => {
  const { db, store } = createStore(1_000, { isEmpty: true });
  await expect(async () => db.insert(account).values({ id: id(1) })).rejects.toThrow(
    "The row for account has no changeBlock, which must not be null.",
  );
  await db.insert(account).values({ id: id(1), changeBlock: 1 });
  await expect(async () => db.insert(account).values({ id: id(1), changeBlock: 2 })).rejects.toThrow(
    /account already has a row with the key 0x0+1\./,
  );
  await expect(db.update(account, { id: id(1) }).set({ id: id(2) })).rejects.toThrow(
    "An update of account must not change id, which is part of its key.",
  );
  await expect(db.find(domainEvent, { id: "1" })).rejects.toThrow(
    "Handlers can use the tables of the schema only.",
  );
  store.isProcessingEvents = false;
  await expect(db.find(account, { id: id(1) })).rejects.toThrow(
    "A handler used the store after it had returned",
  );
});

test.each([
  ["timestamp", { at: timestamp() }],
  ["$onUpdateFn", { at: integer().$onUpdateFn(() => 1) }],
])("a column of %s is refused by its name", (_, columns) => {
  expect(() => describeTable(pgTable("things", { id: text().primaryKey(), ...columns }))).toThrow(
    "things.at: columns of type timestamp or date and $onUpdateFn are not supported.",
  );
});
