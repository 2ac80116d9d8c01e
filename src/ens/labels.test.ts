import { expect, test } from "vitest";
import { encodedLabel, isUsableLabel, labelhash, normalizeLabelhash } from "./labels.ts";

const ethHash = "0x4f5b812789fc606be1b3b16908db13fc7a9adf7ca72641f84d75b47069d3d7f0";

test.each([
  ["eth", ethHash],
  ["", "0xc5d2460186f7233c927e7db2dcc703c0e500b653ca82273b7bfad8045d85a470"],
  ["vitalik", "0xaf2caa1c2ca1d027f1ac823b529d0a67cd144264b2789fa2ea4d63a67c7103cc"],
])("hashes the literal bytes of %j", (label, hash) => {
  expect(labelhash(label)).toBe(hash);
});

test("hashes a label that looks encoded as plain text", () => {
  expect(labelhash(encodedLabel(ethHash))).not.toBe(ethHash);
});

test("writes an unknown label in brackets", () => {
  expect(encodedLabel(ethHash)).toBe("[4f5b812789fc606be1b3b16908db13fc7a9adf7ca72641f84d75b47069d3d7f0]");
});

test.each(["test", "", "UPPER", "a b", "\u{1f984}", "\ufeffbom", "xn--ls8h"])("uses %j", (label) => {
  expect(isUsableLabel(label)).toBe(true);
});

test.each(["te\0st", "te.st", "te[st", "te]st", "\0"])("refuses %j", (label) => {
  expect(isUsableLabel(label)).toBe(false);
});

test.each([
  ["unchanged", ethHash],
  ["upper case", `0x${ethHash.slice(2).toUpperCase()}`],
  ["without prefix", ethHash.slice(2)],
  ["in brackets", `[${ethHash.slice(2)}]`],
  ["in brackets with prefix", `[${ethHash}]`],
])("reads a labelhash %s", (_, text) => {
  expect(normalizeLabelhash(text)).toBe(ethHash);
});

test("restores one lost leading zero", () => {
  const hash = `0x0${"f".repeat(63)}`;
  expect(normalizeLabelhash("f".repeat(63))).toBe(hash);
  expect(normalizeLabelhash(`0x${"f".repeat(63)}`)).toBe(hash);
});

test.each([
  ["62 digits", "f".repeat(62)],
  ["65 digits", "f".repeat(65)],
  ["prefix 0X", `0X${"f".repeat(64)}`],
  ["another letter", `0x${"f".repeat(63)}g`],
  ["one bracket", `[${"f".repeat(64)}`],
  ["nothing", ""],
])("refuses a labelhash with %s", (_, text) => {
  expect(normalizeLabelhash(text)).toBeUndefined();
});
