import type { PgTable } from "drizzle-orm/pg-core";
import { NonRetryableUserError } from "./errors.ts";
import { createKeyFilter, type KeyFilter } from "./key-filter.ts";
import {
  type Changes,
  type Connection,
  countRows,
  keysOfTable,
  loadRows,
  writeChanges,
} from "./row-statements.ts";
import { type Row, shapeOf, type TableShape } from "./table-shape.ts";

/** A row that changed since the last flush, null if it was deleted; its key; whether the database has a row with that key. */
type Change = { row: Row | null; key: Row; isStored: boolean };

/** What is known of a table's rows. */
export type KnownRows = {
  readonly shape: TableShape;
  changes: Map<string, Change>;
  /** Rows as the database has them, null for those it has not; used since the last ageing, and before. */
  rows: Map<string, Row | null>;
  older: Map<string, Row | null>;
  /** Whether the database has no other rows than these. */
  isComplete: boolean;
  /** All keys that the database may have; undefined if that is not known. */
  keys: KeyFilter | undefined;
  /** Whether a handler has ever asked for a row. */
  isRead: boolean;
  loading: Map<string, Promise<void>>;
  /** How many keys were looked for in the database that it does not have. */
  absent: number;
  written: { rows: number; characters: number };
};

// Memory of a row besides its text: object, numbers, entry of a map.
const bytesBesideText = 600;

/** The rows of handlers, in front of the database. */
export type RowCache = {
  readonly tables: ReadonlyMap<PgTable, KnownRows>;
  readonly maxBytes: number;
  /** Set by Ponder: its connection, then each transaction on it. */
  connection: Connection | undefined;
  /** Set when rows are written, until their transaction has been committed. */
  isUncertain: boolean;
};

/**
 * Rows are kept up to about `maxBytes`, the last used ones longest; which keys the database has not is remembered beyond that. Each
 * changed row is written once with every flush. `isEmpty`: whether the database has no rows yet.
 */
export function createRowCache(
  tables: readonly PgTable[],
  { maxBytes, isEmpty }: { maxBytes: number; isEmpty: boolean },
): RowCache {
  return {
    tables: new Map(tables.map((table) => [table, unknownRows(shapeOf(table), isEmpty)])),
    maxBytes,
    connection: undefined,
    isUncertain: false,
  };
}

/** The rows of a table. Throws if the schema lacks it. */
export function rowsOf({ tables }: RowCache, table: PgTable): KnownRows {
  const known = tables.get(table);
  if (known === undefined) throw new NonRetryableUserError("Handlers can use the tables of the schema only.");
  return known;
}

/** A transaction begins. If the last one was not committed, its rows are forgotten. */
export function begin(cache: RowCache, transaction: Connection): void {
  if (transaction !== cache.connection && cache.isUncertain) forget(cache);
  cache.connection = transaction;
}

/** What was flushed has been committed. Makes room for more rows. */
export function settle(cache: RowCache): void {
  cache.isUncertain = false;
  const bytes = [...cache.tables.values()].reduce((sum, known) => sum + bytesOf(known), 0);
  if (bytes <= cache.maxBytes) return;
  for (const known of cache.tables.values()) {
    open(known);
    known.older = known.rows;
    known.rows = new Map();
  }
}

/** Forgets all rows and changes, but not which keys there may be. */
export function forget(cache: RowCache): void {
  cache.isUncertain = false;
  for (const known of cache.tables.values()) {
    open(known);
    known.changes = new Map();
    known.rows = new Map();
    known.older = new Map();
    known.loading = new Map();
  }
}

/** Reads the rows with these keys from the database, so that `peek` returns them. */
export async function load(
  cache: RowCache,
  known: KnownRows,
  wanted: ReadonlyMap<string, Row>,
): Promise<void> {
  const { loading } = known;
  const missing = [...wanted].filter(([key]) => !loading.has(key));
  if (missing.length > 0) {
    const begun = read(connectionOf(cache), known, missing).finally(() => {
      for (const [key] of missing) loading.delete(key);
    });
    for (const [key] of missing) loading.set(key, begun);
  }
  await Promise.all(new Set([...wanted.keys()].map((key) => loading.get(key))));
}

async function read(connection: Connection, known: KnownRows, wanted: [string, Row][]): Promise<void> {
  const { rows, shape } = known;
  const keys = wanted.map(([, key]) => key);
  const found = await loadRows(connection, shape, keys);
  known.absent += wanted.length - found.length;
  for (const [key] of wanted) rows.set(key, null);
  for (const row of found) rows.set(shape.keyOf(row), row);
}

// Reading a key with others takes a fiftieth of asking whether the database has it.
const [fewestAbsent, askedShare] = [100, 50];

/**
 * Reads all keys of each table that was asked in vain so often that this had been the cheaper way, as after a restart in the middle of
 * a backfill. Nothing may change a row meanwhile.
 */
export async function learnKeys({ tables, connection }: RowCache): Promise<void> {
  for (const known of tables.values()) {
    const { shape, absent } = known;
    if (connection === undefined || known.keys !== undefined || absent < fewestAbsent) continue;
    if (absent * askedShare < (await countRows(connection, shape))) continue;
    const keys = createKeyFilter();
    for await (const row of keysOfTable(connection, shape)) keys.add(shape.keyOf(row));
    known.keys = keys;
  }
}

/** Writes all changes. Rejects with what the database says if it refuses one. */
export async function flush(cache: RowCache): Promise<void> {
  const changed = [...cache.tables.values()].filter(({ changes }) => changes.size > 0);
  if (changed.length === 0) return;
  cache.isUncertain = true;
  await writeAll(connectionOf(cache), changed);
  for (const known of changed) keepChanges(known);
}

function connectionOf({ connection }: RowCache): Connection {
  if (connection === undefined) throw new Error("The database is used before Ponder has connected.");
  return connection;
}

/** The row with a key, null if there is none, undefined if only the database knows. */
export function peek(known: KnownRows, key: string): Row | null | undefined {
  known.isRead = true;
  const change = known.changes.get(key);
  if (change !== undefined) return change.row;
  const row = known.rows.get(key);
  if (row !== undefined) return row;
  if (known.isComplete) return null;
  const older = known.older.get(key);
  if (older !== undefined) {
    known.older.delete(key);
    known.rows.set(key, older);
    return older;
  }
  return known.keys?.mayHave(key) === false ? null : undefined;
}

/** Changes a row. Whether the database has it counts for the first change after a flush only. `text`: its key as one text. */
export function changeRow(known: KnownRows, text: string, change: Change): void {
  const before = known.changes.get(text);
  if (before !== undefined) before.row = change.row;
  else known.changes.set(text, change);
  if (!change.isStored && known.keys !== undefined) known.keys.add(text);
}

async function writeAll(connection: Connection, changed: KnownRows[]): Promise<void> {
  const write = async (known: KnownRows) => {
    const { rows, characters } = await writeChanges(connection, known.shape, sorted(known)).catch((error) => {
      throw explained(known, error);
    });
    known.written.rows += rows;
    known.written.characters += characters;
  };
  // All of them end before an error goes on: they share the connection.
  const results = await Promise.allSettled(changed.map(write));
  const failed = results.find((result) => result.status === "rejected");
  if (failed !== undefined) throw failed.reason;
}

function unknownRows(shape: TableShape, isEmpty: boolean): KnownRows {
  return {
    shape,
    changes: new Map(),
    rows: new Map(),
    older: new Map(),
    isComplete: isEmpty,
    keys: undefined,
    isRead: false,
    loading: new Map(),
    absent: 0,
    written: { rows: 0, characters: 0 },
  };
}

// Rows of the table may be dropped from now on.
function open(known: KnownRows): void {
  if (!known.isComplete) return;
  known.isComplete = false;
  if (!known.isRead) return;
  known.keys = createKeyFilter();
  for (const rows of [known.rows, known.changes]) for (const key of rows.keys()) known.keys.add(key);
}

function bytesOf({ rows, older, written }: KnownRows): number {
  const characters = written.rows === 0 ? 0 : written.characters / written.rows;
  return (rows.size + older.size) * (bytesBesideText + characters);
}

function sorted({ changes }: KnownRows): Changes {
  const result: Changes = { inserted: [], updated: [], deleted: [] };
  for (const { row, key, isStored } of changes.values()) {
    if (row !== null) (isStored ? result.updated : result.inserted).push(row);
    else if (isStored) result.deleted.push(key);
  }
  return result;
}

// The changes are written: they are what the database has.
function keepChanges(known: KnownRows): void {
  const { changes, rows, older } = known;
  known.changes = new Map();
  // Rows such as those of events, which no handler reads, are not kept.
  if (!known.isRead) known.isComplete = false;
  if (!known.isRead) return;
  for (const [key, { row }] of changes) {
    rows.set(key, row);
    if (older.size > 0) older.delete(key);
  }
}

// Trying again does not help against what Postgres says of values. ponder: its errors have the message only.
function explained({ shape }: KnownRows, error: Error): Error {
  const isOfValues = /violates|out of range|invalid input|too long/.test(error.message);
  return isOfValues ? new NonRetryableUserError(`${shape.name}: ${error.message}`) : error;
}
