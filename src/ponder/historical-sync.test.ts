import { setTimeout as wait } from "node:timers/promises";
import { expect, test } from "vitest";
import { fetchAheadOf } from "./fetch-ahead.ts";
import { createHistoricalSync } from "./historical-sync.ts";

function started(dialect: "postgres" | "pglite") {
  const opened: unknown[] = [];
  const syncQB = {
    $dialect: dialect,
    transaction: async (callback: unknown) => void opened.push(callback),
  };
  const common = { shutdown: { isKilled: false }, logger: { info: () => undefined } };
  const parameters = { common, chain: { id: 1, name: "mainnet" }, database: { syncQB } };
  const sync = createHistoricalSync(parameters);
  return { opened, syncQB, parameters, sync, ahead: fetchAheadOf(common) };
}

test("blocks are stored in transactions that begin when there is room, and the pool stays as it is", async () => {
  const { opened, syncQB, parameters, ahead } = started("postgres");
  const { transaction } = syncQB;
  ahead.rulesWork(true);
  ahead.stored(1, 100, 1_000_000);
  const done = parameters.database.syncQB.transaction("blocks");
  await wait(60);
  expect(opened).toEqual([]);
  ahead.read(1, 100);
  await done;
  expect(opened).toEqual(["blocks"]);
  expect([parameters.database.syncQB.$dialect, syncQB.transaction]).toEqual(["postgres", transaction]);
});

test("a stopped process opens them, so that Ponder's own shutdown ends them", async () => {
  const { opened, parameters, ahead } = started("postgres");
  ahead.rulesWork(true);
  ahead.stored(1, 100, 1_000_000);
  const done = parameters.database.syncQB.transaction("blocks");
  parameters.common.shutdown.isKilled = true;
  await done;
  expect(opened).toEqual(["blocks"]);
});

test("the embedded database's are left as they are", async () => {
  const { opened, syncQB, parameters, ahead } = started("pglite");
  ahead.rulesWork(true);
  ahead.stored(1, 100, 1_000_000);
  await parameters.database.syncQB.transaction("blocks");
  expect(opened).toEqual(["blocks"]);
  expect(parameters.database.syncQB).toBe(syncQB);
});

test("a Ponder with other parameters does not start", () => {
  const parameters = { common: { shutdown: {} }, chain: { id: 1 }, database: { syncQB: {} } };
  expect(() => createHistoricalSync(parameters)).toThrow("Unsupported Ponder version");
});
