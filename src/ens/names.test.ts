import { expect, test } from "vitest";
import {
  isEncodedLabel,
  isNormalizedName,
  namesAbove,
  nodeOfName,
  normalizedName,
  parentName,
} from "./names.ts";

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
  expect(nodeOfName(name)).toBe(node);
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

test.each(["Vitalik.eth", "a..eth", "a b.eth", `[${"a".repeat(64)}].eth`, "\0.eth", "xn--ls8h.eth"])(
  "%j is not normalised",
  (name) => {
    expect(isNormalizedName(name)).toBe(false);
  },
);

test("tells the normalised form, or why there is none", () => {
  expect(normalizedName("Vitalik.ETH")).toEqual({ name: "vitalik.eth" });
  expect(normalizedName("a b.eth")).toEqual({ fault: expect.stringContaining("disallowed character") });
});

test("knows a label that is written as its hash", () => {
  expect(isEncodedLabel(`[${"0a".repeat(32)}]`)).toBe(true);
  expect(isEncodedLabel(`[${"0A".repeat(32)}]`)).toBe(false);
  expect(isEncodedLabel("0a")).toBe(false);
});
