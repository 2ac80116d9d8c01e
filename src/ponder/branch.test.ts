import { expect, test } from "vitest";
import { checkpointOf } from "../../test/support/checkpoints.ts";
import { branchRows, parseBranch } from "./branch.ts";

// As Ponder has blocks.
const synced = [
  { block: { number: "0xa", timestamp: "0x64", hash: "0xaa", parentHash: "0x99" } },
  { block: { number: "0xb", timestamp: "0x70", hash: "0xbb", parentHash: "0xaa" } },
];
const rows = (head: number) =>
  JSON.parse(branchRows({ id: 5 }, synced, checkpointOf({ number: head, timestamp: 100 }, 5))) as {
    id: string;
    snapshot: object;
  }[];
const newest = { number: 11, timestamp: 112, hash: "0xbb", parentHash: "0xaa" };

test("a branch is stored with its head and read again, each block with its parent", () => {
  const [head, branch] = rows(11);
  expect(head).toEqual({ id: "head 5", snapshot: newest });
  expect(branch?.id).toBe("branch 5");
  expect(parseBranch(JSON.stringify(branch?.snapshot))).toEqual([
    { number: 10, timestamp: 100, hash: "0xaa", parentHash: "0x99" },
    newest,
  ]);
});

test.each([null, undefined, "[]"])("of a chain that was not followed yet, %j, no block is known", (text) => {
  expect(parseBranch(text)).toEqual([]);
  expect(rows(9)[0]).toEqual({ id: "head 5", snapshot: {} });
});
