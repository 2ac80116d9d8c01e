import type { Hex } from "viem";
import { expect, test } from "vitest";
import { decodedReferrer, isParentCannotControlBurned } from "./registrations.ts";

const zero = "0x0000000000000000000000000000000000000000";

test.each<[string, Hex, Hex]>([
  [
    "an address after twelve zero bytes",
    "0x0000000000000000000000005a1de0c3b7f24e86d9310ab27c4f5e6d7a8b9c01",
    "0x5a1de0c3b7f24e86d9310ab27c4f5e6d7a8b9c01",
  ],
  ["nobody", `0x${"0".repeat(64)}`, zero],
  [
    "an address in the first bytes",
    "0x5a1de0c3b7f24e86d9310ab27c4f5e6d7a8b9c01000000000000000000000000",
    zero,
  ],
  ["one bit in the padding", "0x0000000000000000000000015a1de0c3b7f24e86d9310ab27c4f5e6d7a8b9c01", zero],
])("%s", (_, encoded, expected) => {
  expect(decodedReferrer(encoded)).toBe(expected);
});

test.each([
  [0, false],
  [0x10000, true],
  [0x1ffff, true],
  [0xfffeffff, false],
])("fuses %i: parent cannot control is %s", (fuses, isBurned) => {
  expect(isParentCannotControlBurned(fuses)).toBe(isBurned);
});
