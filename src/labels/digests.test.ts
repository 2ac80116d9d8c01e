import fc from "fast-check";
import { bytesToHex, type Hex, hexToBytes, keccak256, stringToBytes } from "viem";
import { describe, expect, test } from "vitest";
import { isPreimage, labelKey, writeDigest } from "./digests.ts";

const eth: Hex = "0x4f5b812789fc606be1b3b16908db13fc7a9adf7ca72641f84d75b47069d3d7f0";

describe("labelhashes as bytes", () => {
  test("are written at the given offset", () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 32, maxLength: 32 }), fc.nat(40), (bytes, start) => {
        const target = new Uint8Array(80).fill(7);
        expect(writeDigest(bytesToHex(bytes), target, start)).toBe(true);
        const expected = new Uint8Array(80).fill(7);
        expected.set(bytes, start);
        expect(target).toEqual(expected);
      }),
    );
  });

  test.each([
    ["an empty text", ""],
    ["a digit too few", eth.slice(0, -1)],
    ["a digit too many", `${eth}0`],
    ["no prefix", `00${eth.slice(2)}`],
    ["upper case", `0x${eth.slice(2).toUpperCase()}`],
    ["a character before the digits", `${eth.slice(0, -1)}/`],
    ["a character after the digits", `${eth.slice(0, -1)}g`],
    ["a control character", `${eth.slice(0, -1)}\0`],
    ["a character whose last bits are those of a digit", `${eth.slice(0, -1)}\u0130`],
    ["a character beyond ASCII", `${eth.slice(0, -1)}\u00b0`],
  ])("are not written of %s", (_, text) => {
    expect(writeDigest(text, new Uint8Array(32))).toBe(false);
  });

  test("have their first 52 bits as key", () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 32, maxLength: 64 }), fc.nat(32), (bytes, start) => {
        fc.pre(start + 32 <= bytes.length);
        const first = bytesToHex(bytes.subarray(start, start + 7));
        expect(labelKey(bytes, start)).toBe(Number(BigInt(first) >> 4n));
      }),
    );
  });

  test("are those of a label, or not", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), fc.nat(255), (label, bit) => {
        const digest = hexToBytes(keccak256(stringToBytes(label)));
        expect(isPreimage(label, digest)).toBe(true);
        digest[bit >> 3] = (digest[bit >> 3] ?? 0) ^ (1 << (bit & 7));
        expect(isPreimage(label, digest)).toBe(false);
      }),
    );
  });
});
