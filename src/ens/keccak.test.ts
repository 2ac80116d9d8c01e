import fc from "fast-check";
import { keccak256 as viemKeccak256 } from "viem";
import { describe, expect, test } from "vitest";
import { computeDigest, keccak256 } from "./keccak.ts";

describe("keccak-256", () => {
  test.each([
    ["", "0xc5d2460186f7233c927e7db2dcc703c0e500b653ca82273b7bfad8045d85a470"],
    ["abc", "0x4e03657aea45a94fc7d47ba826c8d667c0d1e6e33a64a036ec44f58fa12d6c45"],
    ["eth", "0x4f5b812789fc606be1b3b16908db13fc7a9adf7ca72641f84d75b47069d3d7f0"],
    ["vitalik", "0xaf2caa1c2ca1d027f1ac823b529d0a67cd144264b2789fa2ea4d63a67c7103cc"],
  ])("of %j", (text, expected) => {
    expect(keccak256(text)).toBe(expected);
    expect(keccak256(Buffer.from(text))).toBe(expected);
    expect(computeDigest(text)).toEqual(new Uint8Array(Buffer.from(expected.slice(2), "hex")));
  });

  test.each([0, 1, 135, 136, 137, 271, 272, 273, 120_000, 1_000_000])("agrees with viem on %i bytes", (n) => {
    const bytes = Buffer.alloc(n, "a");
    expect(keccak256(bytes)).toBe(viemKeccak256(bytes));
    expect(keccak256("a".repeat(n))).toBe(viemKeccak256(bytes));
  });

  test("agrees with viem on any bytes", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 600 }), (bytes) => {
        expect(keccak256(bytes)).toBe(viemKeccak256(bytes));
      }),
    );
  });

  test("hashes the UTF-8 bytes of any text", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (text) => {
        expect(keccak256(text)).toBe(viemKeccak256(new TextEncoder().encode(text)));
      }),
    );
  });
});
