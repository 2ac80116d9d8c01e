import { expect, test } from "vitest";
import { parsePurge } from "./cache.ts";

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
