import fc from "fast-check";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import type { TestDatabase } from "../../test/support/database.ts";
import { addBlocks, addIndex, openPonderCache, resetPonderCache } from "../../test/support/ponder/cache.ts";
import type { Shared } from "../ponder/shared.ts";
import type { Statement } from "../ponder/sql-client.ts";
import { createUnverifiedWatch, mergeRanges, purgeCache, readUnverified, saveUnverified } from "./cache.ts";
import { readStatuses } from "./stored-indexes.ts";

let database: TestDatabase;
const run: Statement = (text, values) => database.query(text, values);
const now = 1_700_000_000_000;
beforeAll(async () => {
  database = await openPonderCache();
});
beforeEach(() => resetPonderCache(database));
afterAll(() => database?.close());

// As Ponder 0.17 reads a stored range: its end is one above the last block.
async function cachedRanges(): Promise<[from: number, end: number][]> {
  const { rows } = await database.query<{ blocks: string }>("SELECT blocks::text FROM ponder_sync.intervals");
  return rows.flatMap(({ blocks }) => JSON.parse(`[${blocks.slice(1, -1)}]`));
}

async function numbersOf(table: string): Promise<unknown[]> {
  const { rows } = await database.query<{ row: string }>(
    `SELECT concat(chain_id, ':', block_number) AS row FROM ponder_sync.${table} ORDER BY chain_id, block_number`,
  );
  return rows.map(({ row }) => row);
}

const childTables = ["transactions", "transaction_receipts", "logs", "traces", "factory_addresses"];

async function fill() {
  await addBlocks(database, 1, [10, 20, 30]);
  await addBlocks(database, 2, [20]);
  for (const table of childTables)
    await run(`INSERT INTO ponder_sync.${table} VALUES (1, 10), (1, 20), (1, 20), (1, 30), (2, 20)`);
  // Results of requests that name no block have none.
  await run("INSERT INTO ponder_sync.rpc_request_results VALUES (1, NULL), (1, 30), (2, NULL)");
  await run("INSERT INTO ponder_sync.intervals VALUES ('log_1', 1, '{[5,41]}'), ('log_2', 2, '{[5,41]}')");
}

test("removes the rows of a range of one chain, and counts them; without an end all later ones", async () => {
  await fill();
  const { removed, orphaned } = await purgeCache(run, { chainId: 1, from: 20, to: 29 }, now);
  const ofChildren = Object.fromEntries(childTables.map((table) => [table, 2]));
  expect(removed).toEqual({ blocks: 1, ...ofChildren, rpc_request_results: 1, intervals: 1 });
  expect(orphaned).toEqual([]);
  for (const table of childTables) expect(await numbersOf(table)).toEqual(["1:10", "1:30", "2:20"]);
  expect(await numbersOf("rpc_request_results")).toEqual(["1:30", "2:"]);
  await purgeCache(run, { chainId: 1, from: 20 }, now);
  for (const table of childTables) expect(await numbersOf(table)).toEqual(["1:10", "2:20"]);
});

test("ranges lose exactly the blocks of the purge, in the form that Ponder reads", async () => {
  const block = fc.integer({ min: 0, max: 30 });
  const range = fc.tuple(block, block).map(([a, b]): [number, number] => [Math.min(a, b), Math.max(a, b)]);
  const blocksOf = (ranges: readonly [number, number][]) =>
    new Set(ranges.flatMap(([from, end]) => Array.from({ length: end - from }, (_, i) => from + i)));
  await fc.assert(
    fc.asyncProperty(
      fc.array(range, { minLength: 1, maxLength: 5 }),
      range,
      fc.boolean(),
      async (cached, purge, hasEnd) => {
        const stored = cached.map(([from, to]) => `numrange(${from}, ${to + 1}, '[]')`);
        await database.exec(
          `TRUNCATE ponder_sync.intervals; INSERT INTO ponder_sync.intervals VALUES ('log_1', 1, nummultirange(${stored.join(", ")}))`,
        );
        const [from, to] = purge;
        const before = blocksOf(await cachedRanges());
        await purgeCache(run, { chainId: 1, from, to: hasEnd ? to : undefined }, now);
        const after = await cachedRanges();
        const kept = [...before].filter((number) => number < from || (hasEnd && number > to));
        expect(blocksOf(after)).toEqual(new Set(kept));
        expect(after.every(([first, end]) => first < end)).toBe(true);
      },
    ),
    { numRuns: 50 },
  );
});

test("an index above the first removed block is marked as orphaned, one below and one of another chain are not", async () => {
  await fill();
  await addIndex(database, "above", { chainId: 1, block: 25 });
  await addIndex(database, "below", { chainId: 1, block: 19 });
  await addIndex(database, "other", { chainId: 2, block: 25 });
  expect((await purgeCache(run, { chainId: 1, from: 20 }, now)).orphaned).toEqual(["above"]);
  const indexes = await Promise.all(["above", "below", "other"].map((schema) => readStatuses(run, schema)));
  expect(indexes).toEqual([{ purged: { chainId: 1, from: 20 } }, {}, {}]);
});

test("nothing is removed while an indexer of the chain runs", async () => {
  await fill();
  // Ponder holds a lock lost 25 seconds after the last heartbeat.
  await addIndex(database, "live", { chainId: 1, block: 25, heartbeatAt: now - 24_000 });
  const purge = purgeCache(run, { chainId: 1, from: 20 }, now);
  await expect(purge).rejects.toThrow('An indexer uses schema "live" of this database.');
  expect(await numbersOf("logs")).toHaveLength(5);
  await purgeCache(run, { chainId: 1, from: 20 }, now + 2_000);
  expect(await numbersOf("logs")).toEqual(["1:10", "2:20"]);
});

test("a database without a cache has nothing to remove", async () => {
  await database.exec("DROP SCHEMA ponder_sync CASCADE");
  expect(await purgeCache(run, { chainId: 1, from: 0 }, now)).toEqual({
    removed: {},
    orphaned: [],
  });
});

// --- Unverified ranges ---

test("ranges that overlap or touch are one; beyond five, what spans them all", () => {
  const of = (...ranges: [number, number][]) => ranges.map(([from, to]) => ({ from, to }));
  expect(mergeRanges(of([8, 9], [1, 4], [5, 6], [2, 3]))).toEqual(of([1, 6], [8, 9]));
  const many = Array.from({ length: 6 }, (_, i): [number, number] => [i * 10, i * 10 + 1]);
  expect(mergeRanges(of(...many))).toEqual(of([0, 51]));
  expect(mergeRanges([])).toEqual([]);
});

test("unverified ranges are kept by chain until they are purged; each index replaces its own", async () => {
  const range = (chainId: number, from: number, to: number) => ({ chainId, from, to });
  await saveUnverified(run, "first", [range(1, 20, 29)]);
  const ranges = [range(1, 20, 25), range(1, 40, 41), range(2, 5, 9)];
  for (const owner of ["first", "second"]) await saveUnverified(run, owner, ranges);
  await saveUnverified(run, "second", []);
  expect(await readUnverified(run, [1, 2])).toEqual(ranges);
  await purgeCache(run, range(1, 20, 25), now);
  expect(await readUnverified(run, [1])).toEqual([range(1, 40, 41)]);
});

test("a watch stores unverified ranges as they come and go, and says what to run", async () => {
  const unverified: Shared["unverified"] = new Map();
  const shared: Pick<Shared, "unverified" | "storeUnverified"> = { unverified };
  const said: string[] = [];
  const log = (_: string, message: string) => void said.push(message);
  const watch = createUnverifiedWatch(run, "public", { shared, log });
  await watch.look();
  expect(watch.fault()).toBeUndefined();
  unverified.set(1, [
    { from: 20, to: 29 },
    { from: 25, to: 35 },
  ]);
  expect(watch.fault()).toBeUndefined();
  await Promise.all([watch.look(), shared.storeUnverified?.()]);
  expect(await readUnverified(run, [1])).toEqual([{ chainId: 1, from: 20, to: 35 }]);
  expect(said).toEqual([
    expect.stringContaining('run "npm run cache -- purge --chain 1 --from 20 --to 35" and build a new index'),
  ]);
  expect(watch.fault()?.reason).toBe(said[0]);
  unverified.set(1, []);
  await watch.look();
  expect(watch.fault()).toBeUndefined();
  expect(await readUnverified(run, [1])).toEqual([]);
});
