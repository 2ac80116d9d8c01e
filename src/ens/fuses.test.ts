import { expect, test } from "vitest";
import { isParentCannotControlBurned, toSignedFuses } from "./fuses.ts";

test.each([
  [0, false],
  [0x10000, true],
  [0x1ffff, true],
  [0xfffeffff, false],
])("fuses %i: parent cannot control is %s", (fuses, isBurned) => {
  expect(isParentCannotControlBurned(fuses)).toBe(isBurned);
});

test("a uint32 with its highest bit set is a negative Int, and keeps its bits", () => {
  expect(toSignedFuses(0x80010000)).toBe(-2147418112);
  expect(isParentCannotControlBurned(toSignedFuses(0x80010000))).toBe(true);
  expect(toSignedFuses(196641)).toBe(196641);
});
