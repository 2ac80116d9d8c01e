import type { Hex } from "viem";
import { expect, test } from "vitest";
import { createScopes } from "../../test/support/scope.ts";
import { currencies } from "../deployments/currencies.ts";
import { namespaces, tokenIssuers } from "../deployments/namespaces.ts";
import { nameSale } from "../schema/tokenscope.ts";
import { applyOrderFulfilled, type FilledOrder, type OrderItem } from "./tokenscope.ts";

const issuers = tokenIssuers(namespaces.mainnet);
const market = {
  issuerOf: (chainId: number, address: Hex) =>
    issuers.find((issuer) => issuer.chainId === chainId && issuer.address === address),
  currencyOf: currencies(namespaces.mainnet),
};
const zero: Hex = `0x${"0".repeat(40)}`;
const offerer: Hex = `0x${"a".repeat(40)}`;
const recipient: Hex = `0x${"b".repeat(40)}`;
const registrar = "0x57f1887a8bf19b14fc0df6fd9b2acc9af147ea85";
const wrapper = "0xd4416b13d2b3a9abae7acd5d6c2bbdbe25686401";

const name: OrderItem = { itemType: 2, token: registrar, identifier: 1n, amount: 1n };
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
