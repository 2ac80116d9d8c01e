import { expect, test } from "vitest";
import { createBlockHashes } from "./blocks.ts";

const head = { number: 5, timestamp: 100 };
const known = { hash: "0x05", parentHash: "0x04" };
const block = { ...known, timestamp: 100 };

test("requests a block once and caches its hashes", async () => {
  const asked: string[] = [];
  const hashes = createBlockHashes(async (chainId, number) => {
    asked.push(`${chainId}:${number}`);
    return block;
  });
  expect(hashes.peek(1, head)).toBeUndefined();
  expect(await hashes.ask(1, head)).toEqual(known);
  expect([hashes.peek(1, head), hashes.peek(2, head)]).toEqual([known, undefined]);
  expect(asked).toEqual(["1:5", "2:5"]);
});

test.each([
  ["while the node has another block than the indexed one", async () => ({ ...block, timestamp: 101 })],
  ["while the node fails", () => Promise.reject(new Error("no connection"))],
  ["of a node that never answers", () => new Promise<undefined>(() => undefined)],
])("reports no hashes %s, and asks again", async (_, fault) => {
  const answers = [fault, async () => block];
  const hashes = createBlockHashes(async () => answers.shift()?.());
  expect(await hashes.ask(1, head)).toBeUndefined();
  expect(await hashes.ask(1, head)).toEqual(known);
});

test("many blocks that a node does not know at once are unknown, though the cache has room for few", async () => {
  const hashes = createBlockHashes(async () => undefined);
  const asked = Array.from({ length: 200 }, (_, number) => hashes.ask(1, { number, timestamp: number }));
  expect(new Set(await Promise.all(asked))).toEqual(new Set([undefined]));
});
