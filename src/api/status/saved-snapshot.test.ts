import { afterAll, beforeEach, expect, test } from "vitest";
import { createEmbedded } from "../../../test/support/embedded/database.ts";
import { describeIndex, saveStatus } from "../../operations/stored-indexes.ts";
import type { Statement } from "../../ponder/sql-client.ts";
import { createDatabase } from "../database/client.ts";
import type { Snapshot } from "./snapshot.ts";
import { readSavedSnapshot } from "./status-source.ts";

const client = await createEmbedded();
const database = createDatabase(client);
const read = () => readSavedSnapshot(database, AbortSignal.timeout(10_000));
const write: Statement = (text, values) => client.query(text, values);

beforeEach(() =>
  client.exec(`
    drop schema if exists names cascade; drop schema if exists live cascade;
    create schema names; create schema live; set search_path = names`),
);
afterAll(() => client.close());

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

const description = { release: "1.0.0", namespace: "mainnet", plugins: ["subgraph"] };

test("reads no snapshot if none was ever saved", async () => {
  expect(await read()).toBeUndefined();
  await describeIndex(write, "names", description);
  expect(await read()).toBeUndefined();
});

test("reads back the newest snapshot, member for member in its order", async () => {
  await describeIndex(write, "names", description);
  await describeIndex(write, "names", description);
  await saveStatus(write, "names", "indexing", { ...following, snapshotTime: 1768400406 });
  await saveStatus(write, "names", "indexing", following);
  const saved = await read();
  expect(JSON.stringify(saved?.snapshot)).toBe(JSON.stringify(following));
  expect((await client.query("select * from _indexing_status")).rows).toHaveLength(2);
});

test("reads when a snapshot was saved and how old it is, by the clock of the database", async () => {
  await describeIndex(write, "names", description);
  await saveStatus(write, "names", "indexing", following);
  await client.exec("update _indexing_status set saved_at = '2026-01-14T14:20:11.75Z'");
  const { rows } = await client.query<{ age: number }>(
    "select extract(epoch from now() - '2026-01-14T14:20:11.75Z')::float as age",
  );
  const saved = await read();
  expect(saved?.reportedAt).toBe(1768400411);
  expect(Math.abs((saved?.age ?? 0) - (rows[0]?.age ?? 0))).toBeLessThan(60);
});

test("takes any schema name", async () => {
  await client.exec(`drop schema if exists "a ""b; c" cascade; create schema "a ""b; c"`);
  await describeIndex(write, 'a "b; c', description);
  await saveStatus(write, 'a "b; c', "indexing", following);
  await client.exec(`set search_path = "a ""b; c"`);
  expect((await read())?.snapshot).toEqual(following);
});

test("rejects a snapshot of another format", async () => {
  await describeIndex(write, "names", description);
  await client.exec(`insert into _indexing_status values ('indexing', '{"strategy":"omnichain"}', now())`);
  await expect(read()).rejects.toThrow("slowestChainIndexingCursor");
});
