import { namehash } from "viem";
import { expect, test } from "vitest";
import { accountId, addrReverseNode, tokenIdToHex } from "./ids.ts";

const address = "0x57f1887a8bf19b14fc0df6fd9b2acc9af147ea85";

test("writes the account in lower case", () => {
  expect(accountId(1, "0x57f1887a8BF19b14fC0dF6Fd9B2acc9Af147eA85")).toBe(`eip155:1:${address}`);
});

test("addr.reverse has its node", () => {
  expect(addrReverseNode).toBe(namehash("addr.reverse"));
});

test("a token id is 32 bytes", () => {
  expect(tokenIdToHex(0n)).toBe(`0x${"0".repeat(64)}`);
  expect(tokenIdToHex(2n ** 256n - 1n)).toBe(`0x${"f".repeat(64)}`);
  expect(tokenIdToHex(0xabcn)).toBe(`0x${"0".repeat(61)}abc`);
});
