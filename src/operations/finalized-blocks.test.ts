import type { PGlite } from "@electric-sql/pglite";
import fc from "fast-check";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import {
  addBlocks,
  addIndex,
  hashOn,
  openPonderCache,
  resetPonderCache,
} from "../../test/support/ponder/cache.ts";
import type { Statement } from "../ponder/sql-client.ts";
import { finalizedBlock, findContradiction, keepHash } from "./finalized-blocks.ts";

let database: PGlite;
const run: Statement = (text, values) => database.query(text, values);
beforeAll(async () => {
  database = await openPonderCache();
});
beforeEach(() => resetPonderCache(database));
afterAll(() => database?.close());

// Its branch differs from block `fork` on, and ends with `head`.
function node(fork: number, head = 100_000_000) {
  const asked: number[] = [];
  return {
    asked,
    async fetchHash(number: number) {
      asked.push(number);
      return number > head ? undefined : hashOn(number >= fork ? "b" : "a", number);
    },
  };
}

test("an empty cache contradicts nothing", async () => {
  expect(await findContradiction(run, 1, node(0).fetchHash)).toBeUndefined();
});

test("a chain that has the cached blocks is asked for the newest only", async () => {
  await addBlocks(database, 1, [3, 50, 90]);
  await addBlocks(database, 2, [95], "b");
  await keepHash(run, 1, { number: 97, hash: hashOn("a", 97) });
  const { fetchHash, asked } = node(98);
  expect(await findContradiction(run, 1, fetchHash)).toBeUndefined();
  expect(asked).toEqual([97, 90]);
});

test("a fork in blocks without events differs from the finalized hash", async () => {
  await addBlocks(database, 1, [3, 50]);
  await keepHash(run, 1, { number: 97, hash: hashOn("a", 97) });
  expect(await findContradiction(run, 1, node(60).fetchHash)).toEqual({
    chainId: 1,
    block: 97,
    ours: hashOn("a", 97),
    theirs: hashOn("b", 97),
    from: 51,
  });
});

test("a chain that ends early has no hash for the first block that it lacks", async () => {
  await addBlocks(database, 1, [3, 50, 90]);
  expect(await findContradiction(run, 1, node(1_000, 60).fetchHash)).toEqual({
    chainId: 1,
    block: 90,
    ours: hashOn("a", 90),
    theirs: undefined,
    from: 51,
  });
});

test("bisection finds the first cached block that differs, wherever the fork is", async () => {
  const blocks = fc.uniqueArray(fc.integer({ min: 0, max: 30_000_000 }), { minLength: 1, maxLength: 40 });
  const forked = blocks.chain((numbers) =>
    fc.tuple(fc.constant(numbers), fc.integer({ min: 0, max: Math.max(...numbers) })),
  );
  await fc.assert(
    fc.asyncProperty(forked, async ([numbers, fork]) => {
      await database.exec("TRUNCATE ponder_sync.blocks");
      await addBlocks(database, 1, numbers);
      const { fetchHash, asked } = node(fork);
      const found = await findContradiction(run, 1, fetchHash);
      const first = Math.min(...numbers.filter((number) => number >= fork));
      expect(found?.block).toBe(first);
      expect(found?.from).toBe(Math.max(-1, ...numbers.filter((number) => number < fork)) + 1);
      // The newest block, and one for each halving of 30 million.
      expect(asked.length).toBeLessThanOrEqual(26);
    }),
    { numRuns: 30 },
  );
});

test("of old finalized hashes one of each thousand blocks remains", async () => {
  for (const number of [0, 500, 999, 1_000, 1_500, 2_600, 3_000]) {
    await keepHash(run, 1, { number, hash: hashOn("a", number) });
  }
  const { rows } = await run("SELECT number::int FROM ponder_sync.finalized_hashes ORDER BY 1");
  expect(rows.map(({ number }) => number)).toEqual([0, 1_000, 2_600, 3_000]);
});

test("the finalized block is the end of the cache, or the index's own where nothing is cached", async () => {
  await addIndex(database, "names", { chainId: 1, block: 70 });
  expect(await finalizedBlock(run, "names", 1)).toBe(70);
  expect(await finalizedBlock(run, "names", 2)).toBeUndefined();
  // Ponder stores blocks 3 to 90 in this form.
  await database.exec("INSERT INTO ponder_sync.intervals VALUES ('log_1', 1, '{[3,91]}')");
  expect(await finalizedBlock(run, "names", 1)).toBe(90);
});
