import { index, onchainTable, sql } from "ponder";
import { hex, list, text } from "./columns.ts";

// Tables of the subgraph entities. Relations hold ids and may dangle, as in the original (no foreign keys).
// `changeBlock` is the block of the row's last write: the subgraph filter `_change_block` reads it.
//
// Indexes serve the sorts and filters that clients of the subgraph use. Those that sort end with the id, which
// breaks ties. Names and labels may be longer than an index entry can be (spam of 120 kB is on chain), so their
// indexes hold the first 256 characters: src/api/subgraph/compile/conditions.ts compares and sorts by these first.

/**
 * One row per node that a registry ever named, and the root; rows never disappear.
 * Id: namehash. Timestamps in Unix seconds.
 */
export const domain = onchainTable(
  "domain",
  (t) => ({
    id: hex(t).primaryKey(),
    /** Full name, unknown labels as `[labelhash]`; null for the root in subgraph mode. */
    name: text(t),
    labelName: text(t),
    labelhash: hex(t),
    parentId: hex(t),
    /** Kept by rule, not a count: it can fall below the true number, even below zero. */
    subdomainCount: t.integer().notNull(),
    /** Copy of the linked resolver's addr. */
    resolvedAddressId: hex(t),
    resolverId: text(t),
    ttl: t.bigint(),
    isMigrated: t.boolean().notNull(),
    createdAt: t.bigint().notNull(),
    /** Owner in the registry. */
    ownerId: hex(t).notNull(),
    /** Owner of the registrar's token. */
    registrantId: hex(t),
    /** Owner of the name wrapper's token. */
    wrappedOwnerId: hex(t),
    /** For direct subnames of a registrar's name: expiry of the registration and the grace period. */
    expiryDate: t.bigint(),
    changeBlock: t.integer().notNull(),
  }),
  (table) => ({
    byName: index("domain_by_name").on(sql`left(${table.name}, 256)`, table.id),
    byLabelName: index("domain_by_label_name").on(sql`left(${table.labelName}, 256)`, table.id),
    byLabelhash: index().on(table.labelhash),
    byCreatedAt: index().on(table.createdAt, table.id),
    byExpiryDate: index().on(table.expiryDate, table.id),
    byOwner: index().on(table.ownerId, table.id),
    byRegistrant: index().on(table.registrantId, table.id),
    byWrappedOwner: index().on(table.wrappedOwnerId, table.id),
    byResolvedAddress: index().on(table.resolvedAddressId, table.id),
    byResolver: index().on(table.resolverId),
    byParent: index().on(table.parentId, table.id),
    byParentAndName: index("domain_by_parent_and_name").on(
      table.parentId,
      sql`left(${table.name}, 256)`,
      table.id,
    ),
    byParentAndLabelName: index("domain_by_parent_and_label_name").on(
      table.parentId,
      sql`left(${table.labelName}, 256)`,
      table.id,
    ),
    byParentAndCreatedAt: index().on(table.parentId, table.createdAt, table.id),
    byParentAndExpiryDate: index().on(table.parentId, table.expiryDate, table.id),
    byChangeBlock: index().on(table.changeBlock),
  }),
);

/** One row per address that an event named; rows never change. Id: address. */
export const account = onchainTable("account", (t) => ({
  id: hex(t).primaryKey(),
  changeBlock: t.integer().notNull(),
}));

/**
 * One row per name that a registrar ever registered. Id: labelhash in subgraph mode, else the node.
 * Amounts in wei.
 */
export const registration = onchainTable(
  "registration",
  (t) => ({
    id: hex(t).primaryKey(),
    domainId: hex(t).notNull(),
    registrationDate: t.bigint().notNull(),
    /** Without the grace period. */
    expiryDate: t.bigint().notNull(),
    /** Of the last registration or renewal that carried one. */
    cost: t.bigint(),
    registrantId: hex(t).notNull(),
    labelName: text(t),
    changeBlock: t.integer().notNull(),
  }),
  (table) => ({
    byDomain: index().on(table.domainId),
    byRegistrant: index().on(table.registrantId, table.id),
    byRegistrationDate: index().on(table.registrationDate, table.id),
    byExpiryDate: index().on(table.expiryDate, table.id),
    byLabelName: index("registration_by_label_name").on(sql`left(${table.labelName}, 256)`, table.id),
    byChangeBlock: index().on(table.changeBlock),
  }),
);

/** One row per wrapped name: the only rows that disappear, at unwrapping. Id: namehash. */
export const wrappedDomain = onchainTable(
  "wrapped_domain",
  (t) => ({
    id: hex(t).primaryKey(),
    domainId: hex(t).notNull(),
    /** Zero between the token's mint and `NameWrapped`. */
    expiryDate: t.bigint().notNull(),
    /** Bits of a uint32, kept as the signed 32 bit number that GraphQL's Int can carry. */
    fuses: t.integer().notNull(),
    ownerId: hex(t).notNull(),
    name: text(t),
    changeBlock: t.integer().notNull(),
  }),
  (table) => ({
    byDomain: index().on(table.domainId),
    byOwner: index().on(table.ownerId, table.id),
    byExpiryDate: index().on(table.expiryDate, table.id),
    byName: index("wrapped_domain_by_name").on(sql`left(${table.name}, 256)`, table.id),
    byChangeBlock: index().on(table.changeBlock),
  }),
);

/** One row per (resolver contract, node) seen in an event. Id: address, `-`, node; chain id in front outside subgraph mode. */
export const resolver = onchainTable(
  "resolver",
  (t) => ({
    id: text(t).primaryKey(),
    /** The node, also where no such domain exists. */
    domainId: hex(t).notNull(),
    address: hex(t).notNull(),
    /** Address record of coin type 60; null until set and after a version change. */
    addrId: hex(t),
    contentHash: hex(t),
    /** Keys in the order of first sight; null until the first. */
    texts: list(t.text().array()),
    coinTypes: list(t.bigint().array()),
    changeBlock: t.integer().notNull(),
  }),
  (table) => ({
    byDomain: index().on(table.domainId),
    byAddress: index().on(table.address, table.id),
    byAddr: index().on(table.addrId),
    byChangeBlock: index().on(table.changeBlock),
  }),
);

// Event rows are written once. The events of one GraphQL interface share a table, so that an interface list
// is one index scan; `type` is the entity's name, and the columns that it does not use are null.
// Id: block number, `-`, log index; chain id in front outside subgraph mode; `-<place>` at the end for wrapper transfers.

/** Events of a domain: interface DomainEvent. */
export const domainEvent = onchainTable(
  "domain_event",
  (t) => ({
    id: text(t).primaryKey(),
    type: text(t).notNull(),
    blockNumber: t.integer().notNull(),
    transactionID: hex(t).notNull(),
    domainId: hex(t).notNull(),
    parentDomainId: hex(t),
    ownerId: hex(t),
    resolverId: text(t),
    ttl: t.bigint(),
    name: text(t),
    fuses: t.integer(),
    expiryDate: t.bigint(),
  }),
  (table) => ({
    byDomain: index().on(table.domainId, table.id),
    byType: index().on(table.type, table.id),
    byTypeAndBlock: index().on(table.type, table.blockNumber, table.id),
    byBlock: index().on(table.blockNumber, table.id),
    byParentDomain: index().on(table.parentDomainId),
    byOwner: index().on(table.ownerId),
  }),
);

/** Events of a registration: interface RegistrationEvent. */
export const registrationEvent = onchainTable(
  "registration_event",
  (t) => ({
    id: text(t).primaryKey(),
    type: text(t).notNull(),
    blockNumber: t.integer().notNull(),
    transactionID: hex(t).notNull(),
    registrationId: hex(t).notNull(),
    registrantId: hex(t),
    newOwnerId: hex(t),
    expiryDate: t.bigint(),
  }),
  (table) => ({
    byRegistration: index().on(table.registrationId, table.id),
    byType: index().on(table.type, table.id),
    byTypeAndBlock: index().on(table.type, table.blockNumber, table.id),
    byBlock: index().on(table.blockNumber, table.id),
    byRegistrant: index().on(table.registrantId),
    byNewOwner: index().on(table.newOwnerId),
  }),
);

/** Events of a resolver: interface ResolverEvent. */
export const resolverEvent = onchainTable(
  "resolver_event",
  (t) => ({
    id: text(t).primaryKey(),
    type: text(t).notNull(),
    blockNumber: t.integer().notNull(),
    transactionID: hex(t).notNull(),
    resolverId: text(t).notNull(),
    /** AddrChanged: the account. */
    addrId: hex(t),
    coinType: t.bigint(),
    /** MulticoinAddrChanged: raw bytes. */
    addr: hex(t),
    name: text(t),
    contentType: t.bigint(),
    x: hex(t),
    y: hex(t),
    key: text(t),
    value: text(t),
    hash: hex(t),
    interfaceID: hex(t),
    implementer: hex(t),
    owner: hex(t),
    target: hex(t),
    isAuthorized: t.boolean(),
    version: t.bigint(),
  }),
  (table) => ({
    byResolver: index().on(table.resolverId, table.id),
    byType: index().on(table.type, table.id),
    byTypeAndBlock: index().on(table.type, table.blockNumber, table.id),
    byBlock: index().on(table.blockNumber, table.id),
    byAddr: index().on(table.addrId),
    byName: index("resolver_event_by_name").on(sql`left(${table.name}, 256)`),
  }),
);
