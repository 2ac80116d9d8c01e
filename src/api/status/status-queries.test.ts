import { PGlite } from "@electric-sql/pglite";
import { drizzle } from "drizzle-orm/pglite";
import { afterAll, beforeEach, expect, test } from "vitest";
import { readCheckpoints } from "./checkpoints.ts";
import {
  createSnapshotTable,
  createSnapshotView,
  readSavedSnapshot,
  saveSnapshot,
  type WriteStatement,
} from "./saved-snapshot.ts";
import type { Snapshot } from "./snapshot.ts";

const client = new PGlite();
const db = drizzle(client);
const write: WriteStatement = (text, values) => client.query(text, values);
const start = `1489165544${"1".padStart(16, "0")}${"3327417".padStart(16, "0")}${"0".repeat(33)}`;
const head = `1768400387${"1".padStart(16, "0")}${"24231905".padStart(16, "0")}${"9".repeat(33)}`;

beforeEach(async () => {
  await client.exec(`
    drop schema if exists names cascade; drop schema if exists live cascade;
    create schema names; create schema live; set search_path = names;
    create table _ponder_meta (key text primary key, value jsonb not null);
    create table _ponder_checkpoint (chain_name text primary key, chain_id bigint not null,
      safe_checkpoint varchar(75) not null, latest_checkpoint varchar(75) not null,
      finalized_checkpoint varchar(75) not null)`);
});
afterAll(() => client.close());

const setReady = (ready: 0 | 1) =>
  client.query(
    `insert into _ponder_meta values ('app', jsonb_build_object('is_ready', $1::int))
      on conflict (key) do update set value = excluded.value`,
    [ready],
  );

test("reads no rows before Ponder has written any", async () => {
  expect(await readCheckpoints(db)).toEqual({ isReady: false, rows: [] });
  await setReady(0);
  expect(await readCheckpoints(db)).toEqual({ isReady: false, rows: [] });
});

test("reads each chain's checkpoints and whether the backfill is over", async () => {
  await setReady(1);
  await client.query("insert into _ponder_checkpoint values ('mainnet', 1, $1, $2, $1)", [start, head]);
  const { isReady, rows } = await readCheckpoints(db);
  expect(isReady).toBe(true);
  expect(rows).toEqual([
    {
      chainId: 1,
      safeCheckpoint: start,
      latestCheckpoint: head,
      finalizedCheckpoint: start,
      version: expect.stringMatching(/^\d+$/),
    },
  ]);
});

test("shows by the version whether a row has been written again, also with the same values", async () => {
  await setReady(0);
  await client.query("insert into _ponder_checkpoint values ('mainnet', 1, $1, $2, $1)", [start, head]);
  const before = await readCheckpoints(db);
  expect(await readCheckpoints(db)).toEqual(before);
  await client.exec("update _ponder_checkpoint set latest_checkpoint = latest_checkpoint");
  expect((await readCheckpoints(db)).rows[0]?.version).not.toBe(before.rows[0]?.version);
});

const startBlock = { timestamp: 1489165544, number: 3327417 };
const latestIndexedBlock = { timestamp: 1768400387, number: 24231905 };
const laterBlock = { timestamp: 1768400399, number: 24231906 };
const indefinite = { configType: "indefinite" as const, startBlock };

const following: Snapshot = {
  strategy: "omnichain",
  slowestChainIndexingCursor: 1768400387,
  snapshotTime: 1768400407,
  omnichainSnapshot: {
    omnichainStatus: "omnichain-following",
    chains: {
      "1": {
        chainStatus: "chain-following",
        config: indefinite,
        latestIndexedBlock,
        latestKnownBlock: laterBlock,
      },
      "10": { chainStatus: "chain-queued", config: indefinite },
      "8453": {
        chainStatus: "chain-backfill",
        config: indefinite,
        latestIndexedBlock,
        backfillEndBlock: laterBlock,
      },
      "59144": {
        chainStatus: "chain-completed",
        config: { configType: "definite", startBlock, endBlock: latestIndexedBlock },
        latestIndexedBlock,
      },
    },
    omnichainIndexingCursor: 1768400387,
  },
};

test("reads no snapshot where none was ever saved", async () => {
  expect(await readSavedSnapshot(db)).toBeUndefined();
  await createSnapshotTable(write, "names");
  expect(await readSavedSnapshot(db)).toBeUndefined();
});

test("reads back the newest snapshot, member for member in its order", async () => {
  await createSnapshotTable(write, "names");
  await createSnapshotTable(write, "names");
  await saveSnapshot(write, "names", { run: "first", snapshot: { ...following, snapshotTime: 1768400406 } });
  await saveSnapshot(write, "names", { run: "second", snapshot: following });
  const saved = await readSavedSnapshot(db);
  expect(saved?.run).toBe("second");
  expect(JSON.stringify(saved?.snapshot)).toBe(JSON.stringify(following));
  expect((await client.query("select * from _indexing_status")).rows).toHaveLength(1);
});

test("is found through the schema of the views", async () => {
  await createSnapshotTable(write, "names");
  await saveSnapshot(write, "names", { run: "first", snapshot: following });
  await createSnapshotView(write, "names", "live");
  await client.exec("set search_path = live");
  expect((await readSavedSnapshot(db))?.snapshot).toEqual(following);
});

test("takes any schema name", async () => {
  await client.exec(`drop schema if exists "a ""b; c" cascade; create schema "a ""b; c"`);
  await createSnapshotTable(write, 'a "b; c');
  await saveSnapshot(write, 'a "b; c', { run: "first", snapshot: following });
  await client.exec(`set search_path = "a ""b; c"`);
  expect((await readSavedSnapshot(db))?.run).toBe("first");
});

test("refuses a snapshot of another form", async () => {
  await createSnapshotTable(write, "names");
  await client.exec(
    `insert into _indexing_status values ('indexing', 'first', '{"strategy":"omnichain"}', now())`,
  );
  await expect(readSavedSnapshot(db)).rejects.toThrow("slowestChainIndexingCursor");
});
