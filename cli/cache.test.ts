import { expect, test } from "vitest";
import { parseCheck, parsePurge, reportCheck } from "./cache.ts";

test("reads a range with and without an end", () => {
  expect(parsePurge(["--chain", "1", "--from", "20", "--to", "29"])).toEqual({
    chainId: 1,
    from: 20,
    to: 29,
  });
  expect(parsePurge(["--chain=10", "--from=0"])).toEqual({ chainId: 10, from: 0 });
});

test.each([
  [[], ["--chain is missing.", "--from is missing."]],
  [
    ["now", "--chain", "main", "--from", "-1", "--until", "3"],
    [
      'Unexpected argument "now".',
      '--chain is "main"; expected a whole number from 0.',
      "--from is",
      "Unknown option --until.",
    ],
  ],
  [
    ["--chain", "1", "--chain", "2", "--from", "9", "--to", "3"],
    ["--chain is given twice.", "--to is before --from."],
  ],
  [["--chain", "1", "--from"], ['--from is ""; expected a whole number from 0.']],
])("lists everything wrong with %j", (args, faults) => {
  for (const fault of faults) expect(() => parsePurge(args)).toThrow(fault);
});

test("reads what to compare, with defaults", () => {
  expect(parseCheck(["--chain", "1", "--samples", "20", "--seed", "7"])).toEqual({
    chainId: 1,
    from: 0,
    to: Number.MAX_SAFE_INTEGER,
    samples: 20,
    seed: 7,
  });
  expect(parseCheck(["--chain", "1"]).samples).toBe(100);
  expect(() => parseCheck(["--samples", "many"])).toThrow(
    /--chain is missing\.\n--samples is "many"; expected a whole number/,
  );
});

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
  const log = {
    address: "0xaa",
    topics: ["0xbb"],
    data: "0x",
    blockNumber: "0x14",
    blockHash: "0x",
    logIndex: "0x3",
    transactionHash: "0x",
    transactionIndex: "0x0",
  };
  const { text, isSound } = reportCheck(
    {
      ...found,
      differingRanges: [{ from: 10, to: 29 }],
      differences: [{ block: 20, kind: "missing", log }],
    },
    asked,
  );
  expect(isSound).toBe(false);
  expect(text).toContain("block 20: log 3 of 0xaa (0xbb) is missing in the cache");
  expect(text).toContain("npm run cache -- purge --chain 1 --from 10 --to 29");
});

test("nothing compared is not sound", () => {
  expect(reportCheck({ ...found, ranges: 0, unanswered: 2_000 }, asked)).toMatchObject({
    isSound: false,
    text: expect.stringContaining("2000 ranges could not be compared"),
  });
});
