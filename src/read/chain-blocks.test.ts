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

const ignoring = { log: () => undefined };

function open() {
  const asked: object[] = [];
  const blocks = createChainBlocks(async (_, by) => {
    asked.push(by);
    return "number" in by ? chain[by.number] : everything.find(({ hash }) => hash === by.hash);
  }, ignoring);
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

test("a final block that is known is not asked for again", async () => {
  const { blocks, asked } = open();
  const head = { number: 5, timestamp: 150 };
  expect([blocks.peekTime(1, 5), blocks.peekHashes(1, head)]).toEqual([undefined, undefined]);
  expect(await blocks.findHashes(1, head)).toMatchObject({ hash: "0xc5", parentHash: "0xc4" });
  expect([blocks.peekTime(1, 5), blocks.peekHashes(1, head)?.hash]).toEqual([
    { timestamp: 150, number: 5 },
    "0xc5",
  ]);
  expect(asked).toEqual([{ number: 5 }]);
});

test.each([
  ["has another block than the indexed one", async () => ({ ...common(5), timestamp: 151 })],
  ["fails", () => Promise.reject(new Error("no connection"))],
])("a block has no hashes while the node %s, and is asked for again", async (_, fault) => {
  const answers = [fault, async () => common(5)];
  const blocks = createChainBlocks(async () => answers.shift()?.(), ignoring);
  const head = { number: 5, timestamp: 150 };
  expect(await blocks.findHashes(1, head)).toBeUndefined();
  expect(await blocks.findHashes(1, head)).toMatchObject({ hash: "0xc5" });
});

test("a block of a node that never responds has no hashes", async () => {
  const blocks = createChainBlocks(() => new Promise(() => undefined), ignoring);
  expect(await blocks.findHashes(1, { number: 5, timestamp: 150 })).toBeUndefined();
});

test.each([
  ["that does not respond", () => Promise.reject(new Error("https://rpc.example/v2/secret-key")), 3],
  ["that has no such block yet", async () => undefined, 0],
])(
  "a node %s is asked every five seconds, once at a time, until it has the block",
  async (_, fault, failed) => {
    let [now, asked, isThere] = [1, 0, false];
    const logged: string[] = [];
    const blocks = createChainBlocks(
      () => {
        asked += 1;
        return isThere ? Promise.resolve(common(7)) : fault();
      },
      { log: (_, message) => logged.push(message), clock: () => now },
    );
    const counts: number[] = [];
    const peekTwice = async () => {
      const found = [blocks.peekTime(1, 7), blocks.peekTime(1, 7)];
      await new Promise((resolve) => setImmediate(resolve));
      counts.push(asked);
      return found;
    };
    for (const ms of [0, 4_990, 20, 4_990, 20]) {
      now += ms;
      expect(await peekTwice()).toEqual([undefined, undefined]);
    }
    const failure = "Could not fetch block 7 of chain 1; retrying.";
    expect([counts, logged]).toEqual([[1, 1, 2, 2, 3], Array(failed).fill(failure)]);
    isThere = true;
    now += 5_010;
    await peekTwice();
    now += 1_000_000;
    expect([blocks.peekTime(1, 7), asked]).toEqual([{ timestamp: 170, number: 7 }, 4]);
  },
);
