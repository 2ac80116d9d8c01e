import { index, onchainTable, sql } from "ponder";
import { hex, list, text } from "./columns.ts";

// Registrations and renewals as their users see them. Ids of actions and events are Ponder's checkpoints: 75 digits that
// begin with the block's timestamp, so that their order is that of time and, within a second, of processing.

/** One row per base registrar, from its first registration on. Id: CAIP-10 account of the contract. */
export const subregistry = onchainTable("subregistries", (t) => ({
  subregistryId: text(t).primaryKey(),
  /** Node whose subnames it issues. */
  node: hex(t).notNull(),
}));

/** One row per name that a base registrar ever registered: its newest lifecycle; a new registration overwrites it. */
export const registrationLifecycle = onchainTable(
  "registration_lifecycles",
  (t) => ({
    node: hex(t).primaryKey(),
    subregistryId: text(t).notNull(),
    /** Unix seconds, without the grace period. */
    expiresAt: t.bigint().notNull(),
    /** Newest action on the name, to which later events of its transaction belong; null if that one was skipped. */
    actionId: text(t),
    actionTransactionHash: hex(t),
  }),
  (table) => ({ bySubregistry: index().on(table.subregistryId) }),
);

/**
 * One row per registration or renewal, created by the base registrar's event and completed by its transaction; in ENSv2 by the
 * event of the contract that sold it. Amounts in wei, or in units of the payment token.
 */
export const registrarAction = onchainTable(
  "registrar_actions",
  (t) => ({
    id: text(t).primaryKey(),
    /** `registration` or `renewal`. */
    type: text(t).notNull(),
    subregistryId: text(t).notNull(),
    node: hex(t).notNull(),
    /** Seconds by which the expiry moved; for a registration from the block's time on. */
    incrementalDuration: t.bigint().notNull(),
    /** The three prices are all null if no controller event carried them. */
    baseCost: t.bigint(),
    premium: t.bigint(),
    total: t.bigint(),
    /** What was paid with, as the event of ENSv2 names it; null: ETH. */
    paymentToken: hex(t),
    /** Sender of the transaction. */
    registrant: hex(t).notNull(),
    /** 32 bytes as emitted; null if no event carries a referrer. */
    encodedReferrer: hex(t),
    /** The zero address if the 32 bytes are not an address. */
    decodedReferrer: hex(t),
    blockNumber: t.bigint().notNull(),
    /** Unix seconds. */
    timestamp: t.bigint().notNull(),
    transactionHash: hex(t).notNull(),
    /** All events that belong to the action, in log order. */
    eventIds: list(t.text().array().notNull()),
  }),
  (table) => ({
    bySubregistry: index().on(table.subregistryId, table.id),
    byNode: index().on(table.node, table.id),
    byRegistrant: index().on(table.registrant, table.id),
    byDecodedReferrer: index().on(table.decodedReferrer, table.id),
    byType: index().on(table.type, table.id),
    byTimestamp: index().on(table.timestamp),
    withReferral: index("registrar_actions_with_referral")
      .on(table.id)
      .where(sql`encoded_referrer <> '0x0000000000000000000000000000000000000000000000000000000000000000'`),
  }),
);
