import { onchainTable } from "ponder";
import { bytes, hex, keyed, list, text } from "./columns.ts";
import { indexed, lengthOf, prefixOf, present } from "./indexes.ts";

// Tables for resolving names from the index. An unset record has no row, or null in its column. Values are interpreted
// (src/ens/record-values.ts), except two that hide a default (ENSIP-19) and are interpreted on read: address records of
// twenty zero bytes, and reverse names that are not normalized.

/** Name that an account claimed on a reverse registrar; a cleared name has no row. */
export const reverseNameRecord = indexed(
  keyed("reverse_name_records", ["address", "coinType"], (t) => ({
    address: hex(t).notNull(),
    coinType: t.bigint().notNull(),
    value: text(t).notNull(),
  })),
  (table) => ({ byLength: [lengthOf(table.value), prefixOf(table.value)] }),
);

/** An account named itself on a reverse registrar, or cleared its name; rows never change. Id: chain, block, log. */
export const reverseNameEvent = indexed(
  onchainTable("reverse_name_events", (t) => ({
    id: text(t).primaryKey(),
    address: hex(t).notNull(),
    coinType: t.bigint().notNull(),
    /** Null if cleared. */
    name: text(t),
    blockNumber: t.integer().notNull(),
    /** Block time in Unix seconds. */
    timestamp: t.integer().notNull(),
    logIndex: t.integer().notNull(),
    transactionHash: bytes(t).notNull(),
  })),
  (table) => ({ byAddress: [table.address, table.timestamp], byTime: [table.timestamp] }),
);

/**
 * A registry's resolver of a node; no row if it is zero. Both registries of the root chain have the new one's
 * `address`.
 */
export const domainResolverRelation = indexed(
  keyed("domain_resolver_relations", ["chainId", "address", "domainId"], (t) => ({
    chainId: t.integer().notNull(),
    address: hex(t).notNull(),
    domainId: hex(t).notNull(),
    resolver: hex(t).notNull(),
  })),
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

/**
 * The records that a resolver holds once for a node, and which others it holds. Id: the resolver's account id, `/`,
 * node.
 */
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
    /** How often the records were cleared at once; null if never. */
    version: t.bigint(),
    /** Content types of the ABIs set since then; their text is only on the chain. */
    abiContentTypes: list(t.bigint().array()),
    /** Coin types, text keys and data keys that may have rows of their own, so that these can be cleared at once. */
    coinTypes: list(t.bigint().array()),
    textKeys: list(t.text().array()),
    dataKeys: list(t.text().array()),
  })),
  (table) => ({
    byNameLength: { on: [lengthOf(table.name), prefixOf(table.name)], where: "name IS NOT NULL" },
  }),
);

/** Address record of a resolver; a cleared record has no row. */
export const resolverAddressRecord = indexed(
  keyed("resolver_address_records", ["chainId", "address", "node", "coinType"], (t) => ({
    chainId: t.integer().notNull(),
    address: hex(t).notNull(),
    node: hex(t).notNull(),
    coinType: t.bigint().notNull(),
    value: text(t).notNull(),
  })),
  (table) => ({ byValue: [prefixOf(table.value), table.coinType] }),
);

/** Text record of a resolver; a cleared record has no row. */
export const resolverTextRecord = indexed(
  keyed("resolver_text_records", ["chainId", "address", "node", "keyHash"], (t) => ({
    chainId: t.integer().notNull(),
    address: hex(t).notNull(),
    node: hex(t).notNull(),
    /** keccak-256 of the key, which may be longer than an index entry can be. */
    keyHash: hex(t).notNull(),
    key: text(t).notNull(),
    value: text(t).notNull(),
  })),
  (table) => ({
    byAgentKey: { on: [prefixOf(table.key)], where: "key LIKE 'agent-%'" },
    byClass: { on: [prefixOf(table.value)], where: "key = 'class'" },
  }),
);

/** Data record of a resolver (ENSIP-24); a cleared record has no row. */
export const resolverDataRecord = indexed(
  keyed("resolver_data_records", ["chainId", "address", "node", "keyHash"], (t) => ({
    chainId: t.integer().notNull(),
    address: hex(t).notNull(),
    node: hex(t).notNull(),
    /** keccak-256 of the key. */
    keyHash: hex(t).notNull(),
    key: text(t).notNull(),
    /** keccak-256 of the value, which is only on the chain. */
    valueHash: hex(t).notNull(),
    /** The account whose proof it is (ENSIP-28). */
    account: hex(t),
  })),
  (table) => ({ byAccount: present(table.account) }),
);

/** A node that the root chain's new registry has named: the old one no longer counts for it. */
export const migratedNode = onchainTable("migrated_nodes", (t) => ({ node: hex(t).primaryKey() }));

/**
 * Allowance of reads that anybody can cause, stored in chain time so that every index of the same blocks grants the
 * same reads.
 */
export const readAllowance = keyed("read_allowances", ["chainId", "kind"], (t) => ({
  chainId: t.integer().notNull(),
  kind: text(t).notNull(),
  /** Chain time in milliseconds at which all granted reads are paid for. */
  paidAt: t.bigint().notNull(),
  transactionHash: bytes(t).notNull(),
}));
