import { zeroAddress } from "viem";
import { expect, test } from "vitest";
import { isOwnedBy } from "./events.ts";

const address = `0x${"ab".repeat(20)}` as const;
const other = `0x${"cd".repeat(20)}` as const;

test("an owner's account is known to exist", () => {
  expect(isOwnedBy({ ownerId: address }, address)).toBe(true);
});

test.each([
  ["another owner", { ownerId: other }, address],
  ["no domain", undefined, address],
  ["the zero address, which a domain has from birth", { ownerId: zeroAddress }, zeroAddress],
] as const)("an account must be created for %s", (_, row, account) => {
  expect(isOwnedBy(row, account)).toBe(false);
});
