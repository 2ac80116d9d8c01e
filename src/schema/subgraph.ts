import { index, onchainTable } from "ponder";
import { hex, text } from "./columns.ts";

// Tables of the subgraph entities. Relations hold ids and may dangle, as in the original (no foreign keys).
// `changeBlock` is the block of the row's last write: the subgraph filter `_change_block` reads it.

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
    byParent: index().on(table.parentId),
    byOwner: index().on(table.ownerId),
    byRegistrant: index().on(table.registrantId),
    byWrappedOwner: index().on(table.wrappedOwnerId),
    byResolvedAddress: index().on(table.resolvedAddressId),
    byLabelhash: index().on(table.labelhash),
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
    /** Of the last registration or renewal that told one. */
    cost: t.bigint(),
    registrantId: hex(t).notNull(),
    labelName: text(t),
    changeBlock: t.integer().notNull(),
  }),
  (table) => ({
    byDomain: index().on(table.domainId),
    byRegistrant: index().on(table.registrantId),
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
    byOwner: index().on(table.ownerId),
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
    texts: t.text().array(),
    coinTypes: t.bigint().array(),
    changeBlock: t.integer().notNull(),
  }),
  (table) => ({
    byDomain: index().on(table.domainId),
    byAddress: index().on(table.address),
    byAddr: index().on(table.addrId),
  }),
);

// Event rows are written once. The events of one GraphQL interface share a table, so that an interface list
// is one index scan; `type` is the entity's name, and the columns that it does not use are null.
// Id: block number, `-`, log index; chain id in front outside subgraph mode; `-<place>` behind wrapper transfers.

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
  }),
);
