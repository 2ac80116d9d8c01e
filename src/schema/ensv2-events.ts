import { onchainTable } from "ponder";
import { hex, text } from "./columns.ts";
import { indexed } from "./indexes.ts";

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
