import { expect, test } from "vitest";
import { reportCheck } from "./cache.ts";

const asked = { chainId: 1, from: 0, to: Number.MAX_SAFE_INTEGER, samples: 2_000, seed: 7 };
const found = {
  ranges: 2_000,
  unanswered: 0,
  differingRanges: [],
  blocks: 90_000,
  cachedBlocks: 1_000_000,
  logs: 3,
  differences: [],
};

test("says how sure it is when nothing differs", () => {
  const { text, isSound } = reportCheck(found, asked);
  expect(isSound).toBe(true);
  // 1 - 0.05^(1/2000)
  expect(text).toContain("0 of 2000 ranges differ: at most 0.15 % of them are wrong, at 95 % confidence.");
});

test("names each log that differs, and the command that removes its range", () => {
  const difference = "Log 3 of block 20, of 0xaa (0xbb), is missing in the cache.";
  const { text, isSound } = reportCheck(
    {
      ...found,
      differingRanges: [{ from: 10, to: 29 }],
      differences: [difference],
    },
    asked,
  );
  expect(isSound).toBe(false);
  expect(text).toContain(`  ${difference}`);
  expect(text).toContain("npm run cache -- purge --chain 1 --from 10 --to 29");
});

test("nothing compared is not sound", () => {
  expect(reportCheck({ ...found, ranges: 0, unanswered: 2_000 }, asked)).toMatchObject({
    isSound: false,
    text: expect.stringContaining("2000 ranges could not be compared"),
  });
});
