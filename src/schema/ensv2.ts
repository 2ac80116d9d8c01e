import { onchainTable } from "ponder";
import { bytes, hex, keyed, list, text } from "./columns.ts";
import { indexed, prefixOf, present } from "./indexes.ts";
import { nameIndexes } from "./subgraph.ts";

// ENSv2: registries in registries. Every emitting contract has rows, whether the tree holds it or not: names are read
// by walking from the root, so rows of strangers are under no name. Labels and names are bytes in hex, since any bytes
// occur. Ids of an entry share their first 28 bytes; the last four are versions.

/**
 * One row per label, as the registry stores it for the latest registration or reservation; in force before `expiry`
 * (Unix seconds).
 */
export const v2Entry = indexed(
  keyed("v2_entries", ["chainId", "registry", "storageId"], (t) => ({
    chainId: t.integer().notNull(),
    registry: hex(t).notNull(),
    /** Labelhash with its last four bytes zero. */
    storageId: hex(t).notNull(),
    labelhash: hex(t).notNull(),
    label: hex(t).notNull(),
    /** Node of the name in a .eth registry; null in others. */
    node: hex(t),
    tokenId: hex(t).notNull(),
    /** Resource of the roles while the entry is in force; an expired one already has the next version. */
    resource: hex(t).notNull(),
    /** Latest holder of the token, expired or not; zero for a reservation. */
    owner: hex(t).notNull(),
    expiry: t.bigint().notNull(),
    resolver: hex(t).notNull(),
    subregistry: hex(t).notNull(),
    /** Unix seconds of the latest registration or reservation. */
    createdAt: t.bigint().notNull(),
    /** Unix seconds of the migration from the first generation; null for other names. */
    migratedAt: t.bigint(),
    /** Storage id of the registry's entry before this one, by first registration. Only in registries with paths. */
    previous: hex(t),
  })),
  (table) => ({
    byOwner: [table.owner],
    byNode: [table.node],
    bySubregistry: [table.subregistry],
  }),
);

/** One row per proxy of the factory, and per contract that claims a parent. */
export const v2Contract = indexed(
  keyed("v2_contracts", ["chainId", "address"], (t) => ({
    chainId: t.integer().notNull(),
    address: hex(t).notNull(),
    /** First implementation of a proxy of the factory; null for other contracts. */
    implementation: hex(t),
    /** Who had the factory deploy it; null for other contracts. */
    deployer: hex(t),
    /** Where and when (Unix seconds) it did; null likewise. */
    blockNumber: t.integer(),
    timestamp: t.integer(),
    transactionHash: bytes(t),
    /** Whether the proxy announced another implementation since. */
    isUpgraded: t.boolean().notNull(),
    /** Whether the contract announced itself as a resolver with record ids. */
    hasRecordIds: t.boolean().notNull(),
    /** Registry and label (bytes) that it claims to be under, which is true only if that entry points to it. */
    parent: hex(t),
    parentLabel: hex(t),
    /** Node of the migrated, locked name whose wrapped subnames the registry may take over. */
    node: hex(t),
    /** Of a registry: storage id of its latest entry, and the number of its entries, expired ones included. */
    lastEntry: hex(t),
    entryCount: t.integer(),
    /** Present rows of `v2_registry_paths`, the oldest first, and how many there ever were. */
    paths: list(t.integer().array()),
    pathCount: t.integer(),
    /** Whether a bound left names of its entries out, and the path at which all entries are listed nevertheless. */
    leavesOut: t.boolean(),
    homePath: t.integer(),
  })),
  (table) => ({ byLeavesOut: { on: [table.address], where: "leaves_out" } }),
);

/** Names that a registry with no fixed path is put under. The entries above tell whether a path holds at a time. */
export const v2RegistryPath = keyed("v2_registry_paths", ["chainId", "registry", "path"], (t) => ({
  chainId: t.integer().notNull(),
  registry: hex(t).notNull(),
  /** From 1 on, never reused. */
  path: t.integer().notNull(),
  /** Node and name that the registry is under. */
  node: hex(t).notNull(),
  name: text(t).notNull(),
  /** Registry and storage id of the entry with this name, and that registry's path; 0 if it is fixed. */
  parent: hex(t).notNull(),
  storageId: hex(t).notNull(),
  parentPath: t.integer().notNull(),
  /** Position of the path's job in `v2_naming_jobs`. */
  job: t.integer(),
}));

/** Entries that are yet to be named at a path of their registry: `count` of them, from `storageId` backwards. */
export const v2NamingJob = keyed("v2_naming_jobs", ["chainId", "position"], (t) => ({
  chainId: t.integer().notNull(),
  position: t.integer().notNull(),
  registry: hex(t).notNull(),
  path: t.integer().notNull(),
  storageId: hex(t).notNull(),
  count: t.integer().notNull(),
  /** Node of a path that was given up, whose rows are to be deleted. */
  node: hex(t),
}));

/**
 * The queue of naming jobs of a chain: the first position, the next free one, and the rows that naming has cost in a
 * block.
 */
export const v2NamingQueue = onchainTable("v2_naming_queue", (t) => ({
  chainId: t.integer().primaryKey(),
  first: t.integer().notNull(),
  next: t.integer().notNull(),
  blockNumber: t.integer().notNull(),
  spent: t.integer().notNull(),
}));

/**
 * Names by node, for /subgraph: a row per entry and path, of registries of known code. The entries above tell whether a
 * name exists.
 */
export const v2Domain = indexed(
  keyed("v2_domains", ["id", "chainId", "registry", "path"], (t) => ({
    chainId: t.integer().notNull(),
    /** Node. */
    id: hex(t).notNull(),
    registry: hex(t).notNull(),
    /** Path of the registry; 0 if it is fixed. */
    path: t.integer().notNull(),
    name: text(t).notNull(),
    labelName: text(t).notNull(),
    labelhash: hex(t).notNull(),
    parentId: hex(t).notNull(),
    /** Unix seconds of the first registration or reservation. */
    createdAt: t.bigint().notNull(),
    /** Of the latest. */
    registrationDate: t.bigint().notNull(),
    /** Expiry of the entry: no grace period. */
    expiryDate: t.bigint().notNull(),
    /** Latest holder of the token, expired or not; zero for a reservation. */
    ownerId: hex(t).notNull(),
    /** The name's own resolver, as an id of `resolver`. */
    resolverId: text(t),
    subregistry: hex(t).notNull(),
    changeBlock: t.integer().notNull(),
  })),
  (table) => ({
    ...nameIndexes(table),
    byEntry: [table.registry, table.labelhash],
    byRegistrationDate: [table.registrationDate, table.id],
    byExpiryDateAndName: [table.expiryDate, prefixOf(table.name), table.id],
    bySubregistryAndName: {
      on: [table.subregistry, prefixOf(table.name), table.id],
      where: "subregistry <> '0x0000000000000000000000000000000000000000'",
    },
  }),
  (table) => ({ crowded: table.parentId, isSearched: true }),
);

/**
 * Fuses that the name wrapper keeps of an unwrapped name with PARENT_CANNOT_CONTROL burned: a registry of the parent's
 * migrated name still leaves the name to the first generation.
 */
export const v2KeptFuses = onchainTable("v2_kept_fuses", (t) => ({
  node: hex(t).primaryKey(),
  /** Signed, as in `wrapped_domain`. */
  fuses: t.integer().notNull(),
  /** Unix seconds; in force up to it. */
  expiryDate: t.bigint().notNull(),
}));

/**
 * Roles of an account on a resource of a contract, as a bitmap in hex; zero if revoked. Resource 0 is the whole
 * contract.
 */
export const v2Role = indexed(
  keyed("v2_roles", ["chainId", "address", "resource", "account"], (t) => ({
    chainId: t.integer().notNull(),
    address: hex(t).notNull(),
    resource: hex(t).notNull(),
    account: hex(t).notNull(),
    roles: hex(t).notNull(),
  })),
  (table) => ({
    byAccount: [table.account, table.address, table.resource],
    byContract: [table.address, table.account, table.resource],
  }),
);

/** What a resource of a resolver's roles stands for. Resource 0, the whole contract, has no row. */
export const v2Resource = indexed(
  keyed("v2_resources", ["chainId", "resolver", "resource"], (t) => ({
    chainId: t.integer().notNull(),
    resolver: hex(t).notNull(),
    resource: hex(t).notNull(),
    /** Node of the name that the roles are limited to; null if they hold for every name of the resolver. */
    node: hex(t),
    /** DNS wire format; null likewise. */
    name: hex(t),
    /** `name`: all records of it; `text`, `data`, `address`: one record; `argument`: a setter's first argument. */
    kind: text(t).notNull(),
    /** Key in hex, coin type in decimal digits, argument in hex; empty for `name`. */
    key: text(t).notNull(),
  })),
  (table) => ({ byNode: [table.resolver, table.node, table.resource] }),
);

/** An account that acts for its owner; the registries name the owner where it calls them. */
export const v2Account = keyed("v2_accounts", ["chainId", "account"], (t) => ({
  chainId: t.integer().notNull(),
  account: hex(t).notNull(),
  owner: hex(t).notNull(),
}));

/** Every label that the label store announced, as bytes. */
export const v2Label = onchainTable("v2_labels", (t) => ({
  labelhash: hex(t).primaryKey(),
  label: hex(t).notNull(),
}));

/** Record id of a node in a resolver with record ids; 0 if unlinked. The root node's link is the default. */
export const v2RecordLink = indexed(
  keyed("v2_record_links", ["chainId", "resolver", "node"], (t) => ({
    chainId: t.integer().notNull(),
    resolver: hex(t).notNull(),
    node: hex(t).notNull(),
    recordId: t.bigint().notNull(),
    /** DNS wire format. */
    name: hex(t).notNull(),
    /** Where and when (Unix seconds) it was linked or unlinked last. */
    blockNumber: t.integer().notNull(),
    timestamp: t.integer().notNull(),
    logIndex: t.integer().notNull(),
    transactionHash: bytes(t).notNull(),
  })),
  (table) => ({ byRecord: [table.resolver, table.recordId, table.node] }),
);

/** A value under a record id. Values of an older generation than the record's are cleared. */
export const v2Record = indexed(
  keyed("v2_records", ["chainId", "resolver", "recordId", "keyHash"], (t) => ({
    chainId: t.integer().notNull(),
    resolver: hex(t).notNull(),
    recordId: t.bigint().notNull(),
    /** keccak-256 of kind, `:` and key. */
    keyHash: hex(t).notNull(),
    /** `address`, `text`, `data`, `contenthash`, `abi`, `interface` or `name`. */
    kind: text(t).notNull(),
    /** Coin type, content type or interface id; text keys as bytes in hex; empty where a record has one value. */
    key: text(t).notNull(),
    /** Bytes, empty for an unset record; null if only the chain knows them. */
    value: hex(t),
    generation: t.integer().notNull(),
    /** The account whose proof the data record is (ENSIP-28). */
    account: hex(t),
  })),
  (table) => ({
    byAccount: present(table.account),
    byAddress: { on: [prefixOf(table.value)], where: "kind = 'address'" },
    // `agent-` in hex.
    byAgentKey: { on: [prefixOf(table.key)], where: "kind = 'text' AND key LIKE '0x6167656e742d%'" },
    // `class` in hex.
    byClass: { on: [prefixOf(table.value)], where: "kind = 'text' AND key = '0x636c617373'" },
  }),
);

/** How often the values of a record id were cleared at once; no row if never. */
export const v2RecordGeneration = keyed(
  "v2_record_generations",
  ["chainId", "resolver", "recordId"],
  (t) => ({
    chainId: t.integer().notNull(),
    resolver: hex(t).notNull(),
    recordId: t.bigint().notNull(),
    generation: t.integer().notNull(),
  }),
);

/** Alias of a name and the names below it, in a resolver keyed by nodes. An empty target removes it. */
export const v2Alias = keyed("v2_aliases", ["chainId", "resolver", "nameHash"], (t) => ({
  chainId: t.integer().notNull(),
  resolver: hex(t).notNull(),
  /** keccak-256 of the name in DNS wire format. */
  nameHash: hex(t).notNull(),
  /** DNS wire format. */
  target: hex(t).notNull(),
}));

/**
 * One row per event of an entry of a registry of known code, in a batch one per token, and per change of roles on a
 * whole registry or on a resolver of known code. Id: chain, block, log, index in a batch.
 */
export const v2Event = indexed(
  onchainTable("v2_events", (t) => ({
    id: text(t).primaryKey(),
    chainId: t.integer().notNull(),
    /** The emitter, which may be a resolver. */
    registry: hex(t).notNull(),
    /** Null for roles on a whole registry or on a resolver. */
    labelhash: hex(t),
    /** What those roles are on; zero for the whole contract. Null for events of entries. */
    resource: hex(t),
    /**
     * Name of the event; `Migration` for LabelRegistered of a migrated name, `RootPermissionChanged` and
     * `ResolverPermissionChanged` for EACRolesChanged of whole registries and of resolvers.
     */
    type: text(t).notNull(),
    blockNumber: t.integer().notNull(),
    /** Block time in Unix seconds. */
    timestamp: t.integer().notNull(),
    logIndex: t.integer().notNull(),
    transactionHash: bytes(t).notNull(),
    /** Who received the name, or has the roles from now on. */
    holder: hex(t),
    /** Resolver or subregistry, zero for none; of a transfer the former owner. */
    address: hex(t),
    /** The entry's token as the event has it; of roles, before the token moves to another id. */
    tokenId: hex(t),
    /** Caller of the registry as the event names it; of a transfer its operator. */
    sender: hex(t),
    /** Unix seconds. */
    expiry: t.bigint(),
    /** Bitmap in hex, as in `v2_roles`. */
    roles: hex(t),
    /** The roles before, likewise. */
    formerRoles: hex(t),
  })),
  (table) => ({
    byEntry: [table.registry, table.labelhash, table.timestamp],
    byTypeAndTime: [table.type, table.timestamp],
    byRegistryAndType: [table.registry, table.type, table.timestamp],
    byHolder: { on: [table.holder, table.timestamp], where: "labelhash IS NOT NULL" },
    byHolderAndResource: {
      on: [table.holder, table.resource, table.timestamp],
      where: "resource IS NOT NULL",
    },
    byGrant: {
      on: [table.registry, table.resource, table.holder, table.timestamp, table.logIndex],
      where: "resource IS NOT NULL",
    },
  }),
);
