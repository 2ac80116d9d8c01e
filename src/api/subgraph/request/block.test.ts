import { expect, test } from "vitest";
import { createBlockHashes } from "../request/block.ts";

const head = { number: 5, timestamp: 100 };
const block = { hash: "0x05", parentHash: "0x04", timestamp: 100 };

test("requests a block once and caches its hashes", async () => {
  const asked: number[] = [];
  const hashes = createBlockHashes(async (number) => {
    asked.push(number);
    return block;
  });
  expect(hashes.peek(head)).toBeUndefined();
  expect(await hashes.ask(head)).toEqual({ hash: "0x05", parentHash: "0x04" });
  expect(hashes.peek(head)).toEqual({ hash: "0x05", parentHash: "0x04" });
  expect(asked).toEqual([5]);
});

test("reports no hashes of a block other than the indexed one, and asks again", async () => {
  const answers = [{ ...block, timestamp: 101 }, block];
  const hashes = createBlockHashes(async () => answers.shift());
  expect(await hashes.ask(head)).toBeUndefined();
  expect(await hashes.ask(head)).toEqual({ hash: "0x05", parentHash: "0x04" });
});

test("reports no hashes while the RPC fails", async () => {
  const hashes = createBlockHashes(async () => {
    throw new Error("no connection");
  });
  expect(await hashes.ask(head)).toBeUndefined();
});

test("does not wait for an RPC that never answers", async () => {
  const hashes = createBlockHashes(() => new Promise(() => undefined));
  expect(await hashes.ask(head)).toBeUndefined();
});
