import type { Hex } from "viem";
import { expect, test } from "vitest";
import { decodedReferrer, isParentCannotControlBurned, toSignedFuses } from "./registrations.ts";

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

// graph-node: a uint32 of an event is an i32 in the mapping.
test.each([
  [0x10001, 65_537],
  [0x7fffffff, 2_147_483_647],
  [0x80010000, -2_147_418_112],
])("fuses %i are stored as %i", (fuses, stored) => {
  expect(toSignedFuses(fuses)).toBe(stored);
});
