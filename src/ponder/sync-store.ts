import { setImmediate as yielding } from "node:timers/promises";
import { type SQL, sql } from "drizzle-orm";
import type { PgTable } from "drizzle-orm/pg-core";
import { type StoredRow, type SyncConnection, withNarrowReads } from "./cached-events.ts";
import { moduleOfPonder } from "./expected.ts";
import { endingOnTypeErrors } from "./rows/errors.ts";
import { describeTable } from "./rows/table-shape.ts";
import { withOtherResults } from "./saved-results.ts";
import { type ResultStore, shared } from "./shared.ts";

// Replaces how Ponder writes its cache (cli/preload.mjs). Ponder runs a statement for each block, and binds each column
// of each row. Here a statement takes all waiting blocks, and binds one array for each column. cached-events.ts changes
// how Ponder reads it.

type Insert = (of: { chainId: number } & Record<string, unknown>) => Promise<void>;
type SyncStore = ResultStore &
  Record<"insertBlocks" | "insertLogs" | "insertTransactions", Insert> & {
    getEventData(
      of: object,
      ...context: unknown[]
    ): Promise<Record<keyof Tables, object[]> & { cursor: number }>;
  };
type SyncStoreOptions = { common: object; qb: SyncConnection };
type Stores = { createSyncStore(given: SyncStoreOptions): SyncStore };
type Tables = Record<"blocks" | "logs" | "transactions", PgTable>;

// Rows of one statement: some megabytes.
const maxRows = 2_000;

/** Replaces Ponder's function of this name: the store of nodes' responses. */
export function createSyncStore(given: SyncStoreOptions): SyncStore {
  const encoders = moduleOfPonder<
    Record<"encodeBlock" | "encodeLog" | "encodeTransaction", (given: StoredRow) => StoredRow>
  >("sync-store/encode.js", ...(["encodeBlock", "encodeLog", "encodeTransaction"] as const));
  const tables = moduleOfPonder<Tables>("sync-store/schema.js", "blocks", "logs", "transactions");
  const { createSyncStore } = moduleOfPonder<Stores>("sync-store/index.js", "createSyncStore");
  const ofPonder = createSyncStore(given);
  // ponder: it also creates a store for each transaction, on its connection; the others use a pool.
  if (!("processID" in (given.qb.$client ?? {}))) shared().resultStore = ofPonder;
  const inserter = (of: keyof Tables, row: string, encode: (given: StoredRow) => StoredRow): Insert => {
    const insertRows = writeTogether((rows) => insert(given.qb, tables[of], rows));
    return ({ chainId, [of]: rows }) =>
      insertRows((rows as StoredRow[]).map((one) => encode({ [row]: one, chainId })));
  };
  return endingOnTypeErrors({
    ...ofPonder,
    getRpcRequestResults: withOtherResults(ofPonder),
    getEventData: (of, ...context) =>
      createSyncStore({ ...given, qb: withNarrowReads(given.qb) }).getEventData(of, ...context),
    insertBlocks: inserter("blocks", "block", encoders.encodeBlock),
    insertLogs: inserter("logs", "log", encoders.encodeLog),
    insertTransactions: inserter("transactions", "transaction", encoders.encodeTransaction),
  });
}

// ponder: it inserts block by block, hundreds at once on one connection. Rows that arrive during a statement go into
// the next.
function writeTogether(write: (rows: StoredRow[]) => Promise<void>): (rows: StoredRow[]) => Promise<void> {
  let waiting: StoredRow[] = [];
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

async function insert(qb: SyncConnection, table: PgTable, rows: readonly StoredRow[]): Promise<void> {
  for (let from = 0; from < rows.length; from += maxRows) {
    const statement = buildInsertion(table, rows.slice(from, from + maxRows));
    await qb.wrap({ label: `insert_${describeTable(table).name}` }, (db) => db.execute(statement));
  }
}

const isAbsent = (value: unknown) => value === null || value === undefined;

function buildInsertion(table: PgTable, rows: readonly StoredRow[]): SQL {
  const { schema, name, columns } = describeTable(table);
  const arrays = columns.map(({ property, column }) => {
    const type = column.getSQLType();
    // A cast to a text of limited length would cut it; the insertion refuses what is too long.
    const cast = sql.raw(type.startsWith("varchar") ? "text[]" : `${type}[]`);
    const values = rows.map(({ [property]: value }) => (isAbsent(value) ? null : String(value)));
    return sql`${sql.param(values)}::text[]::${cast}`;
  });
  const names = sql.raw(columns.map((column) => `"${column.name}"`).join(", "));
  return sql`INSERT INTO ${sql.raw(`"${schema}"."${name}"`)} (${names}) SELECT * FROM unnest(${sql.join(arrays, sql`, `)}) ON CONFLICT DO NOTHING`;
}
