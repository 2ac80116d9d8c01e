import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import type { TestDatabase } from "../../test/support/database.ts";
import { addIndex, hashOn, openPonderCache, resetPonderCache } from "../../test/support/ponder/cache.ts";
import type { Statement } from "../ponder/sql-client.ts";
import { purgeCache } from "./cache.ts";
import { readStartBlocks, saveStartBlocks } from "./start-blocks.ts";

let database: TestDatabase;
const run: Statement = (text, values) => database.query(text, values);
beforeAll(async () => {
  database = await openPonderCache();
});
beforeEach(() => resetPonderCache(database));
afterAll(() => database?.close());

// The time of a block is its number.
const blockOf = (number: number) => ({
  ...{ number: `0x${number.toString(16)}`, timestamp: `0x${number.toString(16)}` },
  ...{ hash: hashOn("a", number), parentHash: hashOn("a", number - 1) },
});
const finalBlock = (number: number) => ({ ...blockOf(number), newest: `0x${(number + 30).toString(16)}` });
const numbersOf = async (owner: string, chain = "1") =>
  (await readStartBlocks(run, owner))[chain]?.map(({ number }) => Number(number));

/** Lets an index hold all blocks of a chain up to a time as final. */
const finalize = (schema: string, time: number) =>
  run(
    `UPDATE "${schema}"._ponder_checkpoint SET finalized_checkpoint = lpad($1::text, 10, '0') || substr(finalized_checkpoint, 11)`,
    [time],
  );

test("a start begins with the first kept final block that is not before what the index holds as final", async () => {
  await addIndex(database, "one", { chainId: 1, block: 95 });
  const blocks = [finalBlock(60), finalBlock(90), blockOf(1)];
  await saveStartBlocks(run, { owner: "one", chainId: 1, blocks });
  await finalize("one", 60);
  expect((await numbersOf("one"))?.[0]).toBe(60);
  await finalize("one", 61);
  expect((await numbersOf("one"))?.[0]).toBe(90);
  // A block that would move backwards is none.
  await finalize("one", 91);
  expect(await readStartBlocks(run, "one")).toEqual({});
});

test("blocks of an index that shares the cache are known, and no start begins with them", async () => {
  for (const schema of ["one", "two"]) {
    await addIndex(database, schema, { chainId: 1, block: 95 });
    await finalize(schema, 50);
  }
  await saveStartBlocks(run, { owner: "two", chainId: 1, blocks: [finalBlock(55), blockOf(1)] });
  expect(await readStartBlocks(run, "one")).toEqual({});
  await saveStartBlocks(run, { owner: "one", chainId: 1, blocks: [finalBlock(60), blockOf(1)] });
  expect(await numbersOf("one")).toEqual([60, 1, 1, 55]);
});

test("kept blocks replace earlier ones, and a purge removes those that the chain no longer has", async () => {
  await addIndex(database, "one", { chainId: 1, block: 95 });
  await finalize("one", 0);
  for (const last of [60, 90])
    await saveStartBlocks(run, { owner: "one", chainId: 1, blocks: [finalBlock(last), blockOf(1)] });
  expect(await numbersOf("one")).toEqual([90, 1]);
  await purgeCache(run, { chainId: 1, from: 80 }, Date.now());
  expect(await readStartBlocks(run, "one")).toEqual({});
});
