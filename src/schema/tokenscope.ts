import { onchainTable } from "ponder";
import { bytes, hex, text } from "./columns.ts";
import { indexed } from "./indexes.ts";

/**
 * One row per token that ever stood for a name, from its first transfer on; burned tokens stay. Id: asset id (CAIP-19).
 */
export const nameToken = indexed(
  onchainTable("name_tokens", (t) => ({
    id: text(t).primaryKey(),
    /** Node of the name. */
    domainId: hex(t).notNull(),
    chainId: t.integer().notNull(),
    contractAddress: hex(t).notNull(),
    tokenId: t.bigint().notNull(),
    /** `erc721` or `erc1155`. */
    assetNamespace: text(t).notNull(),
    /** Zero when burned. */
    owner: hex(t).notNull(),
    /** `minted` or `burned`. */
    mintStatus: text(t).notNull(),
    /** Ponder's checkpoint of the token's first event, by which tokens are listed. */
    firstSeen: text(t).notNull(),
  })),
  (table) => ({
    byDomain: [table.domainId, table.firstSeen],
    byOwner: [table.owner],
  }),
);

/** One row per sale of a name token on a marketplace; rows never change. Id: chain id, `-`, block, `-`, log index. */
export const nameSale = indexed(
  onchainTable("name_sales", (t) => ({
    id: text(t).primaryKey(),
    chainId: t.integer().notNull(),
    blockNumber: t.bigint().notNull(),
    logIndex: t.integer().notNull(),
    transactionHash: bytes(t).notNull(),
    orderHash: bytes(t).notNull(),
    contractAddress: hex(t).notNull(),
    tokenId: t.bigint().notNull(),
    assetNamespace: text(t).notNull(),
    assetId: text(t).notNull(),
    domainId: hex(t).notNull(),
    buyer: hex(t).notNull(),
    seller: hex(t).notNull(),
    /** `ETH`, `WETH`, `USDC` or `DAI`. */
    currency: text(t).notNull(),
    /** What the buyer paid, fees included, in the currency's smallest unit. */
    amount: t.bigint().notNull(),
    /** Block time in Unix seconds. */
    timestamp: t.bigint().notNull(),
  })),
  (table) => ({
    byDomain: [table.domainId, table.timestamp, table.id],
    byAsset: [table.assetId],
    byBuyer: [table.buyer],
    bySeller: [table.seller],
    byTimestamp: [table.timestamp, table.id],
  }),
);
