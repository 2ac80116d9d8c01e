import { describe, expect, test } from "vitest";
import { isLabelSetId, parseLabelSetVersion, pinMismatch } from "./label-set.ts";

describe("label set id", () => {
  test.each(["subgraph", "discovery-a", "ens-test-env", "-", "a".repeat(50)])("accepts %s", (id) => {
    expect(isLabelSetId(id)).toBe(true);
  });

  test.each(["", "a".repeat(51), "Subgraph", "set_1", "set1", "sub graph", "subgraph\n", "ä"])(
    "refuses %j",
    (id) => {
      expect(isLabelSetId(id)).toBe(false);
    },
  );
});

describe("label set version", () => {
  test.each([
    ["0", 0],
    ["1", 1],
    ["007", 7],
    ["9007199254740991", 9007199254740991],
  ])("%s is %i", (text, version) => {
    expect(parseLabelSetVersion(text)).toBe(version);
  });

  test.each([
    "",
    " ",
    "-1",
    "+1",
    "1.5",
    "1e3",
    "0x0",
    "abc",
    "1 ",
    "١",
    "9007199254740992",
    "9".repeat(400),
  ])("%j is not one", (text) => {
    expect(parseLabelSetVersion(text)).toBeUndefined();
  });
});

describe("a pin", () => {
  const facts = { labelSetId: "subgraph", highestLabelSetVersion: 1 };

  test.each([
    ["nothing", undefined, undefined, undefined],
    ["the id alone", "subgraph", undefined, undefined],
    ["the highest version", "subgraph", 1, undefined],
    ["a version above it", "subgraph", 2, "version"],
    ["another id", "searchlight", 0, "id"],
    // The id is checked first.
    ["another id with a version above", "searchlight", 2, "id"],
  ] as const)("of %s matches or not", (_, labelSetId, labelSetVersion, mismatch) => {
    expect(pinMismatch({ labelSetId, labelSetVersion }, facts)).toBe(mismatch);
  });
});
