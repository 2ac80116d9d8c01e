import { expect, test } from "vitest";
import { parseCheckpoint } from "./checkpoint.ts";

test("reads the block and chain of a log's checkpoint", () => {
  expect(
    parseCheckpoint(
      "1768400387" + "0000000000000001" + "0000000024231905" + "0000000000000012" + "5" + "0000000000000345",
    ),
  ).toEqual({ block: { timestamp: 1768400387, number: 24231905 }, chainId: 1, isStart: false });
});

test("reads the checkpoint of a whole block, which is filled up with nines", () => {
  expect(
    parseCheckpoint(
      "1768400395" + "0000000000008453" + "0000000040805524" + "9999999999999999" + "9" + "9999999999999999",
    ),
  ).toEqual({ block: { timestamp: 1768400395, number: 40805524 }, chainId: 8453, isStart: false });
});

test("tells the checkpoint that a chain begins with", () => {
  expect(
    parseCheckpoint(
      "1489165544" + "0000000000000001" + "0000000003327417" + "0000000000000000" + "0" + "0000000000000000",
    ),
  ).toEqual({ block: { timestamp: 1489165544, number: 3327417 }, chainId: 1, isStart: true });
});

test.each(["", "1".repeat(74), "1".repeat(76), `${"1".repeat(74)}x`])("refuses %j", (text) => {
  expect(() => parseCheckpoint(text)).toThrow("A checkpoint has 75 digits");
});
