import { expect, test } from "vitest";
import { createChainBlocks } from "./chain-blocks.ts";

// A node whose chain left the branch of an index at block 8: the index is at 9, and its blocks up to 6 are final.
const at = (branch: string) => (number: number) => ({
  ...{ number, timestamp: 100 + 10 * number, hash: `0x${branch}${number}` },
  parentHash: `0x${branch}${number - 1}`,
});
const common = at("c");
const branch = [common(7), ...[8, 9].map(at("old"))];
const chain = [0, 1, 2, 3, 4, 5, 6, 7].map(common).concat([8, 9, 10].map(at("new")));
const everything = [...chain, ...branch];

function open() {
  const asked: object[] = [];
  const blocks = createChainBlocks(async (_, by) => {
    asked.push(by);
    return "number" in by ? chain[by.number] : everything.find(({ hash }) => hash === by.hash);
  });
  return { asked, find: (by: { number: number } | { hash: string }) => blocks.find(1, by, branch), blocks };
}

test.each([
  ["by number", { number: 8 }, branch[1]],
  ["by hash", { hash: "0xold9" }, branch[2]],
])(
  "a block that is not final is found %s in the branch of the index, without a node",
  async (_, by, found) => {
    const { find, asked } = open();
    expect(await find(by)).toEqual(found);
    expect(asked).toEqual([]);
  },
);

test("blocks of another branch are not found, one that the index has not reached is", async () => {
  const { find } = open();
  expect(await find({ hash: "0xnew8" })).toBeUndefined();
  expect(await find({ number: 10 })).toBeUndefined();
  expect((await find({ hash: "0xnew10" }))?.number).toBe(10);
});

test("final blocks are those of the node", async () => {
  const { find } = open();
  expect(await find({ number: 3 })).toEqual(common(3));
  expect(await find({ hash: "0xc3" })).toEqual(common(3));
});

test.each([
  [199, branch[2]],
  [189, branch[1]],
  [165, common(6)],
  [99, undefined],
])("the last block up to second %i is of the branch", async (time, found) => {
  const head = { number: 9, timestamp: 190 };
  expect(await open().blocks.lastUpTo(1, time, head, branch)).toEqual(found);
});
