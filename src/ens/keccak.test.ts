import fc from "fast-check";
import { keccak256 as viemKeccak256 } from "viem";
import { expect, test } from "vitest";
import { keccak256 } from "./keccak.ts";

test.each([
  ["", "0xc5d2460186f7233c927e7db2dcc703c0e500b653ca82273b7bfad8045d85a470"],
  ["abc", "0x4e03657aea45a94fc7d47ba826c8d667c0d1e6e33a64a036ec44f58fa12d6c45"],
  ["eth", "0x4f5b812789fc606be1b3b16908db13fc7a9adf7ca72641f84d75b47069d3d7f0"],
])("hashes %j", (text, hash) => {
  expect(keccak256(text)).toBe(hash);
});

test("agrees with viem on any bytes", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 500 }), (bytes) => {
      expect(keccak256(bytes)).toBe(viemKeccak256(bytes));
    }),
  );
});

test("hashes the UTF-8 bytes of any text", () => {
  fc.assert(
    fc.property(fc.string({ unit: "grapheme" }), (text) => {
      expect(keccak256(text)).toBe(viemKeccak256(new TextEncoder().encode(text)));
    }),
  );
});
