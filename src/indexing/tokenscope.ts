import type { Hex } from "viem";
import type { Currency, CurrencyOf } from "../deployments/currencies.ts";
import { nodeOfToken, type TokenIssuer } from "../deployments/namespaces.ts";
import { assetId, zeroAddress } from "../ens/ids.ts";
import { nameSale, nameToken } from "../schema/tokenscope.ts";
import { nodeOfV2Token } from "./ensv2/registry-paths.ts";
import { ensureAccount } from "./events.ts";
import { type Scope, upsert } from "./scope.ts";

export type Transfer = { tokenId: bigint; from: Hex; to: Hex };

/**
 * A token was minted, burned or transferred. The chain is right: an event that contradicts the stored owner is applied
 * and reported.
 */
export async function applyTokenTransfer(
  scope: Scope,
  issuer: TokenIssuer,
  { tokenId, from, to }: Transfer,
): Promise<void> {
  const { chainId, address: contract, assetNamespace } = issuer;
  const id = assetId({ chainId, assetNamespace, contract, tokenId });
  const before = await scope.db.find(nameToken, { id });
  const mintStatus = to === zeroAddress ? "burned" : "minted";
  if (!agrees(issuer, before?.owner, from)) scope.report("contradictory-token-transfer", scope);
  if (before?.owner === to) return;

  await ensureAccount(scope, to);
  const domainId = nodeOfToken(issuer, tokenId);
  const token = { id, domainId, chainId, contractAddress: contract, tokenId, assetNamespace };
  await upsert(scope, nameToken, { ...token, firstSeen: scope.eventId }, { owner: to, mintStatus });
}

/**
 * One or several ERC-1155 tokens were transferred. Name tokens come one by one: other amounts are reported and skipped.
 */
export async function applyTokenTransfers(
  scope: Scope,
  issuer: TokenIssuer,
  { ids, amounts, from, to }: { ids: readonly bigint[]; amounts: readonly bigint[]; from: Hex; to: Hex },
): Promise<void> {
  if (ids.length !== amounts.length) {
    scope.report("odd-token-batch", scope);
    return;
  }
  for (const [index, tokenId] of ids.entries()) {
    if (amounts[index] === 1n) await applyTokenTransfer(scope, issuer, { tokenId, from, to });
    else scope.report("odd-token-amount", scope);
  }
}

// A token that was burned or never seen counts as owned by the zero address.
function agrees({ mintsOverLivingTokens }: TokenIssuer, stored: Hex | undefined, from: Hex): boolean {
  return (stored ?? zeroAddress) === from || (from === zeroAddress && mintsOverLivingTokens);
}

/** An item of an order, by Seaport's item types. */
export type OrderItem = { itemType: number; token: Hex; identifier: bigint; amount: bigint };

/** A filled order. `recipient` received the offer and gave the consideration. */
export type FilledOrder = {
  orderHash: Hex;
  offerer: Hex;
  recipient: Hex;
  offer: readonly OrderItem[];
  consideration: readonly OrderItem[];
};

/** What makes an order a sale of a name: the contracts whose tokens are names, and the supported currencies. */
export type Market = {
  issuerOf: (chainId: number, address: Hex) => TokenIssuer | undefined;
  currencyOf: CurrencyOf;
};

type SoldToken = {
  contractAddress: Hex;
  tokenId: bigint;
  assetNamespace: TokenIssuer["assetNamespace"];
  domainId: Hex;
};
type SalePayment = { currency: Currency; amount: bigint };

const native = 0;
const erc20 = 1;
const namespaceOfType: Record<number, TokenIssuer["assetNamespace"]> = { 2: "erc721", 3: "erc1155" };

/** OrderFulfilled: stores a sale if one name was exchanged for payments in one currency; ignores other orders. */
export async function applyOrderFulfilled(scope: Scope, market: Market, order: FilledOrder): Promise<void> {
  const sale = await findSale(scope, market, order);
  if (sale === undefined) return;
  const { token, payment, buyer, seller } = sale;
  const { contractAddress: contract, assetNamespace, tokenId } = token;
  await ensureAccount(scope, buyer);
  await ensureAccount(scope, seller);
  const { chainId, blockNumber, logIndex, timestamp, transactionHash } = scope;
  await scope.db
    .insert(nameSale)
    .values({
      id: `${chainId}-${blockNumber}-${logIndex}`,
      ...{ chainId, blockNumber: BigInt(blockNumber), logIndex, transactionHash, timestamp },
      orderHash: order.orderHash,
      assetId: assetId({ chainId, assetNamespace, contract, tokenId }),
      ...{ ...token, ...payment, buyer, seller },
    })
    .onConflictDoNothing();
}

// The sale in a filled order: a bought listing or an accepted bid; undefined for anything else.
async function findSale(scope: Scope, market: Market, order: FilledOrder) {
  const offer = await readSide(scope, market, order.offer);
  const consideration = await readSide(scope, market, order.consideration);
  const { offerer, recipient } = order;
  const [given, paid, seller, buyer] = offer.token
    ? [offer, consideration, offerer, recipient]
    : [consideration, offer, recipient, offerer];
  const [{ token }, { payment }] = [given, paid];
  return token && payment && !given.payment && !paid.token ? { token, payment, seller, buyer } : undefined;
}

// The only name token among the items, and the sum of the payments. Payments in several currencies have no single
// price.
async function readSide(scope: Scope, market: Market, items: readonly OrderItem[]) {
  const tokens: SoldToken[] = [];
  for (const item of items) {
    const found = await findToken(scope, market, item);
    if (found !== undefined) tokens.push(found);
  }
  const payments = items.flatMap((item) => findPayment(scope.chainId, market, item) ?? []);
  const [first, ...others] = payments;
  const isOne = first !== undefined && others.every(({ currency }) => currency === first.currency);
  const amount = payments.reduce((sum, payment) => sum + payment.amount, 0n);
  return {
    token: tokens.length === 1 ? tokens[0] : undefined,
    payment: isOne ? { currency: first.currency, amount } : undefined,
  };
}

async function findToken(
  scope: Scope,
  { issuerOf }: Market,
  { itemType, token, identifier: tokenId, amount }: OrderItem,
): Promise<SoldToken | undefined> {
  const assetNamespace = namespaceOfType[itemType];
  if (assetNamespace === undefined || amount !== 1n) return undefined;
  const issuer = issuerOf(scope.chainId, token);
  if (issuer?.assetNamespace === assetNamespace)
    return {
      ...{ contractAddress: issuer.address, tokenId, assetNamespace },
      domainId: nodeOfToken(issuer, tokenId),
    };
  // Registries of ENSv2 issue single ERC-1155 tokens.
  if (!scope.isV2Indexed || scope.chainId !== scope.rootChainId) return undefined;
  const contractAddress = token.toLowerCase() as Hex;
  const domainId =
    assetNamespace === "erc1155" && (await nodeOfV2Token(scope, { registry: contractAddress, tokenId }));
  return domainId ? { contractAddress, tokenId, assetNamespace, domainId } : undefined;
}

function findPayment(chainId: number, { currencyOf }: Market, item: OrderItem): SalePayment | undefined {
  const currency = currencyOf(chainId, item.token);
  const isPayment = currency === "ETH" ? item.itemType === native : item.itemType === erc20;
  return currency !== undefined && isPayment ? { currency, amount: item.amount } : undefined;
}
