import { onchainTable } from "ponder";
import { bytes, hex, list, text } from "./columns.ts";
import { indexed } from "./indexes.ts";

// Registrations and renewals as users see them. Ids are Ponder's checkpoints: 75 digits, in order of time and then of
// processing. Times are Unix seconds.

/** One row per base registrar, from its first registration on. Id: the contract's account id (CAIP-10). */
export const subregistry = onchainTable("subregistries", (t) => ({
  subregistryId: text(t).primaryKey(),
  /** Node whose subnames it issues. */
  node: hex(t).notNull(),
}));

/**
 * One row per name that a base registrar ever registered: its newest lifecycle, which a new registration overwrites.
 */
export const registrationLifecycle = indexed(
  onchainTable("registration_lifecycles", (t) => ({
    node: hex(t).primaryKey(),
    subregistryId: text(t).notNull(),
    /** Without the grace period. */
    expiresAt: t.bigint().notNull(),
    /** Newest action on the name, to which later events of its transaction belong; null if it was skipped. */
    actionId: text(t),
    actionTransactionHash: bytes(t),
  })),
  (table) => ({ bySubregistry: [table.subregistryId] }),
);

/**
 * One row per registration or renewal, from the base registrar's event and its transaction; in ENSv2 from the .eth
 * registrar's event.
 */
export const registrarAction = indexed(
  onchainTable("registrar_actions", (t) => ({
    id: text(t).primaryKey(),
    type: text(t).notNull(), // registration or renewal
    subregistryId: text(t).notNull(),
    node: hex(t).notNull(),
    /** Seconds by which the expiry moved; for a registration since the block's time. */
    incrementalDuration: t.bigint().notNull(),
    /** In wei or units of the payment token; all three prices are null if no controller event carried them. */
    baseCost: t.bigint(),
    premium: t.bigint(),
    total: t.bigint(),
    /** Payment token as in ENSv2's event; null for ETH. */
    paymentToken: hex(t),
    /** Sender of the transaction. */
    registrant: hex(t).notNull(),
    /** 32 bytes as emitted; null if no event carried a referrer. */
    encodedReferrer: hex(t),
    /** The zero address if the 32 bytes are not an address. */
    decodedReferrer: hex(t),
    blockNumber: t.bigint().notNull(),
    timestamp: t.bigint().notNull(),
    transactionHash: bytes(t).notNull(),
    /** All events of the action, in log order. */
    eventIds: list(t.text().array().notNull()),
  })),
  (table) => ({
    bySubregistry: [table.subregistryId, table.id],
    byNode: [table.node, table.id],
    byRegistrant: [table.registrant, table.id],
    byDecodedReferrer: [table.decodedReferrer, table.id],
    byType: [table.type, table.id],
    byTimestamp: [table.timestamp],
    withReferral: {
      on: [table.id],
      where: "encoded_referrer <> '0x0000000000000000000000000000000000000000000000000000000000000000'",
    },
  }),
);
