import { onchainTable, primaryKey } from "ponder";
import { hex, text } from "./columns.ts";

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
