import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { asyncBufferFromFile, parquetMetadataAsync, parquetReadObjects } from "hyparquet";
import { afterEach, beforeEach, expect, test } from "vitest";
import { columnsOfView } from "../../src/operations/sql-views.ts";
import type { Statement } from "../../src/ponder/sql-client.ts";
import { createTestDatabase, type TestDatabase } from "../../test/support/database.ts";
import { keepFolder, parseSince, type Since } from "./folder.ts";
import type { Settings } from "./snapshot.ts";

const config = {
  ...{ namespace: "mainnet", plugins: ["subgraph"], databaseSchema: "public" },
  chains: [{ id: 1 }],
} as unknown as Settings;
const address = `0x${"a".repeat(40)}`;
// Twelve seconds between blocks.
const timeOf = (block: number) => 1_600_000_000 + 12 * block;
const checkpoint = (block: number) =>
  `${timeOf(block)}${"1".padStart(16, "0")}${String(block).padStart(16, "0")}${"9".repeat(33)}`;

let client: TestDatabase;
let folder: string;
beforeEach(async () => {
  client = await createTestDatabase("indexes");
  folder = mkdtempSync(join(tmpdir(), "warehouse-"));
  await client.exec("INSERT INTO _ponder_checkpoint (chain_name, chain_id) VALUES ('mainnet', 1)");
});
afterEach(async () => {
  await client.close();
  rmSync(folder, { recursive: true, force: true });
});

/** Blocks with an event each, up to `head`; those up to `final` do not change any more. */
async function index(from: number, head: number, final: number): Promise<void> {
  for (let block = from; block <= head; block++)
    await client.exec(`INSERT INTO resolver_event (id, type, block_number, timestamp, log_index, transaction_id, resolver_id, coin_type)
      VALUES ('1-${block}-0', 'MulticoinAddrChanged', ${block}, ${timeOf(block)}, 0, sha256('${block}'), '1-0xaa-0xbb', 18446744073709551615)`);
  await client.exec(`UPDATE _ponder_checkpoint SET latest_checkpoint = '${checkpoint(head)}', safe_checkpoint = '${checkpoint(head)}',
    finalized_checkpoint = '${checkpoint(final)}'`);
}

const one = async <T>(work: (run: Statement) => Promise<T>): Promise<T> => {
  // A pool has several connections; a snapshot is of one.
  const pool = client as unknown as { connect?: () => Promise<TestDatabase & { release(): void }> };
  const own = await pool.connect?.();
  const run: Statement = (text, values) => (own ?? client).query(text, values as never[]);
  return work(run).finally(async () => {
    await run("ROLLBACK");
    own?.release();
  });
};
const keep = (since: Since = "last", given: Settings = config) =>
  one((run) => keepFolder(run, given, { folder, since }));

const read = async (path: string) =>
  parquetReadObjects({ file: await asyncBufferFromFile(join(folder, path)) });
const eventFiles = () => readdirSync(join(folder, "events")).sort();
const blocksOf = async () =>
  (await Promise.all(eventFiles().map((file) => read(`events/${file}`)))).map((rows) =>
    rows.map((row) => row["block_number"]),
  );
const manifest = () => JSON.parse(readFileSync(join(folder, "current/manifest.json"), "utf8"));

test("adds the events that became final since the last run, each once, and replaces the rest", async () => {
  await index(1, 6, 4);
  await client.exec(`INSERT INTO account VALUES ('${address}', 1)`);
  expect(await keep()).toBe(`Added 3 events to ${folder}, until 2020-09-13T12:27:28.000Z, and 0 names.`);
  expect(await blocksOf()).toEqual([[1, 2, 3]]);
  expect(manifest()).toMatchObject({
    ...{
      contract: "nsindex_v1",
      namespace: "mainnet",
      plugins: ["subgraph"],
      rows: { accounts: 1, names: 0 },
    },
    blocks: { 1: { block_number: 6, timestamp: String(timeOf(6)) } },
  });
  const [before] = eventFiles();
  const bytes = readFileSync(join(folder, "events", before ?? ""));
  expect(await keep()).toContain("Added 0 events");

  await index(7, 9, 7);
  await client.exec("DELETE FROM account");
  await keep();
  expect(await blocksOf()).toEqual([
    [1, 2, 3],
    [4, 5, 6],
  ]);
  expect(readFileSync(join(folder, "events", before ?? ""))).toEqual(bytes);
  expect(await read("current/accounts.parquet")).toEqual([]);
  expect(readdirSync(folder).filter((name) => name.startsWith(".state-"))).toHaveLength(1);
});

test("files have the columns of the views, exact numbers and dates, and say the block", async () => {
  await index(1, 6, 4);
  await client.exec(
    `INSERT INTO name_tokens VALUES ('t', '0xbb', 1, '${address}', 115792089237316195423570985008687907853269984665640564039457584007913129639935, 'erc721', '${address}', 'minted', '1')`,
  );
  await keep();
  // uint256 of a price; no amount in wei comes near 10^38.
  await client.exec(`INSERT INTO registration (id, domain_id, registration_date, expiry_date, cost, registrant_id, change_block) VALUES
    ('0x01', '0x01', 1, 2, 99999999999999999999999999999999999999, '${address}', 1), ('0x02', '0x02', 1, 2, 1e77, '${address}', 1)`);
  await keep();
  const [event] = await read(`events/${eventFiles()[0]}`);
  expect(event).toMatchObject({
    ...{ id: "1-1-0", kind: "MulticoinAddrChanged", chain_id: 1, block_time: new Date(timeOf(1) * 1_000) },
    data: { coin_type: "18446744073709551615" },
  });
  expect(await read("current/tokens.parquet")).toMatchObject([
    { token_id: String(2n ** 256n - 1n), is_burned: false },
  ]);
  // The reader returns floats.
  const costs = (await read("current/registrations.parquet")).map(({ cost }) => cost);
  expect(costs).toEqual(expect.arrayContaining([1e38, null]));
  for (const view of ["names", "registrations", "tokens", "records", "accounts", "blocks"] as const) {
    const file = await asyncBufferFromFile(join(folder, "current", `${view}.parquet`));
    const { schema, key_value_metadata: facts } = await parquetMetadataAsync(file);
    expect(schema.slice(1).map(({ name }) => name)).toEqual(columnsOfView(view).map(({ name }) => name));
    expect(facts?.find(({ key }) => key === "blocks")?.value).toContain('"block_number":6');
  }
});

test("begins an empty folder at a date or block, and goes on from there", async () => {
  await index(1, 6, 6);
  const date = new Date(timeOf(3) * 1_000).toISOString().replace(".000", "");
  await keep(parseSince(date));
  expect(await blocksOf()).toEqual([[3, 4, 5]]);
  await expect(keep({ block: 2 })).rejects.toThrow("begin later than --since");
  rmSync(folder, { recursive: true });
  await keep({ block: 4 });
  await index(7, 8, 8);
  await keep({ block: 4 });
  expect(await blocksOf()).toEqual([
    [4, 5],
    [6, 7],
  ]);
  await expect(keep({ block: 99 })).rejects.toThrow("There is no event from block 99 on.");
});

test("a run that fails leaves the former state whole, and the next one repairs it", async () => {
  await index(1, 6, 4);
  await keep();
  await index(7, 9, 7);
  for (const broken of ["resolver_event", "name_tokens"]) {
    await client.exec(`ALTER TABLE ${broken} RENAME TO away`);
    const former = manifest();
    await expect(keep()).rejects.toThrow("does not exist");
    await client.exec(`ALTER TABLE away RENAME TO ${broken}`);
    expect(manifest()).toEqual(former);
    expect(await read("current/accounts.parquet")).toEqual([]);
  }
  // What a killed process leaves.
  writeFileSync(join(folder, "events", `${timeOf(7)}-${timeOf(8)}.parquet.part`), "PAR1");
  writeFileSync(join(folder, ".next"), "");
  await keep();
  expect((await blocksOf()).flat()).toEqual([1, 2, 3, 4, 5, 6]);
  expect(existsSync(join(folder, ".next"))).toBe(false);
  expect(eventFiles().every((name) => name.endsWith(".parquet"))).toBe(true);
});

test("the last second of a completed index is final", async () => {
  await client.exec(`CREATE TABLE IF NOT EXISTS _indexing_status (id text PRIMARY KEY, snapshot json NOT NULL, saved_at timestamptz NOT NULL);
    INSERT INTO _indexing_status VALUES ('indexing', '{"omnichainSnapshot": {"omnichainStatus": "omnichain-completed"}}', now())`);
  await index(1, 6, 6);
  await keep();
  expect(await blocksOf()).toEqual([[1, 2, 3, 4, 5, 6]]);
});

test("one run at a time writes to a folder", async () => {
  await index(1, 6, 4);
  await one(async (run) => {
    await run("BEGIN");
    await run("SELECT pg_advisory_xact_lock(hashtext($1))", [`nsindex ${folder}`]);
    await expect(keep()).rejects.toThrow("Another run writes to");
  });
});

test("refuses a folder of another index, other words, and an index that is not complete", async () => {
  await index(1, 6, 4);
  await keep();
  const other = { ...config, plugins: ["subgraph", "basenames"] } as unknown as Settings;
  await expect(keep("last", other)).rejects.toThrow(
    "has nsindex_v1 of mainnet with subgraph. Choose another --output.",
  );
  for (const text of ["yesterday", "-1", "2026-13-01", "2026-1-1", "1e3", "2026-01-31T00:00:00"])
    expect(() => parseSince(text)).toThrow("Expected last, a block number, or a date");
  expect(parseSince("2026-01-31")).toEqual({ time: 1_769_817_600 });
  await client.exec(`UPDATE _ponder_meta SET value = '{"is_ready": 0}'`);
  await expect(keep()).rejects.toThrow("is not complete yet");
});
