import { afterAll, beforeEach, expect, test } from "vitest";
import { stateTables } from "../../test/support/create-tables.ts";
import { createTestDatabase } from "../../test/support/database.ts";
import { quoted, type Statement } from "../ponder/sql-client.ts";
import {
  describeIndex,
  dropIndex,
  listIndexes,
  saveStatus,
  switchName,
  takeOverWhenReady,
} from "./stored-indexes.ts";

const client = await createTestDatabase("nothing", { connections: 1 });
const now = 1_700_000_000_000;
// Several statements in one text are one transaction on a server.
const run: Statement = async (text, values) => {
  if (values !== undefined || !text.includes(";\n")) return client.query(text, values);
  await client.exec(`BEGIN; ${text}; COMMIT`).catch(async (error) => {
    await client.exec("ROLLBACK");
    throw error;
  });
  return { rows: [] };
};
const checkpoint = (block: number) =>
  `17000000${String(block).padStart(2, "0")}${"1".padStart(16, "0")}${String(block).padStart(16, "0")}${"9".repeat(33)}`;

/** An index as Ponder leaves it: `isLocked` while its indexer runs. */
async function createIndex(
  schema: string,
  block: number,
  { isLocked = false, columns = "id text primary key" } = {},
) {
  const app = { build_id: "b1", is_ready: 1, is_locked: Number(isLocked), heartbeat_at: now };
  await client.exec(`
    create schema ${schema};
    ${stateTables({ ...app, table_names: ["domain", "resolver"] }, schema)};
    insert into ${schema}._ponder_checkpoint values ('mainnet', 1, '${checkpoint(block)}', '${checkpoint(block)}', '${checkpoint(block)}');
    create table ${schema}.domain (${columns}); create table ${schema}._reorg__domain (${columns}, operation int);
    create table ${schema}.resolver (id text primary key);
    insert into ${schema}.domain (id) values ('${schema}')`);
  const described = { release: "1.0.0", namespace: "mainnet", plugins: ["subgraph"], settings: {} };
  await describeIndex(run, schema, described);
}

beforeEach(async () => {
  await client.exec(`
    drop schema if exists names cascade; drop schema if exists mine cascade;
    drop schema if exists v1 cascade; drop schema if exists v2 cascade`);
});
afterAll(() => client.close());

/** Two indexes that can be served, of which the second has a column more. */
async function createTwo(): Promise<void> {
  await createIndex("v1", 10);
  await createIndex("v2", 12, { columns: "extra int, id text primary key" });
  for (const schema of ["v1", "v2"]) await servable(schema);
}
const servable = (schema: string) => saveStatus(run, schema, "servable", {});
const served = async () => (await client.query("select id from names.domain")).rows;
const to = (schema: string) => switchName(run, { schema, name: "names" });

test("points a name to one index, then to another, and back, and keeps views of others that fit", async () => {
  await createTwo();
  expect(await to("v1")).toBeUndefined();
  expect(await served()).toEqual([{ id: "v1" }]);
  await client.exec("create schema mine; create view mine.ids as select id from names.domain");
  expect(await to("v2")).toBe("v1");
  expect(await served()).toEqual([{ id: "v2" }]);
  expect((await client.query("select id from mine.ids")).rows).toEqual([{ id: "v2" }]);
  await client.exec("drop schema mine cascade");
  expect((await listIndexes(run, now)).map(({ names }) => names)).toEqual([[], ["names"]]);
  // Readers that ask for the new column would fail.
  await expect(to("v1")).rejects.toThrow('data that the index in "v1" lacks: domain.extra.');
  expect(await switchName(run, { schema: "v1", name: "names" }, { isForced: true })).toBe("v2");
  expect(await served()).toEqual([{ id: "v1" }]);
  const [first, second] = await listIndexes(run, now);
  expect([first?.names, second?.names]).toEqual([["names"], []]);
  expect(first?.heads).toMatchObject([
    { chain: "mainnet", chainId: 1, head: { number: 10, timestamp: 1_700_000_010 } },
  ]);
});

test("refuses an index that is not complete, an unknown one, and names that are taken", async () => {
  await createIndex("v1", 10);
  await expect(to("v1")).rejects.toThrow('The index in schema "v1" is not complete yet');
  await expect(to("v3")).rejects.toThrow('Schema "v3" has no index.');
  await servable("v1");
  await client.exec("create schema mine; create table mine.notes (id text)");
  await expect(switchName(run, { schema: "v1", name: "mine" })).rejects.toThrow(
    '"mine" has tables of its own',
  );
  for (const name of ["v1", "public", "ponder_sync"])
    await expect(switchName(run, { schema: "v1", name })).rejects.toThrow("must be a name of its own");
});

test("drops an index that nothing uses, and no other", async () => {
  await createIndex("v1", 10);
  await createIndex("v2", 10, { isLocked: true });
  await servable("v1");
  await to("v1");
  await expect(dropIndex(run, "v1", now)).rejects.toThrow('in use: it is served as "names"');
  await expect(dropIndex(run, "v2", now + 24_000)).rejects.toThrow("in use: its indexer is running");
  await expect(dropIndex(run, "names", now)).rejects.toThrow('"names" has no index');
  await dropIndex(run, "v2", now + 25_000);
  expect((await listIndexes(run, now)).map(({ schema }) => schema)).toEqual(["v1"]);
});

test("takes a name over once it has caught up, and only once", async () => {
  await createIndex("v1", 99);
  await createIndex("v2", 10);
  await servable("v1");
  await to("v1");
  let isReady = false;
  let looked = 0;
  const lines: string[] = [];
  const start = () =>
    takeOverWhenReady(
      { schema: "v2", name: "names" },
      {
        run: (...statement) => {
          looked += 1;
          return run(...statement);
        },
        isReady: async () => {
          looked += 1;
          return isReady;
        },
        log: (_, message) => lines.push(message),
        everyMs: 5,
      },
    );
  const looks = async (count: number) => {
    const before = looked;
    await expect.poll(() => looked, { interval: 5 }).toBeGreaterThan(before + count);
  };
  let stop = start();
  await looks(2);
  expect((await listIndexes(run, now))[1]?.isServable).toBe(false);
  isReady = true;
  await expect.poll(async () => (await listIndexes(run, now))[1]?.isServable).toBe(true);
  await looks(5);
  // Ready, but 89 seconds of chain time behind.
  expect(await served()).toEqual([{ id: "v1" }]);
  await client.exec(
    `update v2._ponder_checkpoint set safe_checkpoint = '${checkpoint(39)}', latest_checkpoint = '${checkpoint(39)}'`,
  );
  await expect.poll(served).toEqual([{ id: "v2" }]);
  await expect
    .poll(() => lines)
    .toEqual(['Readers of "names" are now served from schema "v2", previously from v1.']);
  await to("v1");
  stop();
  stop = start();
  await looks(1);
  stop();
  expect(await served()).toEqual([{ id: "v1" }]);
});

test.each([
  'v1"; DROP SCHEMA keep CASCADE; --',
  "v1'; DROP SCHEMA keep CASCADE; --",
  "v1\nkeep\t\u001b[2J\u202e",
  "keep.domain",
  "$1 %s %I \\",
  "é".repeat(31),
])("a schema may have any name: %j", async (schema) => {
  await createTwo();
  await client.exec(
    `create schema mine; create table mine.kept (id int); create table v1."do""main; --" (id int); alter schema v1 rename to ${quoted(schema)}`,
  );
  await to(schema);
  expect(await served()).toEqual([{ id: "v1" }]);
  await expect(dropIndex(run, schema, now)).rejects.toThrow('it is served as "names"');
  await expect(switchName(run, { schema: "v2", name: schema })).rejects.toThrow("has tables of its own");
  const back = { schema: "v2", name: "names" };
  expect(await switchName(run, back, { isForced: true })).toBe(schema);
  await dropIndex(run, schema, now);
  expect((await listIndexes(run, now)).map((one) => one.schema)).toEqual(["v2"]);
  expect((await client.query("select * from mine.kept")).rows).toEqual([]);
});

test.each([
  ["has other columns", "create table mine._ponder_meta (id int)"],
  [
    "is no table of ours",
    `create table mine._ponder_meta as select 'app' as key, '{"table_names": "domain"}'::jsonb as value`,
  ],
  ["has no application", `create table mine._ponder_meta as select 'app' as key, 'null'::jsonb as value`],
  [
    "has no checkpoints",
    `create table mine._ponder_meta as select 'app' as key, '{"table_names": ["domain", "resolver"]}'::jsonb as value`,
  ],
])("a schema of others whose _ponder_meta %s is passed over", async (_, text) => {
  await createIndex("v1", 10);
  await client.exec(`create schema mine; ${text}`);
  expect((await listIndexes(run, now)).map((one) => one.schema)).toEqual(["v1"]);
});

test("readers on a standby keep an index from being dropped", async () => {
  await createTwo();
  const reader = { host: "192.0.2.7", count: 3 };
  const standby: Statement = async (text, values) =>
    text.includes("pg_stat_activity") && JSON.stringify(values).includes("v1_readonly")
      ? { rows: [reader] }
      : { rows: [] };
  const standbys = [{ place: "db2:5432", run: standby }];
  const [first, second] = await listIndexes(run, now, standbys);
  expect(first?.readers).toEqual(["192.0.2.7 (3 connections) on standby db2:5432"]);
  expect(second?.readers).toEqual([]);
  await expect(dropIndex(run, "v1", now, standbys)).rejects.toThrow(
    "in use: readers are connected from 192.0.2.7 (3 connections) on standby db2:5432",
  );
  await dropIndex(run, "v2", now, standbys);
});
