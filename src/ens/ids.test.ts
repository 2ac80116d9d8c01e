import { namehash } from "viem";
import { expect, test } from "vitest";
import {
  accountId,
  addrReverseNode,
  assetId,
  parseAccountId,
  rootNode,
  subnode,
  tokenIdToHex,
} from "./ids.ts";
import { labelhash } from "./labels.ts";

const address = "0x57f1887a8bf19b14fc0df6fd9b2acc9af147ea85";

test("writes the account in lower case", () => {
  expect(accountId(1, "0x57f1887a8BF19b14fC0dF6Fd9B2acc9Af147eA85")).toBe(`eip155:1:${address}`);
});

test("reads what it writes", () => {
  expect(parseAccountId(`eip155:8453:${address}`)).toEqual({ chainId: 8453, address });
});

test.each(["", "eip155:1", `cosmos:1:${address}`, `eip155:x:${address}`, "eip155:1:0x57"])(
  "refuses %j",
  (id) => {
    expect(() => parseAccountId(id)).toThrow("is not an account id of an EVM chain");
  },
);

test.each([
  [
    "erc721" as const,
    0x87b9f9a8ed34ff2f2df4e85e103a290dc5328443160a49233018a09d1fb34a11n,
    "eip155:1/erc721:0x57f1887a8bf19b14fc0df6fd9b2acc9af147ea85/0x87b9f9a8ed34ff2f2df4e85e103a290dc5328443160a49233018a09d1fb34a11",
  ],
  [
    "erc1155" as const,
    255n,
    "eip155:1/erc1155:0x57f1887a8bf19b14fc0df6fd9b2acc9af147ea85/0x00000000000000000000000000000000000000000000000000000000000000ff",
  ],
])("writes the id of an %s token with 64 digits", (assetNamespace, tokenId, id) => {
  const contract = "0x57f1887a8bf19b14fc0df6fd9b2acc9af147ea85";
  expect(assetId({ chainId: 1, assetNamespace, contract, tokenId })).toBe(id);
});

test.each(["eth", "base.eth", "addr.reverse"])("subnode of a label under %s", (parent) => {
  expect(subnode(namehash(parent), labelhash("alice"))).toBe(namehash(`alice.${parent}`));
});

test("the root's children hang below 32 zero bytes (ENSIP-1)", () => {
  expect(subnode(rootNode, labelhash("eth"))).toBe(
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
