import type { Hex } from "viem";
import { describe, expect, test } from "vitest";
import { createScopes } from "../../test/support/scope.ts";
import { currencies } from "../deployments/currencies.ts";
import { namespaces, nodeOfToken, type TokenIssuer, tokenIssuers } from "../deployments/namespaces.ts";
import { account } from "../schema/subgraph.ts";
import { nameSale, nameToken } from "../schema/tokenscope.ts";
import {
  applyOrderFulfilled,
  applyTokenTransfer,
  applyTokenTransfers,
  type FilledOrder,
  type OrderItem,
} from "./tokenscope.ts";

const issuers = tokenIssuers(namespaces.mainnet);
const issuerOf = (chainId: number, address: Hex) =>
  issuers.find((issuer) => issuer.chainId === chainId && issuer.address === address);
const market = { issuerOf, currencyOf: currencies(namespaces.mainnet) };
const registrarAddress = "0x57f1887a8bf19b14fc0df6fd9b2acc9af147ea85";
const registrar = issuerOf(1, registrarAddress) as TokenIssuer;
const threedns = issuerOf(10, "0xbb7b805b257d7c76ca9435b3ffe780355e4c4b17") as TokenIssuer;
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

const offerer: Hex = `0x${"a".repeat(40)}`;
const recipient: Hex = `0x${"b".repeat(40)}`;
const wrapper = "0xd4416b13d2b3a9abae7acd5d6c2bbdbe25686401";

const name: OrderItem = { itemType: 2, token: registrarAddress, identifier: 1n, amount: 1n };
const wrappedName: OrderItem = { itemType: 3, token: wrapper, identifier: 2n, amount: 1n };
const ether = (amount: bigint): OrderItem => ({ itemType: 0, token: zero, identifier: 0n, amount });
const coin = (token: Hex, amount: bigint): OrderItem => ({ itemType: 1, token, identifier: 0n, amount });
const usdc = "0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48";
const weth = "0xc02aaa39b223fe8d0a0e5c4f27ead9083c756cc2";
const dai = "0x6b175474e89094c44da98b954eedeac495271d0f";

const order = (offer: OrderItem[], consideration: OrderItem[]): FilledOrder => ({
  orderHash: `0x${"0d".repeat(32)}`,
  offerer,
  recipient,
  offer,
  consideration,
});
async function sale(offer: OrderItem[], consideration: OrderItem[], chainId = 1) {
  const { next, store } = createScopes();
  await applyOrderFulfilled(next({ chainId }), market, order(offer, consideration));
  const [row] = store.rows(nameSale);
  return row && ["tokenId", "currency", "amount", "seller", "buyer"].map((column) => row[column]);
}

test.each<[string, OrderItem[], OrderItem[], unknown[]]>([
  [
    "a listing bought with ETH, fees included",
    [name],
    [ether(90n), ether(10n)],
    [1n, "ETH", 100n, offerer, recipient],
  ],
  ["a wrapped name for USDC", [wrappedName], [coin(usdc, 5n)], [2n, "USDC", 5n, offerer, recipient]],
  ["a bid in WETH that was accepted", [coin(weth, 9n)], [name], [1n, "WETH", 9n, recipient, offerer]],
  ["a bid in DAI", [coin(dai, 9n)], [wrappedName], [2n, "DAI", 9n, recipient, offerer]],
  [
    "payments, of which those of unknown currencies do not count",
    [name],
    [ether(1n), coin("0x1111111111111111111111111111111111111111", 3n)],
    [1n, "ETH", 1n, offerer, recipient],
  ],
])("a sale is %s", async (_, offer, consideration, expected) => {
  expect(await sale(offer, consideration)).toEqual(expected);
});

const ofBase: OrderItem = { ...name, token: "0x03c4738ee98ae44591e1a4a4f3cab6641d95dd9a" };
test.each<[string, OrderItem[], OrderItem[], number?]>([
  ["two names", [name, wrappedName], [ether(1n)]],
  ["names for names", [name], [wrappedName]],
  ["name and payment for payment", [name, ether(1n)], [ether(2n)]],
  ["payments of two currencies", [name], [ether(1n), coin(usdc, 1n)]],
  ["nothing paid", [name], []],
  ["no name", [ether(1n)], [coin(usdc, 1n)]],
  ["two of a token", [{ ...wrappedName, amount: 2n }], [ether(1n)]],
  ["the wrong kind of token", [{ ...name, itemType: 3 }], [ether(1n)]],
  ["a criterion in place of a token", [{ ...name, itemType: 4 }], [ether(1n)]],
  ["another collection", [{ ...name, token: usdc }], [ether(1n)]],
  ["ERC-20 at the zero address", [name], [{ ...ether(1n), itemType: 1 }]],
  ["the currency of another chain", [ofBase], [coin(usdc, 1n)], 8453],
])("no sale: %s", async (_, offer, consideration, chainId) => {
  expect(await sale(offer, consideration, chainId)).toBeUndefined();
});

test("a sale is stored once", async () => {
  const { next, store } = createScopes();
  const scope = next();
  await applyOrderFulfilled(scope, market, order([wrappedName], [ether(100n)]));
  await applyOrderFulfilled(scope, market, order([wrappedName], [ether(100n)]));
  await applyOrderFulfilled(next(), market, order([ether(1n)], [coin(usdc, 1n)]));
  expect(store.rows(nameSale)).toEqual([
    {
      id: "1-1-7",
      chainId: 1,
      blockNumber: 1n,
      logIndex: 7,
      transactionHash: `0x${"a1".repeat(32)}`,
      orderHash: `0x${"0d".repeat(32)}`,
      contractAddress: wrapper,
      tokenId: 2n,
      assetNamespace: "erc1155",
      assetId: `eip155:1/erc1155:${wrapper}/0x${"2".padStart(64, "0")}`,
      domainId: `0x${"2".padStart(64, "0")}`,
      buyer: recipient,
      seller: offerer,
      currency: "ETH",
      amount: 100n,
      timestamp: 1_700_000_001n,
    },
  ]);
});
