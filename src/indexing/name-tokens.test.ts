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

async function play(issuer: TokenIssuer, ...moves: [from: Hex, to: Hex][]) {
  const { next, store, anomalies } = createScopes();
  for (const [from, to] of moves) await applyTokenTransfer(next(), issuer, { tokenId: vitalik, from, to });
  const [row] = store.rows(nameToken);
  return { row, anomalies, store };
}

test("a minted token of the registrar represents the subname of its label", async () => {
  const { row, anomalies, store } = await play(registrar, [zero, alice]);
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

describe("agreeing transfers", () => {
  test.each<[string, TokenIssuer, [Hex, Hex][], Hex]>([
    ["mint", registrar, [[zero, alice]], alice],
    ["mint-burn", registrar, [[zero, zero]], zero],
    [
      "remint",
      registrar,
      [
        [zero, alice],
        [alice, zero],
        [zero, bob],
      ],
      bob,
    ],
    [
      "remint-burn",
      registrar,
      [
        [zero, zero],
        [zero, zero],
      ],
      zero,
    ],
    [
      "minted-remint",
      threedns,
      [
        [zero, alice],
        [zero, bob],
      ],
      bob,
    ],
    [
      "minted-remint-burn",
      threedns,
      [
        [zero, alice],
        [zero, zero],
      ],
      zero,
    ],
    [
      "burn",
      registrar,
      [
        [zero, alice],
        [alice, zero],
      ],
      zero,
    ],
    [
      "transfer",
      registrar,
      [
        [zero, alice],
        [alice, bob],
      ],
      bob,
    ],
    [
      "self-transfer",
      registrar,
      [
        [zero, alice],
        [alice, alice],
      ],
      alice,
    ],
  ])("%s", async (_, issuer, moves, owner) => {
    const { row, anomalies } = await play(issuer, ...moves);
    expect([row?.["owner"], row?.["mintStatus"]]).toEqual([owner, owner === zero ? "burned" : "minted"]);
    expect(row?.["firstSeen"]).toBe("1".padStart(75, "0"));
    expect(anomalies).toEqual([]);
  });
});

describe("contradictory transfers are reported, and applied as emitted", () => {
  test.each<[string, [Hex, Hex][], Hex]>([
    ["of a token never seen", [[alice, bob]], bob],
    ["burn of a token never seen", [[alice, zero]], zero],
    [
      "from another than the owner",
      [
        [zero, alice],
        [bob, bob],
      ],
      bob,
    ],
    [
      "of a burned token",
      [
        [zero, zero],
        [alice, bob],
      ],
      bob,
    ],
    [
      "mint over a living token",
      [
        [zero, alice],
        [zero, bob],
      ],
      bob,
    ],
  ])("%s", async (_, moves, owner) => {
    const { row, anomalies } = await play(registrar, ...moves);
    expect([row?.["owner"], row?.["mintStatus"]]).toEqual([owner, owner === zero ? "burned" : "minted"]);
    expect(anomalies).toEqual(["contradictory-token-transfer"]);
  });
});

describe("batches", () => {
  const batch = async (ids: bigint[], amounts: bigint[]) => {
    const { next, store, anomalies } = createScopes();
    await applyTokenTransfers(next(), threedns, { ids, amounts, from: zero, to: alice });
    return { tokens: store.rows(nameToken).map(({ tokenId }) => tokenId), anomalies };
  };

  test("move each of their tokens", async () => {
    expect(await batch([1n, 2n], [1n, 1n])).toEqual({ tokens: [1n, 2n], anomalies: [] });
  });

  test("skip tokens with an amount other than one", async () => {
    expect(await batch([1n, 2n, 3n], [0n, 1n, 2n])).toEqual({
      tokens: [2n],
      anomalies: ["odd-token-amount", "odd-token-amount"],
    });
  });

  test("of unequal lengths are skipped", async () => {
    expect(await batch([1n, 2n], [1n])).toEqual({ tokens: [], anomalies: ["odd-token-batch"] });
  });
});
