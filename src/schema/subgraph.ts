import { onchainTable, type PgColumnsBuilders } from "ponder";
import { bytes, hex, list, text } from "./columns.ts";
import { indexed, lengthOf, prefixOf, present, shortOf } from "./indexes.ts";
import { lacksLabel } from "./sql.ts";

// Tables of the subgraph entities. Relations hold ids and may dangle, as in the original (no foreign keys).
// `changeBlock` is the block of the row's last write: the subgraph filter `_change_block` reads it. Indexes serve the
// sorts and filters that clients of the subgraph use. They end with a short id, which breaks most ties, where many rows
// are equal: hundreds of thousands of names expired in one second of 2020. Of other columns few are, and Postgres sorts
// these. Names and labels may be longer than an index entry can be (spam of 120 kB is on chain), so their indexes hold
// the first 256 characters. By either src/api/subgraph/compile/statement.ts compares and sorts first.

type NameColumn =
  | ("id" | "name" | "labelName" | "labelhash" | "createdAt" | "expiryDate")
  | ("ownerId" | "resolverId" | "parentId" | "changeBlock");

/** The indexes of tables of names, of both generations. */
export const nameIndexes = (table: Record<NameColumn, { name: string }>) => ({
  byName: [prefixOf(table.name)],
  byLabelName: [prefixOf(table.labelName)],
  byLength: [lengthOf(table.name), prefixOf(table.labelName)],
  byLabelhash: { hashOf: table.labelhash },
  byCreatedAt: [table.createdAt],
  byExpiryDate: [table.expiryDate, shortOf(table.id)],
  byOwner: [table.ownerId, shortOf(table.id)],
  byOwnerAndName: [table.ownerId, prefixOf(table.name)],
  byResolver: [table.resolverId],
  byParent: [table.parentId, shortOf(table.id)],
  byParentAndName: [table.parentId, prefixOf(table.name)],
  byParentAndLabelName: [table.parentId, prefixOf(table.labelName)],
  byParentAndCreatedAt: [table.parentId, table.createdAt],
  byParentAndExpiryDate: [table.parentId, table.expiryDate, shortOf(table.id)],
  byChangeBlock: [table.changeBlock],
});

/**
 * One row per node that a registry ever named, and the root; rows never disappear. Id: namehash. Timestamps in Unix
 * seconds.
 */
export const domain = indexed(
  onchainTable("domain", (t) => ({
    id: hex(t).primaryKey(),
    /** Full name, with unknown labels as `[labelhash]`; null for the root in subgraph mode. */
    name: text(t),
    labelName: text(t),
    labelhash: hex(t),
    /**
     * The name as it was looked up, if the name wrapper's replaced it and labels above are unknown
     * (src/indexing/healing.ts).
     */
    unrevealedName: text(t),
    parentId: hex(t),
    /** Kept as the subgraph does, not counted: it can fall below the true number, even below zero. */
    subdomainCount: t.integer().notNull(),
    /** Copy of the linked resolver's addr. */
    resolvedAddressId: hex(t),
    resolverId: text(t),
    ttl: t.bigint(),
    isMigrated: t.boolean().notNull(),
    /** Deployment that the name belongs to (`ens`, `basenames`, …): the first to name it, or the one that leases it. */
    namespace: text(t),
    chainId: t.integer(),
    createdAt: t.bigint().notNull(),
    /** Owner in the registry. */
    ownerId: hex(t).notNull(),
    /** Owner of the registrar's token. */
    registrantId: hex(t),
    /** Owner of the name wrapper's token. */
    wrappedOwnerId: hex(t),
    /**
     * Expiry of the registration and any grace period; or of the name wrapper, if later and PARENT_CANNOT_CONTROL is
     * burned.
     */
    expiryDate: t.bigint(),
    changeBlock: t.integer().notNull(),
  })),
  (table) => ({
    ...nameIndexes(table),
    byRegistrant: present(table.registrantId, shortOf(table.id)),
    byWrappedOwner: present(table.wrappedOwnerId, shortOf(table.id)),
    byRegistrantAndName: present(table.registrantId, prefixOf(table.name)),
    byWrappedOwnerAndName: present(table.wrappedOwnerId, prefixOf(table.name)),
    byResolvedAddress: present(table.resolvedAddressId, shortOf(table.id)),
    byUnknown: { on: [table.id], where: lacksLabel.domain },
  }),
  (table) => ({ crowded: table.parentId, isSearched: true }),
);

/** One row per address that an event named; rows never change. Id: address. */
export const account = onchainTable("account", (t) => ({
  id: hex(t).primaryKey(),
  changeBlock: t.integer().notNull(),
}));

/** One row per name that a registrar ever registered. Id: labelhash in subgraph mode, else node. Amounts in wei. */
export const registration = indexed(
  onchainTable("registration", (t) => ({
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
  })),
  (table) => ({
    byDomain: { hashOf: table.domainId },
    byRegistrant: [table.registrantId, shortOf(table.id)],
    byRegistrationDate: [table.registrationDate],
    byExpiryDate: [table.expiryDate, shortOf(table.id)],
    byLabelName: [prefixOf(table.labelName)],
    byChangeBlock: [table.changeBlock],
    byUnknown: { on: [table.id], where: lacksLabel.registration },
  }),
);

/** One row per wrapped name, deleted on unwrapping, and in subgraph mode on a new registration. Id: namehash. */
export const wrappedDomain = indexed(
  onchainTable("wrapped_domain", (t) => ({
    id: hex(t).primaryKey(),
    domainId: hex(t).notNull(),
    /** Zero between the token's mint and `NameWrapped`. */
    expiryDate: t.bigint().notNull(),
    /** Expiry after a renewal through the name wrapper, which emits no event for it; null without one. */
    renewedExpiryDate: t.bigint(),
    /** Bits of a uint32 as a signed 32-bit number, which GraphQL's Int can carry. */
    fuses: t.integer().notNull(),
    ownerId: hex(t).notNull(),
    name: text(t),
    changeBlock: t.integer().notNull(),
  })),
  (table) => ({
    byDomain: { hashOf: table.domainId },
    byOwner: [table.ownerId, shortOf(table.id)],
    byExpiryDate: [table.expiryDate, shortOf(table.id)],
    // Without names that a registrar leases (IS_DOT_ETH), which end with their lease.
    byOwnExpiryDate: { on: [table.expiryDate, shortOf(table.id)], where: "fuses & 131072 = 0" },
    byName: [prefixOf(table.name)],
    byChangeBlock: [table.changeBlock],
  }),
);

/**
 * One row per (resolver contract, node) seen in an event. Id: address, `-`, node; chain id in front outside subgraph
 * mode.
 */
export const resolver = indexed(
  onchainTable("resolver", (t) => ({
    id: text(t).primaryKey(),
    /** The node, whether or not it has a domain. */
    domainId: hex(t).notNull(),
    address: hex(t).notNull(),
    /** Address record of coin type 60; null until set and after a version change. */
    addrId: hex(t),
    contentHash: hex(t),
    /** Keys in the order of first sight; null until the first. */
    texts: list(t.text().array()),
    coinTypes: list(t.bigint().array()),
    changeBlock: t.integer().notNull(),
  })),
  (table) => ({
    byDomain: { hashOf: table.domainId },
    byAddress: [table.address],
    byAddr: [table.addrId],
    byChangeBlock: [table.changeBlock],
  }),
);

// Event rows are written once. Events of one GraphQL interface share a table, so that an interface list is one index
// scan; `type` is the entity's name, and columns that it does not use are null. Id: block number, `-`, log index;
// outside subgraph mode the chain id comes first; for wrapper transfers `-<index>` comes last.

const eventColumns = (t: PgColumnsBuilders) => ({
  id: text(t).primaryKey(),
  type: text(t).notNull(),
  blockNumber: t.integer().notNull(),
  /** Block time in Unix seconds. */
  timestamp: t.integer(),
  logIndex: t.integer(),
  transactionID: bytes(t).notNull(),
});

const eventIndexes = (table: Record<"type" | "blockNumber" | "timestamp", { name: string }>) => ({
  byTypeAndBlock: [table.type, table.blockNumber],
  byTypeAndTime: [table.type, table.timestamp],
  byBlock: [table.blockNumber],
});

/** Events of a domain: interface DomainEvent. */
export const domainEvent = indexed(
  onchainTable("domain_event", (t) => ({
    ...eventColumns(t),
    domainId: hex(t).notNull(),
    parentDomainId: hex(t),
    ownerId: hex(t),
    resolverId: text(t),
    ttl: t.bigint(),
    name: text(t),
    fuses: t.integer(),
    expiryDate: t.bigint(),
    /** True if the old registry emitted it, else null. */
    fromOldRegistry: t.boolean(),
    /** WrappedTransfer: who had the token, and who moved it. */
    fromId: hex(t),
    operatorId: hex(t),
  })),
  (table) => ({
    byDomain: [table.domainId],
    ...eventIndexes(table),
    byParentDomain: present(table.parentDomainId),
    byOwner: present(table.ownerId, table.timestamp),
    // For lookups of whether a name was ever wrapped.
    byWrapping: { on: [table.domainId], where: "type = 'NameWrapped'" },
    byOldRegistry: { on: [table.type, table.timestamp], where: "from_old_registry" },
  }),
);

/** Events of a registration: interface RegistrationEvent. */
export const registrationEvent = indexed(
  onchainTable("registration_event", (t) => ({
    ...eventColumns(t),
    registrationId: hex(t).notNull(),
    registrantId: hex(t),
    newOwnerId: hex(t),
    expiryDate: t.bigint(),
    /** NameTransferred: who had the token. */
    fromId: hex(t),
  })),
  (table) => ({
    byRegistration: { hashOf: table.registrationId },
    ...eventIndexes(table),
    byRegistrant: present(table.registrantId, table.timestamp),
    byNewOwner: present(table.newOwnerId, table.timestamp),
  }),
);

/** Events of a resolver: interface ResolverEvent. */
export const resolverEvent = indexed(
  onchainTable("resolver_event", (t) => ({
    ...eventColumns(t),
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
    /** NameChanged: the account whose primary name this is from then on, if it sets one. */
    primaryNameOf: hex(t),
  })),
  (table) => ({
    byResolver: [table.resolverId],
    ...eventIndexes(table),
    byAddr: present(table.addrId),
    byName: { on: [prefixOf(table.name)], where: "name IS NOT NULL" },
    byAccount: present(table.primaryNameOf, table.timestamp),
    byPrimaryName: { on: [table.timestamp], where: "primary_name_of IS NOT NULL" },
    byOtherName: { on: [table.timestamp], where: "type = 'NameChanged' AND primary_name_of IS NULL" },
  }),
);
