import { namehash } from "viem";
import { expect, test } from "vitest";
import { labelhashOf } from "./labels.ts";
import { addrReverseNode, rootNode, subnode, tokenIdToHex } from "./nodes.ts";

test.each(["eth", "base.eth", "addr.reverse"])("subnode of a label under %s", (parent) => {
  expect(subnode(namehash(parent), labelhashOf("alice"))).toBe(namehash(`alice.${parent}`));
});

test("the root's children hang below 32 zero bytes (ENSIP-1)", () => {
  expect(subnode(rootNode, labelhashOf("eth"))).toBe(
    "0x93cdeb708b7545dc668eb9280176169d1c33cfd8ed6f04690a0bcc88a93fc4ae",
  );
});

test("addr.reverse has its node", () => {
  expect(addrReverseNode).toBe(namehash("addr.reverse"));
});

test("a token id is 32 bytes", () => {
  expect(tokenIdToHex(0n)).toBe(`0x${"0".repeat(64)}`);
  expect(tokenIdToHex(2n ** 256n - 1n)).toBe(`0x${"f".repeat(64)}`);
  expect(tokenIdToHex(0xabcn)).toBe(`0x${"0".repeat(61)}abc`);
});
