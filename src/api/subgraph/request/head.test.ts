import { expect, test } from "vitest";
import { checkpointOf } from "../../../../test/support/subgraph.ts";
import { decodeHead } from "./head.ts";

test.each([
  [
    "a processed block",
    checkpointOf({ number: 23_000_000, timestamp: 1_750_000_000 }),
    { number: 23_000_000, timestamp: 1_750_000_000 },
  ],
  [
    "a place within a block",
    `${"1438269973"}${"1".padStart(16, "0")}${"5".padStart(16, "0")}${"0".repeat(16)}5${"3".padStart(16, "0")}`,
    { number: 5, timestamp: 1_438_269_973 },
  ],
  [
    "the start before the first block",
    `${"1438269973"}${"1".padStart(16, "0")}${"5".padStart(16, "0")}${"0".repeat(33)}`,
    undefined,
  ],
  ["no row", null, undefined],
  ["another form", "abc", undefined],
])("reads %s", (_, checkpoint, head) => {
  expect(decodeHead(checkpoint)).toEqual(head);
});
