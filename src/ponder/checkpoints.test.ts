import { afterAll, beforeEach, describe, expect, test } from "vitest";
import { stateTables } from "../../test/support/create-tables.ts";
import { createTestDatabase } from "../../test/support/database.ts";
import { createDatabase } from "../read/sql/client.ts";
import {
  headSql,
  joinHeads,
  parseCheckpoint,
  parseHead,
  readCheckpoints,
  restoreHeads,
} from "./checkpoints.ts";

test.each([
  ["a log", "0000000000000012" + "5" + "0000000000000345", false],
  ["a whole block, filled up with nines", "9".repeat(33), false],
  ["the begin of a chain", "0".repeat(33), true],
])("reads the checkpoint of %s", (_, event, isStart) => {
  expect(parseCheckpoint(`1768400395${"0000000000008453"}${"0000000040805524"}${event}`)).toEqual({
    block: { timestamp: 1768400395, number: 40805524 },
    chainId: 8453,
    isStart,
  });
});

test.each(["", "1".repeat(74), "1".repeat(76), `${"1".repeat(74)}x`])("refuses %j", (text) => {
  expect(() => parseCheckpoint(text)).toThrow(
    "Unsupported Ponder version: a checkpoint in _ponder_checkpoint has 75 digits",
  );
});

const client = await createTestDatabase("nothing", { connections: 1 });
const database = createDatabase(client);
const signal = () => AbortSignal.timeout(10_000);
beforeEach(() =>
  client.exec(`
    drop schema if exists names cascade; create schema names; set search_path = names;
    drop schema if exists ponder_sync cascade; create schema ponder_sync;
    ${stateTables({ is_ready: 0 })};
    create table _indexing_status (id text primary key, snapshot json not null, saved_at timestamptz not null);
    create table ponder_sync.blocks (chain_id bigint not null, number bigint not null, timestamp bigint not null)`),
);
afterAll(() => client.close());

const encode = (chainId: number, number: number, timestamp: number, place = "9".repeat(33)) =>
  `${timestamp}${String(chainId).padStart(16, "0")}${String(number).padStart(16, "0")}${place}`;
const mainnet = (number: number, place?: string) => encode(1, number, 1_700_000_000 + 12 * number, place);
const base = (number: number) => encode(8453, number, 1_700_000_000 + 2 * number);

const setReady = (ready: 0 | 1) =>
  client.query(
    `insert into _ponder_meta values ('app', jsonb_build_object('is_ready', $1::int))
      on conflict (key) do update set value = excluded.value`,
    [ready],
  );
const addRow = (chainId: number, safe: string, latest: string) =>
  client.query(`insert into _ponder_checkpoint values ('chain ' || $1, $1::text::bigint, $2, $3, $2)`, [
    String(chainId),
    safe,
    latest,
  ]);
const cache = (chainId: number, number: number, timestamp: number) =>
  client.query("insert into ponder_sync.blocks values ($1, $2, $3)", [chainId, number, timestamp]);

async function headOf(chainId: number) {
  const [text] = await database.row(`SELECT ${headSql(chainId)}`, [], signal());
  return parseHead(text ?? null);
}
const restore = () => restoreHeads((text, values) => client.query(text, values), "names");

test("the checkpoints of all chains are keyed by chain id, with whether the backfill is complete", async () => {
  expect(await readCheckpoints(database, signal())).toEqual([]);
  await setReady(1);
  await addRow(8453, base(900), base(1000));
  await addRow(1, mainnet(90), mainnet(100));
  const row = (chainId: number, safe: string, latestCheckpoint: string) => ({
    ...{ chainId, isReady: true, safeCheckpoint: safe, finalizedCheckpoint: safe, latestCheckpoint },
    reorganizations: null,
    head: null,
  });
  expect(await readCheckpoints(database, signal())).toEqual([
    row(1, mainnet(90), mainnet(100)),
    row(8453, base(900), base(1000)),
  ]);
});

test("the heads differ once a block was replaced by one of the same number and time, and else stay", async () => {
  await setReady(1);
  await addRow(1, mainnet(90), mainnet(100));
  const heads = async () => joinHeads(await readCheckpoints(database, signal()));
  const before = await heads();
  expect(await heads()).toBe(before);
  await client.query("insert into _indexing_status values ('reorganizations', '1', now())");
  expect(await heads()).not.toBe(before);
});

describe("the head", () => {
  const start = mainnet(5, "0".repeat(33));
  const event = mainnet(50, `${"0".repeat(16)}5${"3".padStart(16, "0")}`);
  test.each<[string, 0 | 1, [safe: string, latest: string][], number | undefined]>([
    ["unknown without a row", 0, [], undefined],
    ["unknown before the first event", 0, [[start, start]], undefined],
    ["the block of the last event in the backfill", 0, [[event, event]], 50],
    ["the latest block while following", 1, [[mainnet(90), mainnet(100)]], 100],
  ])("is %s", async (_, ready, rows, number) => {
    await setReady(ready);
    for (const [safe, latest] of rows) await addRow(1, safe, latest);
    const timestamp = 1_700_000_000 + 12 * (number ?? 0);
    expect(await headOf(1)).toEqual(number === undefined ? undefined : { number, timestamp });
  });

  test("is the safe block after a restart, also before the row is corrected and once Ponder is live again", async () => {
    await setReady(0);
    await addRow(1, mainnet(90), mainnet(100));
    const safe = { number: 90, timestamp: 1_700_001_080 };
    expect(await headOf(1)).toEqual(safe);
    await restore();
    expect(await headOf(1)).toEqual(safe);
    await setReady(1);
    expect(await headOf(1)).toEqual(safe);
    await client.query("update _ponder_checkpoint set latest_checkpoint = $1", [mainnet(91)]);
    expect((await headOf(1))?.number).toBe(91);
  });

  // Block 540 of Base is of the same second as block 90 of mainnet, and comes after it.
  test.each<[string, chainId: number, safe: string, latest: string, cached: number[], number?]>([
    ["the newest cached block before another's safe one", 1, base(540), mainnet(100), [80, 90, 95], 90],
    ["no later block of the safe second", 8453, mainnet(90), base(640), [530, 540], 530],
    ["unknown if nothing of the chain is cached before", 1, base(540), mainnet(100), [95]],
    ["what it was if that comes before", 1, base(540), mainnet(80), [], 80],
  ])("after a restart is %s", async (_, chainId, safe, latest, cached, number) => {
    await setReady(0);
    await addRow(chainId, safe, latest);
    for (const block of cached) await cache(chainId, block, 1_700_000_000 + (chainId === 1 ? 12 : 2) * block);
    await restore();
    await setReady(1);
    expect((await headOf(chainId))?.number).toBe(number);
  });

  test("has the hashes that were stored with it, unless they are of another block", async () => {
    await setReady(1);
    await addRow(10, encode(10, 1, 1_700_000_000), encode(10, 9, 1_700_000_018));
    const store = (number: number) =>
      client.query(
        "insert into _indexing_status values ('head 10', $1, now()) on conflict (id) do update set snapshot = excluded.snapshot",
        [JSON.stringify({ number, timestamp: 1_700_000_018, hash: "0x09", parentHash: "0x08" })],
      );
    await store(9);
    const head = { number: 9, timestamp: 1_700_000_018 };
    expect(await headOf(10)).toEqual({ ...head, hash: "0x09", parentHash: "0x08" });
    await store(8);
    expect(await headOf(10)).toEqual(head);
  });

  test("of a live index stays as it is", async () => {
    await setReady(1);
    await addRow(10, encode(10, 1, 1_700_000_000), encode(10, 9, 1_700_000_018));
    await restore();
    expect((await headOf(10))?.number).toBe(9);
  });
});
