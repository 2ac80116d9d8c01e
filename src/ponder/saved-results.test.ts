import { afterAll, beforeAll, expect, test } from "vitest";
import { createTestDatabase, type TestDatabase } from "../../test/support/database.ts";
import { openSyncStore, type SyncStore } from "../../test/support/ponder/sync-store.ts";
import { keyOfRequest, openSavedResults, withOtherResults } from "./saved-results.ts";

let database: TestDatabase;
let store: SyncStore;
beforeAll(async () => {
  database = await createTestDatabase("nothing");
  store = (await openSyncStore(database)).ofPonder;
});
afterAll(() => database?.close());

const call = { method: "eth_call", params: [{ data: "0xAB", to: "0x01" }, "0x10"], blockNumber: 16 };
const body = { method: call.method, params: call.params };

test("a kept result is found by later indexes, by Ponder's key, until Ponder removes its block", async () => {
  const shared = { otherResults: new Map(), resultStore: store };
  const saved = openSavedResults({ areKept: true }, shared);
  expect(await saved.find(1, call)).toBeUndefined();
  saved.keep(1, call, "0x02");
  await expect.poll(() => saved.find(1, call)).toBe("0x02");
  expect(await saved.find(10, call)).toBeUndefined();
  expect(await saved.find(1, { ...call, params: [{ data: "0xAB", to: "0x02" }, "0x10"] })).toBeUndefined();
  const { rows } = await database.query("SELECT * FROM ponder_sync.rpc_request_results");
  expect(rows).toEqual([{ request_hash: keyOfRequest(body), chain_id: 1, block_number: 16, result: "0x02" }]);
  // Ponder reads it as its own.
  expect(await store.getRpcRequestResults({ requests: [body], chainId: 1 })).toEqual(["0x02"]);
});

test("neither long results are kept, nor those of chains that are recreated", async () => {
  const inserted: unknown[] = [];
  const shared = {
    otherResults: new Map(),
    resultStore: { ...store, insertRpcRequestResults: async (of: unknown) => void inserted.push(of) },
  };
  openSavedResults({ areKept: false }, shared).keep(1, call, "0x02");
  const saved = openSavedResults({ areKept: true }, shared);
  saved.keep(1, call, `0x${"00".repeat(32 * 1024)}`);
  expect(inserted).toEqual([]);
  saved.keep(1, call, `0x${"00".repeat(32 * 1024 - 1)}`);
  expect(inserted).toHaveLength(1);
});

test("what the database lacks comes from elsewhere, for Ponder's reads of blocks too", async () => {
  const other = { ...call, params: [{ to: "0x03", data: "0x" }, "0x11"], blockNumber: 17 };
  const asked: number[] = [];
  const elsewhere = async (key: string, block: number) => {
    asked.push(block);
    return key === keyOfRequest({ method: other.method, params: other.params }) ? '"0x04"' : undefined;
  };
  const shared = { otherResults: new Map([[1, elsewhere]]), resultStore: store };
  const read = withOtherResults(store, shared);
  const requests = [
    body,
    { method: "eth_call", params: other.params },
    { method: "eth_call", params: [{ to: "0x03", data: "0x" }, "latest"] },
    { method: "eth_chainId", params: [] },
  ];
  expect(await read({ requests, chainId: 1 })).toEqual([...["0x02", '"0x04"'], ...[undefined, undefined]]);
  expect(asked).toEqual([17]);
  expect(await openSavedResults({ areKept: true }, shared).find(1, other)).toBe('"0x04"');
  const failing = { ...store, getRpcRequestResults: async () => Promise.reject(new Error("away")) };
  expect(
    await openSavedResults({ areKept: true }, { ...shared, resultStore: failing }).find(1, call),
  ).toBeUndefined();
});
