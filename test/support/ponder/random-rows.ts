import type { Table } from "drizzle-orm";
import { drizzle } from "drizzle-orm/node-postgres";
import type pg from "pg";
import { expect } from "vitest";
import { createRandom, type Random } from "../../../devnet/random.ts";
import { moduleOfPonder } from "../../../src/ponder/expected.ts";
import {
  type Connection,
  createIndexingCache,
  createIndexingStore,
} from "../../../src/ponder/rows/row-store.ts";
import type { Row } from "../../../src/ponder/rows/table-shape.ts";
import { v2Role } from "../../../src/schema/ensv2.ts";
import { resolverRecord } from "../../../src/schema/protocol-acceleration.ts";
import { account } from "../../../src/schema/subgraph.ts";

/** What the store uses of a client, as Ponder's transactions are. `logQuery` gets the texts of its statements. */
export function connectionTo(client: pg.Client, logQuery = (_: string): void => undefined): Connection {
  const db = drizzle(client, { casing: "snake_case", logger: { logQuery } });
  const connection: Connection = {
    $dialect: "postgres",
    // Types of another driver.
    wrap: async (query) => query(db as never),
  };
  return Object.assign(connection, { $client: client });
}

type Model = Map<string, Row>;
type Store = {
  find(table: Table, key: Row): Promise<Row | null>;
  update(table: Table, key: Row): { set(set: Row | ((row: Row) => Row)): Promise<Row> };
  insert(table: Table): {
    values(row: Row): PromiseLike<unknown> & {
      onConflictDoNothing(): Promise<Row | null>;
      onConflictDoUpdate(set: Row | ((row: Row) => Row)): Promise<Row>;
    };
  };
  delete(table: Table, key: Row): Promise<boolean>;
};

/** Whose stores are tested: this project's, or those that Ponder comes with. */
export type Stores = "own" | "stock";

// Ponder's metrics, logger and the like, which count and write nothing.
const silent: object = new Proxy(() => silent, { get: (_, name) => (name === "then" ? undefined : silent) });
const common = (maxBytes: number) => ({
  metrics: silent as never,
  logger: silent,
  options: { indexingCacheMaxBytes: maxBytes },
});
type Make = {
  createIndexingCache: typeof createIndexingCache;
  createIndexingStore: (given: object) => ReturnType<typeof createIndexingStore>;
};
const stock = {
  ...moduleOfPonder<Make>("indexing-store/cache.js"),
  ...moduleOfPonder<Make>("indexing-store/index.js"),
};

const texts = ["avatar", "a\tb\nc\\d", '{"quoted",}', "", "naïve 🦊", "\\N"];

/** The store over a database, for rows of three tables; `maxBytes` is what it keeps. */
export function createStore(
  maxBytes: number,
  { isEmpty, eventCount = {} }: { isEmpty: boolean; eventCount?: Record<string, number> },
  stores: Stores = "own",
) {
  const given = { common: common(maxBytes), schemaBuild: { schema: { account, resolverRecord, v2Role } } };
  const make: Make =
    stores === "stock"
      ? stock
      : { createIndexingCache, createIndexingStore: createIndexingStore as Make["createIndexingStore"] };
  const cache = make.createIndexingCache({
    ...given,
    eventCount,
    crashRecoveryCheckpoint: isEmpty ? undefined : [],
  });
  const indexingErrorHandler = { setRetryableError() {} };
  const store = make.createIndexingStore({ ...given, indexingCache: cache, indexingErrorHandler });
  Object.assign(store, { isProcessingEvents: true });
  return { cache, store, db: store.db as unknown as Store };
}

/**
 * Uses rows at random in transactions of which some fail, with a store that has room for few rows, and expects of each
 * use and of the database, whose tables are empty, after each transaction what a plain map says.
 */
export async function changeRowsAtRandom(
  client: pg.Client,
  seed: number,
  stores: Stores = "own",
): Promise<void> {
  const random = createRandom(seed);
  let model: Model = new Map();
  let { cache, store, db } = createStore(40_000, { isEmpty: true }, stores);
  for (let round = 0; round < 40; round++) {
    if (round === 25) ({ cache, store, db } = createStore(40_000, { isEmpty: false }, stores));
    const isFailing = random.below(5) === 0;
    cache.qb = connectionTo(client);
    await cache.prefetch({ events: [] });
    for (let attempt = isFailing ? 0 : 1; attempt < 2; attempt++) {
      const changed = new Map(model);
      const connection = connectionTo(client);
      await client.query("BEGIN");
      store.qb = connection;
      cache.qb = connection;
      for (let use = random.below(120); use >= 0; use--) await changeOne(random, db, changed);
      await cache.flush();
      // The transaction is tried again, as Ponder does when its commit fails.
      await client.query(attempt === 0 ? "ROLLBACK" : "COMMIT");
      if (attempt === 1) model = changed;
      else {
        cache.invalidate();
        cache.clear();
      }
    }
    if (round % 8 === 7) await expectRows(client, model);
  }
  await expectRows(client, model);
}

async function changeOne(random: Random, db: Store, model: Model): Promise<void> {
  const table = random.pick([account, resolverRecord, v2Role]);
  const index = random.below(150);
  const row = rowOf(table, index, random);
  const key = keyOf(table, row);
  const text = textOf(table, key);
  const before = model.get(text) ?? null;
  switch (random.below(6)) {
    case 0:
      expect(await db.find(table, key)).toEqual(before);
      return;
    case 1:
      expect(await db.delete(table, key)).toBe(before !== null);
      model.delete(text);
      return;
    case 2:
      expect(await db.insert(table).values(row).onConflictDoNothing()).toEqual(before === null ? row : null);
      if (before === null) model.set(text, row);
      return;
    case 3:
      expect(await db.insert(table).values(row).onConflictDoUpdate(row)).toEqual(row);
      model.set(text, row);
      return;
    case 4:
      if (before === null) await db.insert(table).values(row);
      else
        expect(
          await db
            .insert(table)
            .values(row)
            .onConflictDoUpdate((stored) => ({ ...stored })),
        ).toEqual(before);
      model.set(text, before ?? row);
      return;
    default:
      if (before === null)
        await expect(db.update(table, key).set(row)).rejects.toThrow(
          expect.objectContaining({ name: "RecordNotFoundError" }),
        );
      else {
        expect(await db.update(table, key).set(() => row)).toEqual(row);
        model.set(text, row);
      }
  }
}

const hex = (index: number, bytes: number): string => `0x${index.toString(16).padStart(bytes * 2, "0")}`;

function rowOf(table: Table, index: number, random: Random): Row {
  if (table === account) return { id: hex(index, 20), changeBlock: random.below(1_000_000) };
  if (table === v2Role)
    return {
      chainId: 1,
      address: hex(index, 20),
      resource: hex(index % 7, 32),
      account: hex(index % 3, 20),
      roles: `0x${random.hexDigits(32)}`,
    };
  return {
    id: `1-${index}\\${random.pick(["a"])}`,
    chainId: 1,
    address: hex(index, 20),
    node: hex(index, 32),
    name: random.pick([...texts, null]),
    contenthash: random.pick(["0xe301", null]),
    pubkeyX: null,
    pubkeyY: null,
    dnszonehash: null,
    version: random.pick([2n ** 64n - 1n, 0n, null]),
    abiContentTypes: random.pick([[2n ** 255n, 1n], [], null]),
    dataKeys: random.pick([texts, null]),
    coinTypes: random.pick([[60n], null]),
    textKeys: random.pick([texts, [], null]),
  };
}

const keysOf = new Map<Table, string[]>([
  [account, ["id"]],
  [resolverRecord, ["id"]],
  [v2Role, ["chainId", "address", "resource", "account"]],
]);
const keyOf = (table: Table, row: Row): Row =>
  Object.fromEntries((keysOf.get(table) ?? []).map((name) => [name, row[name]]));
const textOf = (table: Table, key: Row): string =>
  [[...keysOf.keys()].indexOf(table), ...Object.values(key)].join(" ");

async function expectRows(client: pg.Client, model: Model): Promise<void> {
  const connection = connectionTo(client);
  const stored: Model = new Map();
  for (const table of [account, resolverRecord, v2Role]) {
    const rows = await connection.wrap((db) => db.select().from(table));
    for (const row of rows as Row[]) stored.set(textOf(table, keyOf(table, row)), row);
  }
  const byKey = (rows: Model) => Object.fromEntries([...rows].toSorted(([a], [b]) => (a < b ? -1 : 1)));
  expect(byKey(stored)).toEqual(byKey(model));
}
