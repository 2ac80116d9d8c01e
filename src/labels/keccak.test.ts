import fc from "fast-check";
import { keccak256 as keccak256OfViem } from "viem";
import { describe, expect, test } from "vitest";
import { keccak256, keccak256OfText } from "./keccak.ts";

describe("keccak-256", () => {
  test.each([
    ["", "c5d2460186f7233c927e7db2dcc703c0e500b653ca82273b7bfad8045d85a470"],
    ["abc", "4e03657aea45a94fc7d47ba826c8d667c0d1e6e33a64a036ec44f58fa12d6c45"],
    ["eth", "4f5b812789fc606be1b3b16908db13fc7a9adf7ca72641f84d75b47069d3d7f0"],
    ["vitalik", "af2caa1c2ca1d027f1ac823b529d0a67cd144264b2789fa2ea4d63a67c7103cc"],
  ])("of %j", (text, expected) => {
    expect(keccak256OfText(text).toString("hex")).toBe(expected);
    expect(keccak256(Buffer.from(text)).toString("hex")).toBe(expected);
  });

  test.each([0, 1, 135, 136, 137, 271, 272, 273, 120_000, 1_000_000])("agrees with viem on %i bytes", (n) => {
    const bytes = Buffer.alloc(n, "a");
    expect(keccak256(bytes).toString("hex")).toBe(keccak256OfViem(bytes).slice(2));
  });

  test("agrees with viem on any bytes, also in the middle of a buffer", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 600 }), fc.nat(50), fc.nat(50), (bytes, before, after) => {
        const buffer = Buffer.concat([Buffer.alloc(before, 1), bytes, Buffer.alloc(after, 2)]);
        const digest = keccak256(buffer, before, before + bytes.length);
        expect(digest.toString("hex")).toBe(keccak256OfViem(bytes).slice(2));
      }),
    );
  });

  test("agrees with viem on any text", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (text) => {
        expect(keccak256OfText(text).toString("hex")).toBe(keccak256OfViem(Buffer.from(text)).slice(2));
      }),
    );
  });
});
