import { ens_normalize } from "@adraffy/ens-normalize";
import { expect, test } from "vitest";
import { namehash, namesAbove, nodeOfInterpretedName, parentName } from "./names.ts";
import { interpretedLabel, isNormalizedLabel, isNormalizedName, normalizedName } from "./normalization.ts";

// Nodes of ENSIP-1 and of the contracts' own tables.
test.each([
  ["", "0x0000000000000000000000000000000000000000000000000000000000000000"],
  ["eth", "0x93cdeb708b7545dc668eb9280176169d1c33cfd8ed6f04690a0bcc88a93fc4ae"],
  ["foo.eth", "0xde9b09fd7c5f901e23a3f19fecc54828e9c848539801e86591bd9801b019f84f"],
  ["base.eth", "0xff1e3c0eb00ec714e34b6114125fbde1dea2f24a72fbf672e7b7fd5690328e10"],
  [
    "[4f5b812789fc606be1b3b16908db13fc7a9adf7ca72641f84d75b47069d3d7f0]",
    "0x93cdeb708b7545dc668eb9280176169d1c33cfd8ed6f04690a0bcc88a93fc4ae",
  ],
])("node of %j", (name, node) => {
  expect([namehash(name), nodeOfInterpretedName(name)]).toEqual([node, node]);
});

test("names above a name, nearest first", () => {
  expect(namesAbove("pay.alice.eth")).toEqual(["pay.alice.eth", "alice.eth", "eth"]);
  expect(namesAbove("")).toEqual([]);
});

test.each([
  ["pay.alice.eth", "alice.eth"],
  ["eth", ""],
  ["", ""],
])("parent of %j", (name, parent) => {
  expect(parentName(name)).toBe(parent);
});

test.each(["vitalik.eth", "", "🚴‍♂.eth", "_x.eth"])("%j is normalised", (name) => {
  expect(isNormalizedName(name)).toBe(true);
});

const notNormalized = ["Vitalik.eth", "a..eth", ".eth", "eth.", "a b.eth", "\0.eth", "xn--ls8h.eth"];
test.each([...notNormalized, `[${"a".repeat(64)}].eth`])("%j is not normalised", (name) => {
  expect(isNormalizedName(name)).toBe(false);
});

test("returns the normalised form, or why there is none", () => {
  expect(normalizedName("Vitalik.ETH")).toEqual({ name: "vitalik.eth" });
  expect(normalizedName("a b.eth")).toEqual({ fault: expect.stringContaining("disallowed character") });
});

test.each(["0", "vitalik", "vitalik.eth", "0x231b0ee14048e9dccd1d247744d114a4eb5e8e63.addr.reverse"])(
  "%s is its own normalised form, as in ENSIP-15's reference code",
  (name) => expect(normalizedName(name)).toEqual({ name: ens_normalize(name) }),
);

const hash = `0x${"ab".repeat(32)}` as const;

test.each(["eth", "a--b", "é", "中文字", "🦄", "_x"])("label %j is normalised (ENSIP-15)", (label) => {
  expect(isNormalizedLabel(label)).toBe(true);
  expect(interpretedLabel(hash, label)).toBe(label);
});

test.each(["", "UPPER", "a b", "a.b", "xn--ls8h", "\0", "[ab]", "\ufeffbom", "\ufffd"])(
  "label %j is not normalised",
  (label) => {
    expect(isNormalizedLabel(label)).toBe(false);
    expect(interpretedLabel(hash, label)).toBe(`[${"ab".repeat(32)}]`);
  },
);

test("an unknown label is represented by its hash", () => {
  expect(interpretedLabel(hash, undefined)).toBe(`[${"ab".repeat(32)}]`);
});

test.each(["VITALIK.eth", "a..eth", ".eth", "eth.", "[af2c].eth", "a\0b.eth", `[${"A".repeat(64)}].eth`])(
  "%j is not an interpreted name",
  (name) => {
    expect(nodeOfInterpretedName(name)).toBeUndefined();
  },
);
