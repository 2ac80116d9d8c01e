import { setImmediate as yielding } from "node:timers/promises";
import { getTableColumns, type SQL, sql } from "drizzle-orm";
import type { PgTable } from "drizzle-orm/pg-core";
import { z } from "zod/v4";
import { expectOfPonder, moduleOfPonder } from "./expected.ts";
import { fetchAheadOf } from "./fetch-ahead.ts";
import { endingOnTypeErrors } from "./rows/errors.ts";
import { shapeOf } from "./rows/table-shape.ts";
import { type ResultStore, withOtherResults } from "./saved-results.ts";

// In place of Ponder's access to its cache (cli/preload.mjs), for what a cold backfill writes: Ponder has a statement for each
// block, and binds each column of each row by itself. Here a statement takes all blocks that wait, and each column is one array.

type Row = Record<string, unknown>;
type Connection = {
  wrap<Result>(
    label: { label: string },
    query: (db: { execute(statement: unknown): PromiseLike<Result> }) => PromiseLike<Result>,
  ): Promise<Result>;
  readonly $client?: object;
};
type Encode = (given: Row) => Row;
type SyncStore = Record<string, unknown>;

const callable = <Function>() => z.custom<Function>((value) => typeof value === "function");
const table = z.custom<PgTable>((value) => typeof value === "object" && value !== null);
const store = z.object({
  createSyncStore: callable<(given: { common: object; qb: Connection }) => SyncStore>(),
});
const results = z.looseObject({
  getRpcRequestResults: callable<ResultStore["getRpcRequestResults"]>(),
  insertRpcRequestResults: callable<ResultStore["insertRpcRequestResults"]>(),
});
const ranges = z.looseObject({
  getEventData: callable<(of: { chainId: number }, ...context: unknown[]) => Promise<{ cursor: number }>>(),
});
const encoders = z.object({
  encodeBlock: callable<Encode>(),
  encodeLog: callable<Encode>(),
  encodeTransaction: callable<Encode>(),
});
const tables = z.object({ blocks: table, logs: table, transactions: table });

// Rows of one statement: some megabytes.
const mostRows = 2_000;

/** As Ponder's function of this name. */
export function createSyncStore(given: { common: object; qb: Connection }): SyncStore {
  const { encodeBlock, encodeLog, encodeTransaction } = moduleOfPonder(encoders, "sync-store/encode.js");
  const { blocks, logs, transactions } = moduleOfPonder(tables, "sync-store/schema.js");
  const insertBlocks = together((rows) => insert(given.qb, blocks, rows));
  const insertLogs = together((rows) => insert(given.qb, logs, rows));
  const insertTransactions = together((rows) => insert(given.qb, transactions, rows));
  // ponder: makes a store for each transaction too, on its connection; the others are on a pool, or on PGlite.
  const isOfTransaction = "processID" in (given.qb.$client ?? {});
  const ofPonder = moduleOfPonder(store, "sync-store/index.js").createSyncStore(given);
  const own = {
    ...ofPonder,
    ...withOtherResults(expectOfPonder(results, ofPonder, "createSyncStore"), { isOfTransaction }),
    insertBlocks: (of: { blocks: Row[]; chainId: number }) =>
      insertBlocks(of.blocks.map((block) => encodeBlock({ block, chainId: of.chainId }))),
    insertLogs: (of: { logs: Row[]; chainId: number }) =>
      insertLogs(of.logs.map((log) => encodeLog({ log, chainId: of.chainId }))),
    insertTransactions: (of: { transactions: Row[]; chainId: number }) =>
      insertTransactions(
        of.transactions.map((transaction) => encodeTransaction({ transaction, chainId: of.chainId })),
      ),
  };
  const { getEventData } = expectOfPonder(ranges, own, "createSyncStore");
  return endingOnTypeErrors({
    ...own,
    async getEventData(of: { chainId: number }, ...context: unknown[]) {
      const found = await getEventData(of, ...context);
      fetchAheadOf(given.common).read(of.chainId, found.cursor);
      return found;
    },
  });
}

// ponder: inserts block by block, hundreds at the same time on one connection. What comes while a statement runs goes into the next.
function together(write: (rows: Row[]) => Promise<void>): (rows: Row[]) => Promise<void> {
  let waiting: Row[] = [];
  let next: Promise<void> | undefined;
  let last: Promise<unknown> = Promise.resolve();
  const writeWaiting = async () => {
    await last;
    await yielding();
    const rows = waiting;
    [waiting, next] = [[], undefined];
    const written = write(rows);
    last = written.catch(() => undefined);
    return written;
  };
  return async (rows) => {
    if (rows.length === 0) return;
    for (const row of rows) waiting.push(row);
    next ??= writeWaiting();
    return next;
  };
}

async function insert(qb: Connection, table: PgTable, rows: readonly Row[]): Promise<void> {
  for (let from = 0; from < rows.length; from += mostRows) {
    const statement = insertion(table, rows.slice(from, from + mostRows));
    await qb.wrap({ label: `insert_${shapeOf(table).name}` }, (db) => db.execute(statement));
  }
}

function insertion(table: PgTable, rows: readonly Row[]): SQL {
  const { schema, name, columns } = shapeOf(table);
  const types = getTableColumns(table) as Record<string, { getSQLType(): string }>;
  const arrays = columns.map(({ property }) => {
    const type = types[property]?.getSQLType() ?? "text";
    // A cast to a text of limited length would cut it; the insertion refuses what is too long.
    const cast = sql.raw(type.startsWith("varchar") ? "text[]" : `${type}[]`);
    return sql`${arrayText(rows.map((row) => row[property]))}::text::${cast}`;
  });
  const names = sql.raw(columns.map((column) => `"${column.name}"`).join(", "));
  return sql`INSERT INTO ${sql.raw(`"${schema}"."${name}"`)} (${names}) SELECT * FROM unnest(${sql.join(arrays, sql`, `)}) ON CONFLICT DO NOTHING`;
}

const plain = /^(?:0x[0-9a-f]*|\d+)$/i;

/** Postgres' text of an array; anything but hex and digits, which a node may return, is quoted. */
export function arrayText(values: readonly unknown[]): string {
  let text = "{";
  let gap = "";
  for (const value of values) {
    text += gap;
    gap = ",";
    if (value === null || value === undefined) text += "NULL";
    else {
      const item = String(value);
      text += plain.test(item) ? item : `"${item.replaceAll(/["\\]/g, "\\$&")}"`;
    }
  }
  return `${text}}`;
}
