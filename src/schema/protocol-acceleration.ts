import { onchainTable, primaryKey } from "ponder";
import { hex, list, text } from "./columns.ts";
import { indexed, lengthOf, prefixOf } from "./indexes.ts";

// What is needed to resolve names from the index. An unset record has no row, or null in its column. Values are interpreted
// (src/ens/record-values.ts) except for two that hide a default (ENSIP-19), which are stored as they are and interpreted when
// they are read: address records of twenty zero bytes, and reverse names that are not normalised.

/** Name that an account claimed on a reverse registrar; the row is deleted when the name is cleared. */
export const reverseNameRecord = indexed(
  onchainTable(
    "reverse_name_records",
    (t) => ({ address: hex(t).notNull(), coinType: t.bigint().notNull(), value: text(t).notNull() }),
    (table) => ({ pk: primaryKey({ columns: [table.address, table.coinType] }) }),
  ),
  (table) => ({ byLength: [lengthOf(table.value), prefixOf(table.value)] }),
);

/** An account named itself on a reverse registrar, or took its name back; rows are written once. Id: chain, block, log. */
export const reverseNameEvent = indexed(
  onchainTable("reverse_name_events", (t) => ({
    id: text(t).primaryKey(),
    address: hex(t).notNull(),
    coinType: t.bigint().notNull(),
    /** Null if it was cleared. */
    name: text(t),
    blockNumber: t.integer().notNull(),
    /** Of the block, in Unix seconds. */
    timestamp: t.integer().notNull(),
    logIndex: t.integer().notNull(),
    transactionHash: hex(t).notNull(),
  })),
  (table) => ({ byAddress: [table.address, table.timestamp], byTime: [table.timestamp] }),
);

/**
 * Resolver that a registry has for a node; the row is deleted when the resolver is set to zero. `address` is the
 * registry: both registries of the root chain write under the newer one's.
 */
export const domainResolverRelation = indexed(
  onchainTable(
    "domain_resolver_relations",
    (t) => ({
      chainId: t.integer().notNull(),
      address: hex(t).notNull(),
      domainId: hex(t).notNull(),
      resolver: hex(t).notNull(),
    }),
    (table) => ({ pk: primaryKey({ columns: [table.chainId, table.address, table.domainId] }) }),
  ),
  (table) => ({
    byDomain: [table.domainId],
  }),
);

/** A contract that emitted a resolver event. Id: account id (CAIP-10). */
export const resolverContract = onchainTable("resolvers", (t) => ({
  id: text(t).primaryKey(),
  chainId: t.integer().notNull(),
  address: hex(t).notNull(),
}));

/** Records that a resolver holds once for a node, and which others it holds. Id: account id of the resolver, `/`, node. */
export const resolverRecord = indexed(
  onchainTable("resolver_records", (t) => ({
    id: text(t).primaryKey(),
    chainId: t.integer().notNull(),
    address: hex(t).notNull(),
    node: hex(t).notNull(),
    /** The reverse name. */
    name: text(t),
    contenthash: hex(t),
    pubkeyX: hex(t),
    pubkeyY: hex(t),
    dnszonehash: hex(t),
    /** Number of times that the records were cleared at once; null before the first. */
    version: t.bigint(),
    /** Content types under which an ABI was set since then; its text is on the chain only. */
    abiContentTypes: list(t.bigint().array()),
    /** Coin types and text keys that have their own rows, so that they can be cleared at once. */
    coinTypes: list(t.bigint().array()),
    textKeys: list(t.text().array()),
  })),
  (table) => ({
    byNameLength: { on: [lengthOf(table.name), prefixOf(table.name)], where: "name IS NOT NULL" },
  }),
);

/** Address record of a resolver; the row is deleted when the record is cleared. */
export const resolverAddressRecord = indexed(
  onchainTable(
    "resolver_address_records",
    (t) => ({
      chainId: t.integer().notNull(),
      address: hex(t).notNull(),
      node: hex(t).notNull(),
      coinType: t.bigint().notNull(),
      value: text(t).notNull(),
    }),
    (table) => ({ pk: primaryKey({ columns: [table.chainId, table.address, table.node, table.coinType] }) }),
  ),
  (table) => ({ byValue: [prefixOf(table.value), table.coinType] }),
);

/** Text record of a resolver; the row is deleted when the record is cleared. */
export const resolverTextRecord = onchainTable(
  "resolver_text_records",
  (t) => ({
    chainId: t.integer().notNull(),
    address: hex(t).notNull(),
    node: hex(t).notNull(),
    /** keccak-256 of the key, which may be longer than an index entry can be. */
    keyHash: hex(t).notNull(),
    key: text(t).notNull(),
    value: text(t).notNull(),
  }),
  (table) => ({ pk: primaryKey({ columns: [table.chainId, table.address, table.node, table.keyHash] }) }),
);

/** A node that the newer registry of the root chain has named: the older one no longer counts for it. */
export const migratedNode = onchainTable("migrated_nodes", (t) => ({ node: hex(t).primaryKey() }));

/**
 * How many reads of contracts or transactions that anybody can cause a chain still grants: a row per chain and kind of
 * read. It is a row, and counts in chain time, so that every index of the same blocks grants the same reads.
 */
export const readAllowance = onchainTable(
  "read_allowances",
  (t) => ({
    chainId: t.integer().notNull(),
    kind: text(t).notNull(),
    /** Milliseconds of chain time at which all that was granted is paid for. */
    paidAt: t.bigint().notNull(),
    /** Transaction of the latest read. */
    transactionHash: hex(t).notNull(),
  }),
  (table) => ({ pk: primaryKey({ columns: [table.chainId, table.kind] }) }),
);
