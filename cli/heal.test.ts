import { expect, test } from "vitest";
import { describe } from "./heal.ts";

const begun = { from: 0, to: 1, cursor: "", asked: 0, healed: 0, startedAt: 0 };
const coverage = [
  { of: "below eth", names: 3_000, unknown: 3 },
  { of: "below alice\u0007.eth", names: 2, unknown: 1 },
];

test("an index that was never healed shows what it knows, without control characters", () => {
  expect(describe(undefined, coverage, 0)).toBe(
    `The index has the version of the label set with which it began.
  below eth: 99.9 % of 3,000 labels are known, 3 unknown
  below alice\\u0007.eth: 50.0 % of 2 labels are known, 1 unknown`,
  );
});

test("progress is told by ids, which are spread evenly, and the time left by its rate", () => {
  const half = {
    ...begun,
    part: "domain",
    cursor: `0x80${"0".repeat(62)}`,
    asked: 500,
    healed: 400,
  } as const;
  expect(describe(half, [], 10_000)).toBe(
    "Healing from version 0 to 1: 50.0 % of domain are done, about 10 s left for them; 400 of 500 rows without a label healed in 10 s, 50 a second.",
  );
});

test("a healed index tells the versions and the counts", () => {
  const done = { ...begun, part: "done", asked: 4_000, healed: 1_000, endedAt: 2_000 } as const;
  expect(describe(done, [], 99_000)).toBe(
    "Healed from version 0 to 1: 1,000 of 4,000 rows without a label healed in 2 s, 2,000 a second.",
  );
});
