import fc from "fast-check";
import { expect, test } from "vitest";
import { recordedBlocks } from "../chain/block.ts";
import { createChain } from "../chain/chain.ts";
import { type Answer, readRecording } from "../recording.ts";
import { filterLogs } from "./methods.ts";

const recording = readRecording(new URL("../recording/a-base", import.meta.url).pathname);
const blocks = recordedBlocks(recording);
const chain = createChain({ chainId: recording.chainId, blocks });
const all = recording.receipts.flatMap((receipt) => receipt["logs"] as Answer[]);
const find = (filter: unknown) => filterLogs(chain, filter);
const newOwner = "0xce0457fe73731f824cc272376169235128c118b49d344817417c6d108d155e82";

test("a filter from the first block to the head returns every recorded log unchanged, in chain order", () => {
  expect(all.length).toBe(1532);
  expect(find({ fromBlock: "0x0", toBlock: "latest" })).toEqual(all);
});

test("without bounds the filter means the head block", () => {
  expect(find({})).toEqual([]);
});

test.each([
  ["a single address", { address: "0x261D8c5e9742e6f7f1076fa1f560894524e19cad" }],
  ["a list of addresses", { address: ["0x261d8c5e9742e6f7f1076fa1f560894524e19cad"] }],
])("%s matches case-insensitively", (_, filter) => {
  const expected = all.filter((log) => log["address"] === "0x261d8c5e9742e6f7f1076fa1f560894524e19cad");
  expect(expected.length).toBeGreaterThan(0);
  expect(find({ fromBlock: "0x0", ...filter })).toEqual(expected);
});

test("an empty list means any, null means any value at that position", () => {
  expect(find({ fromBlock: "0x0", address: [], topics: [[]] }).length).toBe(1532);
  const threeTopics = all.filter((log) => (log["topics"] as string[]).length >= 3);
  expect(find({ fromBlock: "0x0", topics: [null, null, null] })).toEqual(threeTopics);
});

test("blockHash selects one block", () => {
  const block = blocks.find(({ logs }) => logs.length > 3)!;
  expect(find({ blockHash: block.hash })).toEqual(block.logs);
  expect(() => find({ blockHash: `0x${"77".repeat(32)}` })).toThrow("unknown block");
});

test("any range and choice of topics equals a plain scan of the recording", () => {
  const topics = [...new Set(all.map((log) => (log["topics"] as string[])[0]!))];
  fc.assert(
    fc.property(fc.nat(200), fc.nat(200), fc.subarray(topics), (one, other, wanted) => {
      const [from, to] = [Math.min(one, other), Math.max(one, other)];
      const expected = all.filter((log) => {
        const number = Number(log["blockNumber"]);
        const [first] = log["topics"] as string[];
        return number >= from && number <= to && (wanted.length === 0 || wanted.includes(first!));
      });
      const hex = (number: number) => `0x${number.toString(16)}`;
      expect(find({ fromBlock: hex(from), toBlock: hex(to), topics: [wanted] })).toEqual(expected);
    }),
    { numRuns: 50 },
  );
});

test.each([
  [null, "expected object, received null"],
  [{ fromBlock: "soon" }, "a block must be a tag or a hex number"],
  [{ fromBlock: "0x5", toBlock: "0x4" }, "fromBlock is after toBlock"],
  [{ address: 5 }, "Invalid input"],
  [{ topics: newOwner }, "expected array, received string"],
  [{ topics: [[5]] }, "Invalid input"],
])("%j is refused", (filter, problem) => {
  expect(() => find(filter)).toThrow(problem);
});
