import type { Hex } from "viem";
import { describe, expect, test } from "vitest";
import { createScopes } from "../../test/support/scope.ts";
import type { TokenIssuer } from "../deployments/namespaces.ts";
import { nodeOfToken } from "../deployments/namespaces.ts";
import { account } from "../schema/subgraph.ts";
import { nameToken } from "../schema/tokenscope.ts";
import { applyTokenTransfer, applyTokenTransfers } from "./tokenscope.ts";

const registrar: TokenIssuer = {
  chainId: 1,
  address: "0x57f1887a8bf19b14fc0df6fd9b2acc9af147ea85",
  assetNamespace: "erc721",
  managedNode: "0x93cdeb708b7545dc668eb9280176169d1c33cfd8ed6f04690a0bcc88a93fc4ae",
  isNameWrapper: false,
  mintsOverLivingTokens: false,
};
const threedns: TokenIssuer = {
  chainId: 10,
  address: "0xbb7b805b257d7c76ca9435b3ffe780355e4c4b17",
  assetNamespace: "erc1155",
  managedNode: undefined,
  isNameWrapper: false,
  mintsOverLivingTokens: true,
};
const zero: Hex = `0x${"0".repeat(40)}`;
const alice: Hex = `0x${"a".repeat(40)}`;
const bob: Hex = `0x${"b".repeat(40)}`;
// keccak-256 of "vitalik", and the node of vitalik.eth.
const vitalik = 0xaf2caa1c2ca1d027f1ac823b529d0a67cd144264b2789fa2ea4d63a67c7103ccn;
const vitalikNode = "0xee6c4522aab0003e8d14cd40a6af439055fd2577951148c14b6cea9a53475835";

const holders: Record<string, Hex> = { "0": zero, a: alice, b: bob };

/** Transfers of the token: of each the holders before and after. */
async function play(issuer: TokenIssuer, moves: string) {
  const { next, store, anomalies } = createScopes();
  for (const [from = zero, to = zero] of moves.split(" ").map((move) => [...move].map((key) => holders[key])))
    await applyTokenTransfer(next(), issuer, { tokenId: vitalik, from, to });
  const [row] = store.rows(nameToken);
  return { row, anomalies, store };
}

test("a minted token of the registrar represents the subname of its label", async () => {
  const { row, anomalies, store } = await play(registrar, "0a");
  expect(row).toEqual({
    id: "eip155:1/erc721:0x57f1887a8bf19b14fc0df6fd9b2acc9af147ea85/0xaf2caa1c2ca1d027f1ac823b529d0a67cd144264b2789fa2ea4d63a67c7103cc",
    domainId: vitalikNode,
    chainId: 1,
    contractAddress: registrar.address,
    tokenId: vitalik,
    assetNamespace: "erc721",
    owner: alice,
    mintStatus: "minted",
    firstSeen: "1".padStart(75, "0"),
  });
  expect(anomalies).toEqual([]);
  expect(store.rows(account).map(({ id }) => id)).toEqual([alice]);
});

test("a token whose id is the node represents that node", () => {
  expect(nodeOfToken(threedns, BigInt(vitalikNode))).toBe(vitalikNode);
});

test.each<[string, TokenIssuer, string, Hex]>([
  ["mint", registrar, "0a", alice],
  ["mint-burn", registrar, "00", zero],
  ["remint", registrar, "0a a0 0b", bob],
  ["remint-burn", registrar, "00 00", zero],
  ["minted-remint", threedns, "0a 0b", bob],
  ["minted-remint-burn", threedns, "0a 00", zero],
  ["burn", registrar, "0a a0", zero],
  ["transfer", registrar, "0a ab", bob],
  ["self-transfer", registrar, "0a aa", alice],
])("agreeing transfers: %s", async (_, issuer, moves, owner) => {
  const { row, anomalies } = await play(issuer, moves);
  expect([row?.["owner"], row?.["mintStatus"]]).toEqual([owner, owner === zero ? "burned" : "minted"]);
  expect(row?.["firstSeen"]).toBe("1".padStart(75, "0"));
  expect(anomalies).toEqual([]);
});

test.each<[string, string, Hex]>([
  ["of a token never seen", "ab", bob],
  ["burn of a token never seen", "a0", zero],
  ["from another than the owner", "0a bb", bob],
  ["of a burned token", "00 ab", bob],
  ["mint over a living token", "0a 0b", bob],
])("contradictory transfers are reported, and applied as emitted: %s", async (_, moves, owner) => {
  const { row, anomalies } = await play(registrar, moves);
  expect([row?.["owner"], row?.["mintStatus"]]).toEqual([owner, owner === zero ? "burned" : "minted"]);
  expect(anomalies).toEqual(["contradictory-token-transfer"]);
});

describe("batches", () => {
  const batch = async (ids: bigint[], amounts: bigint[]) => {
    const { next, store, anomalies } = createScopes();
    await applyTokenTransfers(next(), threedns, { ids, amounts, from: zero, to: alice });
    return { tokens: store.rows(nameToken).map(({ tokenId }) => tokenId), anomalies };
  };

  test.each([
    ["move each of their tokens", [1n, 2n], [1n, 1n], [1n, 2n], []],
    [
      "skip tokens of other amounts",
      [1n, 2n, 3n],
      [0n, 1n, 2n],
      [2n],
      ["odd-token-amount", "odd-token-amount"],
    ],
    ["of unequal lengths are skipped", [1n, 2n], [1n], [], ["odd-token-batch"]],
  ])("%s", async (_, ids, amounts, tokens, anomalies) => {
    expect(await batch(ids, amounts)).toEqual({ tokens, anomalies });
  });
});
