import { expect, test } from "vitest";
import { headerHash } from "../../src/rpc/block-proofs.ts";
import { type Block, toBlock } from "./block.ts";
import { createChain } from "./chain.ts";

const hash = (digits: string) => `0x${digits.padStart(64, "0")}` as const;

function block(number: number, branch = "a", transactions: string[] = []): Block {
  const own = hash(`${branch}${number.toString(16)}`);
  const all = transactions.map((digits) => ({ hash: hash(digits), blockHash: own }));
  const fields = {
    number: `0x${number.toString(16)}`,
    hash: own,
    parentHash: hash(`a${(number - 1).toString(16)}`),
  };
  return toBlock({ ...fields, timestamp: `0x${(number * 10).toString(16)}` }, all, []);
}

const chain = (standIns?: number) =>
  createChain({
    chainId: 7,
    blocks: [10, 11, 12, 13, 14].map((number) => block(number)),
    finality: 2,
    standIns,
  });

test("tags follow the head, numbers are literal, anything else is unknown", () => {
  const { numberOf } = chain();
  expect(
    ["latest", "pending", undefined, "safe", "finalized", "earliest", "0xc", "0x1f"].map(numberOf),
  ).toEqual([14, 14, 14, 12, 12, 10, 12, 31]);
  expect(["12", "newest", 12, {}, "0x", "0xfffffffffffffffff"].map(numberOf)).toEqual(
    Array(6).fill(undefined),
  );
});

test("finalized is never before the first block", () => {
  const { setHead, numberOf } = chain();
  setHead(11);
  expect(numberOf("finalized")).toBe(10);
});

test("blocks above the head are hidden, by number and by hash", () => {
  const moved = chain();
  moved.setHead(12);
  expect(moved.block(13)).toBeUndefined();
  expect(moved.blockWithHash(hash("ad"))).toBeUndefined();
  expect(moved.range(0, 99).map(({ number }) => number)).toEqual([10, 11, 12]);
  moved.setHead(14);
  expect(moved.blockWithHash(hash("ad"))?.number).toBe(13);
});

test("the head never moves past the end of the chain", () => {
  const moved = chain();
  moved.setHead(99);
  expect(moved.head()).toBe(14);
  moved.setHead(2);
  expect(moved.head()).toBe(10);
});

test("a range includes both ends and nothing outside", () => {
  expect(
    chain()
      .range(11, 13)
      .map(({ number }) => number),
  ).toEqual([11, 12, 13]);
  expect(chain().range(15, 20)).toEqual([]);
});

test("a block appended below the tip drops what was above", () => {
  const moved = chain();
  moved.setHead(12);
  moved.append(block(13, "b"));
  expect(moved.head()).toBe(13);
  expect(moved.tip()).toBe(13);
  expect(moved.block(13)?.hash).toBe(hash("bd"));
  expect(moved.block(14)).toBeUndefined();
  expect(moved.range(12, 99).map(({ hash }) => hash)).toEqual([hash("ac"), hash("bd")]);
});

test("a dropped block is still known by its hash, its transactions are not", () => {
  const moved = createChain({ chainId: 7, blocks: [block(1), block(2, "a", ["77"])] });
  expect(moved.transaction(hash("77"))?.block.number).toBe(2);
  moved.setHead(1);
  expect(moved.transaction(hash("77"))).toBeUndefined();
  moved.append(block(2, "b"));
  expect(moved.blockWithHash(hash("a2"))?.number).toBe(2);
  expect(moved.transaction(hash("77"))).toBeUndefined();
});

test("a transaction that is mined again is found in its new block", () => {
  const moved = createChain({ chainId: 7, blocks: [block(1), block(2, "a", ["77"])] });
  moved.setHead(1);
  moved.append(block(2, "b"));
  moved.append(block(3, "b", ["77"]));
  expect(moved.transaction(hash("77"))?.block.hash).toBe(hash("b3"));
});

test("only the next block can be appended", () => {
  expect(() => chain().append(block(16))).toThrow("Block 16 does not follow the head 14.");
});

test("without stand-ins nothing exists outside the recording", () => {
  const { block: at, lowest, numberOf } = chain();
  expect(at(9)).toBeUndefined();
  expect(lowest).toBe(10);
  expect(numberOf("earliest")).toBe(10);
});

test("stand-ins reach from block 0 to a head past the recording, to which they are linked, and hash to their hashes", () => {
  const { block: at, blockWithHash, head, numberOf, range } = chain(5);
  expect(head()).toBe(19);
  expect(numberOf("earliest")).toBe(0);
  for (let number = 1; number <= 19; number++) {
    const [before, here] = [at(number - 1), at(number)];
    if (number > 10) expect([number, here?.parentHash]).toEqual([number, before?.hash]);
    if (number < 10 || number > 14) expect(headerHash(here!.fields)).toBe(here!.hash);
    expect(here!.timestamp).toBeGreaterThan(before!.timestamp - 1);
    expect(blockWithHash(here!.hash)).toEqual(here);
  }
  expect(at(20)).toBeUndefined();
  expect(at(9)).toMatchObject({ logs: [], transactions: [] });
  expect(range(0, 99).map(({ number }) => number)).toEqual([10, 11, 12, 13, 14]);
});

test("gaps inside a recording are closed by stand-ins", () => {
  const gapped = createChain({ chainId: 7, blocks: [block(10), block(13)], standIns: 0 });
  expect(gapped.block(12)?.number).toBe(12);
  expect(gapped.block(11)?.parentHash).toBe(block(10).hash);
});
