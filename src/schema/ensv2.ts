import { onchainTable, primaryKey } from "ponder";
import { hex, list, text } from "./columns.ts";
import { indexed, prefixOf } from "./indexes.ts";
import { nameIndexes } from "./subgraph.ts";

// The second generation of the name service: registries in registries. Rows are kept by emitting contract, whether the tree
// holds it or not: names are read by walking from the root, so that rows of strangers are under no name. Label and name
// bytes are stored in hex, as any bytes occur. Ids of an entry share their first 28 bytes; the last four are versions.

/**
 * One row per label that a registry ever registered or reserved; a new registration or reservation replaces it. It says
 * what the contract stores: whether that is in force depends on the expiry (Unix seconds; reached means expired).
 */
export const v2Entry = indexed(
  onchainTable(
    "v2_entries",
    (t) => ({
      chainId: t.integer().notNull(),
      registry: hex(t).notNull(),
      /** Labelhash with its last four bytes zero. */
      storageId: hex(t).notNull(),
      labelhash: hex(t).notNull(),
      label: hex(t).notNull(),
      /** Node of the name, in a registry whose path is fixed: that of .eth; null in others. */
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
      /** Unix seconds at which a name of the first generation was migrated; null for others. */
      migratedAt: t.bigint(),
      /** The registry's entry before this one, by first registration: its storage id. Only in registries with paths. */
      previous: hex(t),
    }),
    (table) => ({ pk: primaryKey({ columns: [table.chainId, table.registry, table.storageId] }) }),
  ),
  (table) => ({
    byOwner: [table.owner],
    byNode: [table.node],
    bySubregistry: [table.subregistry],
  }),
);

/** One row per proxy of the factory, and per contract that claims a parent. */
export const v2Contract = onchainTable(
  "v2_contracts",
  (t) => ({
    chainId: t.integer().notNull(),
    address: hex(t).notNull(),
    /** First implementation of a proxy of the factory; null for other contracts. */
    implementation: hex(t),
    /** Who had the factory deploy it; null for other contracts. */
    deployer: hex(t),
    /** Whether a proxy announced another implementation since. */
    isUpgraded: t.boolean().notNull(),
    /** Whether it announced itself as a resolver with record ids. */
    hasRecordIds: t.boolean().notNull(),
    /** Registry and label (bytes) that it claims to be under; only SubregistryUpdated of that entry makes it true. */
    parent: hex(t),
    parentLabel: hex(t),
    /** Node of the migrated, locked name whose wrapped subnames the registry may take over. */
    node: hex(t),
    /** Of a registry: its latest entry (storage id) and how many it has, expired ones included. */
    lastEntry: hex(t),
    entryCount: t.integer(),
    /** Its present rows of `v2_registry_paths`, the oldest first, and how many it ever had. */
    paths: list(t.integer().array()),
    pathCount: t.integer(),
  }),
  (table) => ({ pk: primaryKey({ columns: [table.chainId, table.address] }) }),
);

/**
 * Names that a registry is put under: they never change, and rows go when their name is given up for another. Registries whose path is
 * fixed have none. Whether a path holds at a time, the entries above it say.
 */
export const v2RegistryPath = onchainTable(
  "v2_registry_paths",
  (t) => ({
    chainId: t.integer().notNull(),
    registry: hex(t).notNull(),
    /** From 1 on; never used again. */
    path: t.integer().notNull(),
    /** Node and name that the registry is under. */
    node: hex(t).notNull(),
    name: text(t).notNull(),
    /** Registry and storage id of the entry for this name, and which of that registry's paths; 0 where its path is fixed. */
    parent: hex(t).notNull(),
    storageId: hex(t).notNull(),
    parentPath: t.integer().notNull(),
    /** Position of what is yet to be named there. */
    job: t.integer(),
  }),
  (table) => ({ pk: primaryKey({ columns: [table.chainId, table.registry, table.path] }) }),
);

/** Entries that are yet to be named at a path of their registry: `count` of them, from `storageId` backwards. */
export const v2NamingJob = onchainTable(
  "v2_naming_jobs",
  (t) => ({
    chainId: t.integer().notNull(),
    position: t.integer().notNull(),
    registry: hex(t).notNull(),
    path: t.integer().notNull(),
    storageId: hex(t).notNull(),
    count: t.integer().notNull(),
    /** Node of a path that was given up: its rows are taken away. */
    node: hex(t),
  }),
  (table) => ({ pk: primaryKey({ columns: [table.chainId, table.position] }) }),
);

/** Per chain the position of the first of these and of the next one, and what naming has cost in a block. */
export const v2NamingQueue = onchainTable("v2_naming_queue", (t) => ({
  chainId: t.integer().primaryKey(),
  first: t.integer().notNull(),
  next: t.integer().notNull(),
  blockNumber: t.integer().notNull(),
  spent: t.integer().notNull(),
}));

/**
 * Names by node, as /subgraph filters and sorts them: one row per path of an entry, with what the entry stores, of registries
 * whose code is known. Whether the name exists at a time, its path and the entries above that say.
 */
export const v2Domain = indexed(
  onchainTable(
    "v2_domains",
    (t) => ({
      chainId: t.integer().notNull(),
      /** Node. */
      id: hex(t).notNull(),
      registry: hex(t).notNull(),
      /** Of the registry; 0 where that is fixed. */
      path: t.integer().notNull(),
      name: text(t).notNull(),
      labelName: text(t).notNull(),
      labelhash: hex(t).notNull(),
      parentId: hex(t).notNull(),
      /** Unix seconds of the first registration or reservation. */
      createdAt: t.bigint().notNull(),
      /** Of the latest. */
      registrationDate: t.bigint().notNull(),
      /** Of the entry: no grace period. */
      expiryDate: t.bigint().notNull(),
      /** Latest holder of the token, expired or not; zero for a reservation. */
      ownerId: hex(t).notNull(),
      /** The name's own resolver, as an id of `resolver`. */
      resolverId: text(t),
      subregistry: hex(t).notNull(),
      changeBlock: t.integer().notNull(),
    }),
    (table) => ({ pk: primaryKey({ columns: [table.id, table.chainId, table.registry, table.path] }) }),
  ),
  (table) => ({
    ...nameIndexes(table),
    byEntry: [table.registry, table.labelhash],
    byRegistrationDate: [table.registrationDate, table.id],
    byExpiryDateAndName: [table.expiryDate, prefixOf(table.name), table.id],
  }),
);

/**
 * What the name wrapper keeps of an unwrapped name that its parent could not control: one row per name ever unwrapped so.
 * A registry of the parent's migrated name still leaves such a name to the first generation.
 */
export const v2KeptFuses = onchainTable("v2_kept_fuses", (t) => ({
  node: hex(t).primaryKey(),
  /** Signed, as in `wrapped_domain`. */
  fuses: t.integer().notNull(),
  /** Unix seconds; in force up to it. */
  expiryDate: t.bigint().notNull(),
}));

/** Roles of an account on a resource of a contract, as a bitmap in hex; zero when they were taken away. Resource 0: the whole contract. */
export const v2Role = indexed(
  onchainTable(
    "v2_roles",
    (t) => ({
      chainId: t.integer().notNull(),
      address: hex(t).notNull(),
      resource: hex(t).notNull(),
      account: hex(t).notNull(),
      roles: hex(t).notNull(),
    }),
    (table) => ({
      pk: primaryKey({ columns: [table.chainId, table.address, table.resource, table.account] }),
    }),
  ),
  (table) => ({
    byAccount: [table.account, table.address, table.resource],
  }),
);

/** What a resource of a resolver's roles stands for. Resource 0, the whole contract, has no row. */
export const v2Resource = onchainTable(
  "v2_resources",
  (t) => ({
    chainId: t.integer().notNull(),
    resolver: hex(t).notNull(),
    resource: hex(t).notNull(),
    /** Node of the name that the roles are limited to; null where they hold for every name of the resolver. */
    node: hex(t),
    /** DNS wire format; null likewise. */
    name: hex(t),
    /** `name`: all records of it; `text`, `data`, `address`: one record; `argument`: what a setter's first argument is. */
    kind: text(t).notNull(),
    /** Key in hex, coin type in decimal digits, argument in hex; empty for `name`. */
    key: text(t).notNull(),
  }),
  (table) => ({
    pk: primaryKey({ columns: [table.chainId, table.resolver, table.resource] }),
  }),
);

/** Every label that the store of labels announced, as bytes. */
export const v2Label = onchainTable("v2_labels", (t) => ({
  labelhash: hex(t).primaryKey(),
  label: hex(t).notNull(),
}));

/** Record id of a node in a resolver with record ids: 0 if it was unlinked. The root node's is the default. */
export const v2RecordLink = onchainTable(
  "v2_record_links",
  (t) => ({
    chainId: t.integer().notNull(),
    resolver: hex(t).notNull(),
    node: hex(t).notNull(),
    recordId: t.bigint().notNull(),
    /** DNS wire format. */
    name: hex(t).notNull(),
  }),
  (table) => ({ pk: primaryKey({ columns: [table.chainId, table.resolver, table.node] }) }),
);

/** A value under a record id. Those of an older generation than the record's were cleared at once. */
export const v2Record = onchainTable(
  "v2_records",
  (t) => ({
    chainId: t.integer().notNull(),
    resolver: hex(t).notNull(),
    recordId: t.bigint().notNull(),
    /** keccak-256 of kind, `:` and key. */
    keyHash: hex(t).notNull(),
    /** `address`, `text`, `data`, `contenthash`, `abi`, `interface` or `name`. */
    kind: text(t).notNull(),
    /** Coin type, content type or interface id; text keys as bytes in hex; empty where a record has one value. */
    key: text(t).notNull(),
    /** Bytes; none for an unset record; null where only the chain knows. */
    value: hex(t),
    generation: t.integer().notNull(),
  }),
  (table) => ({
    pk: primaryKey({ columns: [table.chainId, table.resolver, table.recordId, table.keyHash] }),
  }),
);

/** How often a record was cleared at once; no row if never. */
export const v2RecordGeneration = onchainTable(
  "v2_record_generations",
  (t) => ({
    chainId: t.integer().notNull(),
    resolver: hex(t).notNull(),
    recordId: t.bigint().notNull(),
    generation: t.integer().notNull(),
  }),
  (table) => ({ pk: primaryKey({ columns: [table.chainId, table.resolver, table.recordId] }) }),
);

/** Alias of a name and the names below it in a resolver keyed by nodes. An empty target removes it. */
export const v2Alias = onchainTable(
  "v2_aliases",
  (t) => ({
    chainId: t.integer().notNull(),
    resolver: hex(t).notNull(),
    /** keccak-256 of the name in DNS wire format. */
    nameHash: hex(t).notNull(),
    /** DNS wire format. */
    target: hex(t).notNull(),
  }),
  (table) => ({ pk: primaryKey({ columns: [table.chainId, table.resolver, table.nameHash] }) }),
);

/**
 * What happened to an entry of a registry whose code is known, one row per event (of a batch of transfers one per token). Id: chain,
 * block, log, and the path in a batch.
 */
export const v2Event = indexed(
  onchainTable("v2_events", (t) => ({
    id: text(t).primaryKey(),
    chainId: t.integer().notNull(),
    registry: hex(t).notNull(),
    labelhash: hex(t).notNull(),
    /** Name of the event; `Migration`: LabelRegistered of a name that was migrated. */
    type: text(t).notNull(),
    blockNumber: t.integer().notNull(),
    /** Of the block, in Unix seconds. */
    timestamp: t.integer().notNull(),
    logIndex: t.integer().notNull(),
    transactionHash: hex(t).notNull(),
    /** Who received the name, or has the roles from now on. */
    holder: hex(t),
    /** Resolver or subregistry, zero for none; of a transfer who had the name. */
    address: hex(t),
    /** The token of the entry as the event has it; of roles before it moves on to another. */
    tokenId: hex(t),
    /** Who called the registry, as the event names it; of a transfer its operator. */
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
    byHolder: [table.holder, table.timestamp],
  }),
);
