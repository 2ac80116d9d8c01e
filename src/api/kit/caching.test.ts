import { expect, test } from "vitest";
import { ofPast, untilNextBlock } from "./caching.ts";

// A slot of Ethereum takes 12 seconds; the OP stack and Linea have a block in two.
test.each([
  [[1], 0.4, "public, max-age=0, s-maxage=12"],
  [[1], 5, "public, max-age=0, s-maxage=7"],
  [["11155111"], 11.5, "public, max-age=0, s-maxage=1"],
  [[1], 3_000, "public, max-age=0, s-maxage=1"],
  [[1, 8453], 1, "public, max-age=0, s-maxage=1"],
  // A clock that is slow.
  [[1], -100, "public, max-age=0, s-maxage=12"],
])("of chains %j, %d seconds after their newest block: %s", (chainIds, after, expected) => {
  const newest = 1_700_000_000;
  expect(untilNextBlock({ newest, chainIds }, (newest + after) * 1_000)).toBe(expected);
});

test("a moment in the past lasts longer once no reorganization reaches it", () => {
  const time = 1_700_000_000;
  expect(ofPast(time, (time + 900) * 1_000)).toBeUndefined();
  expect(ofPast(time, (time + 4_000) * 1_000)).toBe("public, max-age=3600");
});
