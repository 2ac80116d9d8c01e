import { expect, test } from "vitest";
import { interpretedLabel, isNormalizedLabel } from "./interpreted-labels.ts";

const hash = `0x${"ab".repeat(32)}` as const;

test.each(["eth", "a--b", "é", "中文字", "🦄", "_x"])("%j is normalised (ENSIP-15)", (label) => {
  expect(isNormalizedLabel(label)).toBe(true);
  expect(interpretedLabel(hash, label)).toBe(label);
});

test.each(["", "UPPER", "a b", "a.b", "xn--ls8h", "\0", "[ab]", "\ufeffbom", "\ufffd"])(
  "%j is not",
  (label) => {
    expect(isNormalizedLabel(label)).toBe(false);
    expect(interpretedLabel(hash, label)).toBe(`[${"ab".repeat(32)}]`);
  },
);

test("an unknown label stands as its hash", () => {
  expect(interpretedLabel(hash, undefined)).toBe(`[${"ab".repeat(32)}]`);
});
