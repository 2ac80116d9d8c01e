import { setImmediate as yielding } from "node:timers/promises";
import { and, eq, inArray, isTable, or, type SQL, sql } from "drizzle-orm";
import { type PgDatabase, type PgQueryResultHKT, type PgTable, pgSchema } from "drizzle-orm/pg-core";
import { moduleOfPonder } from "../expected.ts";
import { type EventAhead, shared } from "../shared.ts";
import { endingOnTypeErrors, NonRetryableUserError, RecordNotFoundError, RetryableError } from "./errors.ts";
import { createKeyFilter, type KeyFilter } from "./key-filter.ts";
import { createPredictions, type Predictions } from "./predictions.ts";
import { describeTable, type Row, type TableShape } from "./table-shape.ts";

// Replaces Ponder's store and cache (cli/preload.mjs). Ponder's takes a lock, four promises and a proxy for each
// access, copies rows deeply, writes a row twice if a batch inserts and changes it, and drops whole tables when its
// memory is full. Handlers must not mutate the rows that they get.

type Set = Row | ((before: Row) => Row);
type RowStoreOptions = {
  common: { options: { indexingCacheMaxBytes: number } };
  schemaBuild: { schema: Readonly<Record<string, unknown>> };
  chainId?: number;
};
type ErrorHandler = { setRetryableError(error: Error): void };

/** A row changed since the last flush, null if deleted; its key; whether the database has a row with that key. */
type Change = { row: Row | null; key: Row; isStored: boolean };

/**
 * The event's block in a backfill, as the beginning of its checkpoint. ponder: live changes are recorded by its
 * triggers.
 */
type EventBlock = { block: string | undefined };

/** A table's rows in memory. */
type KnownRows = {
  readonly shape: TableShape;
  readonly clock: EventBlock;
  changes: Map<string, Change>;
  /** Rows as the database has them, null for absent ones: those used since the last ageing, and older ones. */
  rows: Map<string, Row | null>;
  older: Map<string, Row | null>;
  /** Whether the database has no other rows. */
  isComplete: boolean;
  /** All keys that the database may have; undefined if unknown. */
  keys: KeyFilter | undefined;
  isRead: boolean;
  /**
   * The row of a key before its first change in a block, null for none. Since the last flush, if such rows are kept.
   */
  former: { row: Row | null; key: Row; until: string }[];
  /** The keys that changed in the latest block. */
  latest: { block: string; keys: globalThis.Set<string> };
  /** Lookups in the database of keys that it does not have. */
  absent: number;
  written: { rows: number; characters: number };
};

// Memory of a row besides its text: object, numbers, map entry.
const bytesBesideText = 600;

/** Handlers' rows in memory, in front of the database. */
type HandlerRows = {
  readonly tables: ReadonlyMap<PgTable, KnownRows>;
  /** Approximate limit of the rows, the last used of which stay longest; filters of keys are kept beyond it. */
  readonly maxBytes: number;
  /** Set by Ponder: its connection, then each transaction on it. */
  connection: Connection | undefined;
  /** Set when rows are written, until their transaction is committed. */
  isUncertain: boolean;
  /** Copies that have begun before the flush. */
  ahead: Promise<void>[];
  predictions: Predictions;
  /** The event being handled, if it is a sample. */
  sample: EventAhead | undefined;
  clock: EventBlock;
  isProcessingEvents: boolean;
  errors?: ErrorHandler;
};

/** Replaces Ponder's function of this name: what its event loops use, and the state of the store. */
export function createIndexingCache({
  common,
  schemaBuild,
  crashRecoveryCheckpoint,
  eventCount,
  chainId,
}: RowStoreOptions & { crashRecoveryCheckpoint?: unknown; eventCount: Record<string, number> }) {
  if (chainId !== undefined)
    throw new NonRetryableUserError('The ordering "experimental_isolated" is not supported.');
  const tables = Object.values(schemaBuild.schema).filter((one): one is PgTable => isTable(one));
  const isEmpty = crashRecoveryCheckpoint === undefined;
  const clock: EventBlock = { block: undefined };
  const store: HandlerRows = {
    tables: new Map(tables.map((table) => [table, createRows(describeTable(table), clock, isEmpty)])),
    maxBytes: common.options.indexingCacheMaxBytes,
    connection: undefined,
    isUncertain: false,
    ahead: [],
    predictions: createPredictions(tables, eventCount),
    sample: undefined,
    clock,
    isProcessingEvents: true,
  };
  // ponder: it clears the cache after errors, when handlers have not finished, and at the end of the backfill, when all
  // is flushed.
  let [isFlushed, isBackfill] = [true, true];
  return endingOnTypeErrors({
    store,

    set qb(connection: Connection) {
      store.connection = connection;
    },

    set event(event: EventAhead) {
      store.sample = store.predictions.isSample(event) ? event : undefined;
      store.clock.block = event.checkpoint?.slice(0, 42);
    },

    async flush(): Promise<void> {
      await flush(store);
      isFlushed = true;
    },

    async prefetch({ events }: { events: readonly EventAhead[] }): Promise<void> {
      settle(store);
      isFlushed = false;
      if (isBackfill) await learnKeys(store);
      await Promise.all([loadExpected(store, events), shared().prefetch?.(events)]);
    },

    // ponder: it calls this beside `clear` wherever rows may have changed in the database.
    invalidate(): void {},

    clear(): void {
      // A reorganization may restore rows, so keys are no longer learned.
      if (isFlushed) isBackfill = false;
      store.clock.block = undefined;
      forget(store);
    },
  });
}

async function loadExpected(store: HandlerRows, events: readonly EventAhead[]): Promise<void> {
  const loads: Promise<void>[] = [];
  for (const known of store.tables.values()) {
    if (known.isComplete || !known.isRead) continue;
    const wanted = new Map<string, Row>();
    for (const key of store.predictions.keysOf(events, known.shape.table)) {
      const text = known.shape.keyOf(key);
      if (peek(known, text) === undefined) wanted.set(text, key);
    }
    if (wanted.size > 0) loads.push(load(store, known, wanted));
  }
  await Promise.all(loads);
}

/** Replaces Ponder's function of this name: the store of handlers, over the result of createIndexingCache. */
export function createIndexingStore({
  indexingCache,
  indexingErrorHandler,
}: {
  indexingCache: { store: HandlerRows };
  indexingErrorHandler: ErrorHandler;
}) {
  const { store } = indexingCache;
  store.errors = indexingErrorHandler;
  return {
    /** `context.db` of handlers. */
    db: {
      find: (table: PgTable, key: Row) => withRow(store, table, key, (row) => row),
      insert: (table: PgTable) => ({ values: (values: Row | Row[]) => buildInsertion(store, table, values) }),
      update: (table: PgTable, key: Row) => ({
        set: (set: Set) =>
          withRow(store, table, key, (before, known, text) => {
            if (before !== null) return replace(known, text, before, set);
            throw new RecordNotFoundError(`${known.shape.name} has no row with the key ${text}.`);
          }),
      }),
      delete: (table: PgTable, key: Row) =>
        withRow(store, table, key, (before, known, text) => {
          if (before !== null) changeRow(known, text, { before, row: null, key, isStored: true });
          return before !== null;
        }),
    },

    set qb(connection: Connection) {
      begin(store, connection);
    },

    set isProcessingEvents(value: boolean) {
      store.isProcessingEvents = value;
    },
  };
}

// Calls `act` with the row of a key, null if there is none; `act` changes it at once or throws.
async function withRow<T>(
  store: HandlerRows,
  table: PgTable,
  key: Row,
  act: (before: Row | null, known: KnownRows, text: string) => T,
): Promise<T> {
  checkUse(store);
  const known = knownRows(store, table);
  const text = known.shape.keyOf(key);
  if (store.sample !== undefined) store.predictions.see(store.sample, table, key);
  let before = peek(known, text);
  if (before === undefined) {
    await loadRow(store, known, text, key);
    before = readCurrent(known, text);
  }
  return act(before, known, text);
}

async function loadRow(store: HandlerRows, known: KnownRows, text: string, key: Row): Promise<void> {
  try {
    await load(store, known, new Map([[text, key]]));
    checkUse(store);
    readCurrent(known, text);
  } catch (error) {
    if (error instanceof RetryableError) store.errors?.setRetryableError(error);
    throw error;
  }
}

// Another use of the store may have changed the row since it was loaded.
function readCurrent(known: KnownRows, text: string): Row | null {
  const row = peek(known, text);
  if (row !== undefined) return row;
  throw new RetryableError(`Rows of ${known.shape.name} were forgotten while they were read.`);
}

// Inserts a row. If there is one, changes it by `set`, or without `set` returns null.
const upsert = (store: HandlerRows, table: PgTable, values: Row, set: Set | undefined): Promise<Row | null> =>
  withRow(store, table, values, (before, known, text) => {
    if (before === null) return put(known, text, values);
    return set === undefined ? null : replace(known, text, before, set);
  });

// Nothing is inserted until the handler chooses what a conflict does or awaits the result.
const buildInsertion = (store: HandlerRows, table: PgTable, values: Row | Row[]) => ({
  onConflictDoNothing: () => insertEach(values, (row) => upsert(store, table, row, undefined)),
  onConflictDoUpdate: (set: Set) => insertEach(values, (row) => upsert(store, table, row, set)),
  // biome-ignore lint/suspicious/noThenProperty: a handler awaits an insertion as it is, as with Ponder's store.
  then: <A, B>(
    fulfilled: (row: Row | null | (Row | null)[]) => A | PromiseLike<A>,
    rejected: (error: unknown) => B | PromiseLike<B>,
  ) => insertEach(values, (row) => insertNew(store, table, row)).then(fulfilled, rejected),
});

const insertEach = (
  values: Row | Row[],
  insert: (row: Row) => Promise<Row | null>,
): Promise<Row | null | (Row | null)[]> =>
  Array.isArray(values) ? Promise.all(values.map(insert)) : insert(values);

// Does not read the database, which refuses a duplicate when it is flushed.
async function insertNew(store: HandlerRows, table: PgTable, values: Row): Promise<Row> {
  checkUse(store);
  const known = knownRows(store, table);
  const text = known.shape.keyOf(values);
  const change = known.changes.get(text);
  if (change === undefined ? known.rows.get(text) : change.row)
    throw new NonRetryableUserError(`${known.shape.name} already has a row with the key ${text}.`);
  const row = put(known, text, values);
  if (!known.isRead && known.changes.size >= rowsOfCopy) copyAhead(store, known);
  return row;
}

function checkUse({ isProcessingEvents }: HandlerRows): void {
  if (isProcessingEvents) return;
  throw new NonRetryableUserError(
    "A handler used the store after it had returned; a promise was not awaited.",
  );
}

function replace(known: KnownRows, text: string, before: Row, set: Set): Row {
  const row = known.shape.changed(before, typeof set === "function" ? set(before) : set);
  changeRow(known, text, { before, row, key: row, isStored: true });
  return row;
}

function put(known: KnownRows, text: string, values: Row): Row {
  const row = known.shape.stored(values);
  changeRow(known, text, { before: null, row, key: row, isStored: false });
  return row;
}

// --- Rows in memory ---

/** The rows of a table. Throws if the schema lacks it. */
export function knownRows({ tables }: HandlerRows, table: PgTable): KnownRows {
  const known = tables.get(table);
  if (known === undefined) throw new NonRetryableUserError("Handlers can use the tables of the schema only.");
  return known;
}

/** Begins a transaction. If the last one was not committed, all rows are forgotten. */
function begin(store: HandlerRows, transaction: Connection): void {
  if (transaction !== store.connection && store.isUncertain) forget(store);
  store.connection = transaction;
}

/** Called once flushed rows are committed. Makes room for more rows. */
function settle(store: HandlerRows): void {
  store.isUncertain = false;
  const bytes = [...store.tables.values()].reduce((sum, known) => sum + estimateBytes(known), 0);
  if (bytes <= store.maxBytes) return;
  for (const known of store.tables.values()) {
    open(known);
    known.older = known.rows;
    known.rows = new Map();
  }
}

/** Forgets all rows and changes, but keeps the filters of keys. */
function forget(store: HandlerRows): void {
  store.isUncertain = false;
  store.ahead = [];
  for (const known of store.tables.values()) {
    open(known);
    known.changes = new Map();
    known.former = [];
    known.latest = { block: "", keys: new Set() };
    known.rows = new Map();
    known.older = new Map();
  }
}

/** Reads rows by key from the database, so that `peek` returns them. */
async function load(store: HandlerRows, known: KnownRows, wanted: ReadonlyMap<string, Row>): Promise<void> {
  const { rows, shape } = known;
  // Postgres would refuse the read after a refused copy, without its reason.
  await Promise.all(store.ahead);
  const stored = await loadRows(requireConnection(store), shape, [...wanted.values()]);
  // Handlers see no row without a label that is known by now, so they write none either.
  const found = (await shared().healRows?.(shape.name, stored)) ?? stored;
  known.absent += wanted.size - found.length;
  for (const key of wanted.keys()) rows.set(key, null);
  for (const row of found) rows.set(shape.keyOf(row), row);
}

// A key costs a fiftieth of a lookup when all keys are read.
const [fewestAbsent, askedShare] = [100, 50];

/**
 * Reads all keys of a table once failed lookups have cost as much as a full scan, as after a restart in a backfill. No
 * row may change meanwhile.
 */
async function learnKeys({ tables, connection }: HandlerRows): Promise<void> {
  for (const known of tables.values()) {
    const { shape, absent } = known;
    if (connection === undefined || known.keys !== undefined || absent < fewestAbsent) continue;
    if (absent * askedShare < (await countRows(connection, shape))) continue;
    const keys = createKeyFilter();
    for await (const row of readKeys(connection, shape)) keys.add(shape.keyOf(row));
    known.keys = keys;
  }
}

/**
 * Begins to copy the rows of a table that handlers only insert into, in the transaction of the batch, so that Postgres
 * works while handlers go on. The connection keeps the order: a later read sees the rows, a rollback takes them away.
 */
function copyAhead(store: HandlerRows, known: KnownRows): void {
  const { shape, written } = known;
  if (store.connection === undefined) return;
  const rows = sortChanges(known).inserted;
  const text = shape.copyText(rows);
  store.isUncertain = true;
  const copied = loadCopy(store.connection)(shape.table, text).catch((error) => {
    throw explainError(known, error);
  });
  // The flush throws it.
  copied.catch(() => undefined);
  store.ahead.push(copied);
  written.rows += rows.length;
  written.characters += text.length;
  keepChanges(known);
}

/** Writes all changes. Rejects with the database's error if it refuses one. */
async function flush(store: HandlerRows): Promise<void> {
  await Promise.all(store.ahead.splice(0));
  const changed = [...store.tables.values()].filter(({ changes }) => changes.size > 0);
  if (changed.length === 0) return;
  store.isUncertain = true;
  await writeAll(requireConnection(store), changed);
  for (const known of changed) keepChanges(known);
}

function requireConnection({ connection }: HandlerRows): Connection {
  if (connection === undefined) throw new Error("The database is used before Ponder has connected.");
  return connection;
}

/** The row with a key, null if there is none, undefined if only the database knows. */
function peek(known: KnownRows, key: string): Row | null | undefined {
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

/** Changes a row; `text` is its key. `isStored` matters only in the first change after a flush. */
export function changeRow(
  known: KnownRows,
  text: string,
  { before, ...change }: Change & { before: Row | null },
): void {
  keepFormer(known, text, { row: before, key: change.key });
  const changed = known.changes.get(text);
  if (changed !== undefined) changed.row = change.row;
  else known.changes.set(text, change);
  if (!change.isStored && known.keys !== undefined) known.keys.add(text);
}

// Keeps the row for reads of the past (src/operations/past.ts).
function keepFormer(known: KnownRows, text: string, former: { row: Row | null; key: Row }): void {
  const { block } = known.clock;
  const past = shared().past;
  if (block === undefined || past === undefined || !past.tables.has(known.shape.name)) return;
  if (Number(block.slice(0, 10)) <= past.from) return;
  if (known.latest.block !== block) known.latest = { block, keys: new globalThis.Set() };
  if (known.latest.keys.has(text)) return;
  known.latest.keys.add(text);
  known.former.push({ ...former, until: block });
}

async function writeAll(connection: Connection, changed: KnownRows[]): Promise<void> {
  const write = async (known: KnownRows) => {
    const { rows, characters } = await writeChanges(connection, known.shape, sortChanges(known)).catch(
      (error) => {
        throw explainError(known, error);
      },
    );
    known.written.rows += rows;
    known.written.characters += characters;
    await writeFormer(connection, known);
  };
  // All writes end before an error is thrown: they share the connection.
  const results = await Promise.allSettled(changed.map(write));
  const failed = results.find((result) => result.status === "rejected");
  if (failed !== undefined) throw failed.reason;
}

function createRows(shape: TableShape, clock: EventBlock, isEmpty: boolean): KnownRows {
  return {
    ...{ shape, clock },
    changes: new Map(),
    rows: new Map(),
    older: new Map(),
    isComplete: isEmpty,
    keys: undefined,
    isRead: false,
    former: [],
    latest: { block: "", keys: new Set() },
    absent: 0,
    written: { rows: 0, characters: 0 },
  };
}

// Allows rows of the table to be dropped.
function open(known: KnownRows): void {
  if (!known.isComplete) return;
  known.isComplete = false;
  if (!known.isRead) return;
  known.keys = createKeyFilter();
  for (const rows of [known.rows, known.changes]) for (const key of rows.keys()) known.keys.add(key);
}

function estimateBytes({ rows, older, written }: KnownRows): number {
  const characters = written.rows === 0 ? 0 : written.characters / written.rows;
  return (rows.size + older.size) * (bytesBesideText + characters);
}

function sortChanges({ changes }: KnownRows): TableChanges {
  const result: TableChanges = { inserted: [], updated: [], deleted: [] };
  for (const { row, key, isStored } of changes.values()) {
    if (row !== null) (isStored ? result.updated : result.inserted).push(row);
    else if (isStored) result.deleted.push(key);
  }
  return result;
}

// Moves written changes to the rows that the database has.
function keepChanges(known: KnownRows): void {
  const { changes, rows, older } = known;
  known.changes = new Map();
  // Rows that no handler reads, such as those of events, are not kept.
  if (!known.isRead) known.isComplete = false;
  if (!known.isRead) return;
  for (const [key, { row }] of changes) {
    rows.set(key, row);
    if (older.size > 0) older.delete(key);
  }
}

// A retry does not help if Postgres refuses values. ponder: its errors have the message only.
function explainError({ shape }: KnownRows, error: Error): Error {
  const isOfValues = /violates|out of range|invalid input|too long/.test(error.message);
  return isOfValues ? new NonRetryableUserError(`${shape.name}: ${error.message}`) : error;
}

/** Ponder's connection, or a transaction on it. */
export type Connection = {
  $dialect: string;
  wrap<Result>(
    query: (db: PgDatabase<PgQueryResultHKT, Record<string, unknown>>) => PromiseLike<Result>,
  ): Promise<Result>;
};

/** Rows to insert, rows to replace by key, and keys of rows to delete. */
type TableChanges = { inserted: Row[]; updated: Row[]; deleted: Row[] };

type Copy = (table: PgTable, text: string, isInSchema?: boolean) => Promise<void>;
type Helpers = { getCopyHelper(connection: Connection): Copy };

// Up to this many rows, a statement with values is faster than COPY.
const fewRows = 20;
const rowsOfStatement = 1_000;
// Rows of a copy that does not wait for the end of the batch.
const rowsOfCopy = 2_000;
const keysOfStatement = 20_000;

const loadCopy = (connection: Connection): Copy =>
  moduleOfPonder<Helpers>("indexing-store/cache.js", "getCopyHelper").getCopyHelper(connection);

/** The rows with the given keys, as far as they exist. */
async function loadRows(connection: Connection, shape: TableShape, keys: Row[]): Promise<Row[]> {
  const found = await Promise.all(
    splitRows(keys).map((piece) =>
      connection.wrap((db) => db.select().from(shape.table).where(buildKeyCondition(shape, piece))),
    ),
  );
  return found.flat();
}

/** The planner's estimate of a table's number of rows; 0 without statistics. */
async function countRows(connection: Connection, { schema, name }: TableShape): Promise<number> {
  const table = `"${schema}"."${name}"`;
  const { rows } = (await connection.wrap((db) =>
    db.execute(`SELECT reltuples FROM pg_class WHERE oid = '${table}'::regclass`),
  )) as unknown as { rows: { reltuples: number }[] };
  return Math.max(0, Number(rows[0]?.reltuples));
}

/** The keys of all rows of a table. */
async function* readKeys(connection: Connection, { table, keys }: TableShape): AsyncGenerator<Row> {
  const columns = keys.map(({ column }) => column);
  const selected = Object.fromEntries(keys.map(({ property, column }) => [property, column]));
  const beyond = (last: Row) => {
    const values = keys.map(({ property, column }) => sql.param(last[property], column));
    return sql`(${sql.join(columns, sql`, `)}) > (${sql.join(values, sql`, `)})`;
  };
  for (let last: Row | undefined; ; ) {
    const after = last && beyond(last);
    const rows: Row[] = await connection.wrap((db) =>
      db
        .select(selected)
        .from(table)
        .where(after)
        .orderBy(...columns)
        .limit(keysOfStatement),
    );
    yield* rows;
    if (rows.length < keysOfStatement) return;
    last = rows.at(-1);
  }
}

/** Writes a table's changes. Returns the number of copied rows and the length of their texts. */
async function writeChanges(
  connection: Connection,
  shape: TableShape,
  { inserted, updated, deleted }: TableChanges,
): Promise<{ rows: number; characters: number }> {
  const { table } = shape;
  const copied = { rows: 0, characters: 0 };
  const copyRows = async (rows: Row[], isInSchema?: boolean) => {
    const text = shape.copyText(rows);
    copied.rows += rows.length;
    copied.characters += text.length;
    await yielding();
    await loadCopy(connection)(table, text, isInSchema);
  };
  for (const piece of splitRows(deleted))
    await connection.wrap((db) => db.delete(table).where(buildKeyCondition(shape, piece)));
  if (inserted.length > fewRows) await copyRows(inserted);
  else if (inserted.length > 0) await connection.wrap((db) => db.insert(table).values(inserted));
  if (updated.length > fewRows) await replaceRows(connection, shape, () => copyRows(updated, false));
  else if (updated.length > 0) await upsertRows(connection, shape, updated);
  return copied;
}

// Copies rows as they were before their changes into the table of `src/operations/past.ts`. A row that did not exist
// has its key only.
async function writeFormer(connection: Connection, known: KnownRows): Promise<void> {
  const { shape, former } = known;
  const past = shared().past;
  if (past === undefined || former.length === 0) return;
  known.former = [];
  const keyOf = (row: Row) => Object.fromEntries(shape.keys.map(({ property }) => [property, row[property]]));
  const lines = former.map(
    ({ row, key, until }) => `${shape.copyText([row ?? keyOf(key)])}\t${row !== null}\t${until}`,
  );
  await loadCopy(connection)(pgSchema(past.schema).table(`${shape.name}_versions`, {}), lines.join("\n"));
}

// Uses a temporary table of the same name, which lasts as long as the connection.
async function replaceRows(
  connection: Connection,
  shape: TableShape,
  copyRows: () => Promise<void>,
): Promise<void> {
  const { name } = shape;
  const target = `"${shape.schema}"."${name}"`;
  const run = (text: string) => connection.wrap((db) => db.execute(text));
  await run(`CREATE TEMP TABLE IF NOT EXISTS "${name}" AS SELECT * FROM ${target} WITH NO DATA`);
  await copyRows();
  const isSame = shape.keys.map(({ name }) => `target."${name}" = source."${name}"`);
  const set = shape.columns
    .filter((column) => !shape.keys.includes(column))
    .map(({ name }) => `"${name}" = source."${name}"`);
  await run(
    `UPDATE ${target} AS target SET ${set.join(", ")} FROM "${name}" AS source WHERE ${isSame.join(" AND ")}`,
  );
  await run(`TRUNCATE TABLE "${name}"`);
}

async function upsertRows(connection: Connection, shape: TableShape, rows: Row[]): Promise<void> {
  await connection.wrap((db) =>
    db
      .insert(shape.table)
      .values(rows)
      .onConflictDoUpdate({
        target: shape.keys.map(({ column }) => column),
        set: Object.fromEntries(
          shape.columns.map(({ property, name }) => [property, sql.raw(`excluded."${name}"`)]),
        ),
      }),
  );
}

function buildKeyCondition({ keys }: TableShape, rows: Row[]): SQL | undefined {
  const [only] = keys;
  const values = only && keys.length === 1 && rows.map((row) => row[only.property]);
  if (only && values) return inArray(only.column, values);
  return or(...rows.map((row) => and(...keys.map(({ column, property }) => eq(column, row[property])))));
}

function splitRows(rows: Row[]): Row[][] {
  const pieces: Row[][] = [];
  for (let from = 0; from < rows.length; from += rowsOfStatement)
    pieces.push(rows.slice(from, from + rowsOfStatement));
  return pieces;
}
