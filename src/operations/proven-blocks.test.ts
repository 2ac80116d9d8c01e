import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import type { TestDatabase } from "../../test/support/database.ts";
import { addBlocks, addIndex, openPonderCache, resetPonderCache } from "../../test/support/ponder/cache.ts";
import type { Statement } from "../ponder/sql-client.ts";
import { keepProvenFrom, readProvenFrom } from "./proven-blocks.ts";

let database: TestDatabase;
const run: Statement = (text, values) => database.query(text, values);
beforeAll(async () => {
  database = await openPonderCache();
});
beforeEach(async () => {
  await resetPonderCache(database);
  await run("DROP TABLE IF EXISTS ponder_sync.proven_from");
  await addBlocks(database, 1, [40, 60]);
  await addIndex(database, "public", { chainId: 1, block: 70 });
});
afterAll(() => database?.close());

const keep = (needsProofs: boolean) =>
  keepProvenFrom(run, { schema: "public", chainIds: [1, 8453], needsProofs });
const read = () =>
  readProvenFrom(async (sql) => Object.values((await run(sql)).rows[0] ?? {}) as (string | null)[]);

test("logs are proven from the first block on that cache and index lack, which stays so", async () => {
  expect(await read()).toBeUndefined();
  await keep(true);
  expect(await read()).toEqual({ 1: 71, 8453: 0 });
  await addBlocks(database, 1, [90]);
  await keep(true);
  expect(await read()).toEqual({ 1: 71, 8453: 0 });
});

test("an indexer that needs no proofs ends it", async () => {
  await keep(false);
  await keep(true);
  await keep(false);
  expect(await read()).toBeUndefined();
  await addBlocks(database, 1, [90]);
  await run(
    "UPDATE _ponder_checkpoint SET finalized_checkpoint = overlay(finalized_checkpoint PLACING lpad('99', 16, '0') FROM 27)",
  );
  await keep(true);
  expect(await read()).toEqual({ 1: 100, 8453: 0 });
});
