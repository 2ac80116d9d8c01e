import { expect, test } from "vitest";
import { encodedLabel, isUsableLabel, labelhash } from "./labels.ts";

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
