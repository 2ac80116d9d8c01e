import { and, Column, is, lte, type SQL } from "drizzle-orm";
import { PgSelectBase } from "drizzle-orm/pg-core";

/** A row of Ponder's cache, by property names. */
export type StoredRow = Record<string, unknown>;

/** Ponder's connection to its cache. */
export type SyncConnection = {
  wrap<Result>(
    label: { label: string },
    query: (db: { execute(statement: unknown): PromiseLike<Result> }) => PromiseLike<Result>,
    ...context: unknown[]
  ): Promise<Result>;
  readonly $client?: object;
};

/** A statement of drizzle that reads columns of one table. */
type Select = {
  config: { where?: SQL; limit?: number; fields: Record<string, unknown> };
  where(condition: SQL | undefined): unknown;
  prepare(): { customResultMapper?: (rows: unknown[][]) => StoredRow[]; execute(): Promise<StoredRow[]> };
};

// ponder: it reads up to so many blocks, transactions and logs at the same time, and throws away what is after the last
// of the logs: most of the blocks.
const upToLogs = ["select_blocks", "select_transactions", "select_transaction_receipts"];

/**
 * The connection for one call of Ponder's `getEventData`. It reads blocks and transactions after the logs and, if a
 * limit cuts these, up to the last of them. It builds rows without drizzle.
 */
export function withNarrowReads(qb: SyncConnection): SyncConnection {
  let lastOfLogs: Promise<bigint | undefined> | undefined;
  const readLogs: SyncConnection["wrap"] = async (label, query, ...context) => {
    let limit = 0;
    const read: typeof query = (db) => {
      const select = query(db);
      limit = (select as unknown as Select).config.limit ?? 0;
      return readRows(select);
    };
    const rows = qb.wrap(label, read, ...context);
    lastOfLogs = rows.then((found) => {
      const logs = found as { blockNumber: bigint }[];
      return logs.length < limit ? undefined : logs.at(-1)?.blockNumber;
    });
    return rows;
  };
  const wrap: SyncConnection["wrap"] = async (label, query, ...context) => {
    if (label.label === "select_logs") return readLogs(label, query, ...context);
    // Ponder asks for all of them before it waits for any.
    await undefined;
    const last = upToLogs.includes(label.label) ? await lastOfLogs : undefined;
    return qb.wrap(label, (db) => readRows(query(db), last), ...context);
  };
  return Object.assign(Object.create(qb), { wrap });
}

// Runs a statement, up to a block. drizzle would split each field's path and look for joins in each row.
function readRows<Result>(query: PromiseLike<Result>, last?: bigint): PromiseLike<Result> {
  if (!is(query, PgSelectBase)) return query;
  const select = query as unknown as Select;
  const { where, fields } = select.config;
  const columns = Object.entries(fields) as [name: string, column: Column][];
  if (!columns.every(([, column]) => is(column, Column))) return query;
  const number = (fields["number"] ?? fields["blockNumber"]) as Column;
  if (last !== undefined) select.where(and(where, lte(number, last)));
  const prepared = select.prepare();
  prepared.customResultMapper = (rows) => rows.map((row) => buildRow(columns, row));
  return prepared.execute() as unknown as Promise<Result>;
}

function buildRow(columns: readonly [name: string, column: Column][], values: readonly unknown[]): StoredRow {
  const row: StoredRow = {};
  let index = 0;
  for (const [name, column] of columns) {
    const value = values[index++];
    row[name] = value === null ? null : column.mapFromDriverValue(value);
  }
  return row;
}
