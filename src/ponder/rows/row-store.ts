import { isTable } from "drizzle-orm";
import type { PgTable } from "drizzle-orm/pg-core";
import { shared } from "../shared.ts";
import { endingOnTypeErrors, NonRetryableUserError, RecordNotFoundError, RetryableError } from "./errors.ts";
import { createPredictions, type Predictions, type StoreEvent } from "./predictions.ts";
import {
  begin,
  changeRow,
  createRowCache,
  flush,
  forget,
  type KnownRows,
  learnKeys,
  load,
  peek,
  type RowCache,
  rowsOf,
  settle,
} from "./row-cache.ts";
import type { Connection } from "./row-statements.ts";
import type { Row } from "./table-shape.ts";

// In place of Ponder's store and its cache (cli/preload.mjs). Ponder's takes a lock, four promises and a proxy for each access,
// copies rows deeply, writes a row that was inserted and changed in a batch twice, and drops whole tables when its memory is
// full. Handlers must not change the rows that they get.

type Set = Row | ((before: Row) => Row);
type Given = {
  common: { options: { indexingCacheMaxBytes: number } };
  schemaBuild: { schema: Readonly<Record<string, unknown>> };
  chainId?: number;
};
type ErrorHandler = { setRetryableError(error: Error): void };

/** What store and cache share. */
type State = {
  cache: RowCache;
  predictions: Predictions;
  /** The event that is handled, if its uses are to be seen. */
  sample: StoreEvent | undefined;
  isProcessingEvents: boolean;
};
type StoreState = State & { errors: ErrorHandler };

/** What Ponder's loops over the events use, in place of its function of this name, and the state for the store. */
export function createIndexingCache({
  common,
  schemaBuild,
  crashRecoveryCheckpoint,
  eventCount,
  chainId,
}: Given & { crashRecoveryCheckpoint?: unknown; eventCount: Record<string, number> }) {
  if (chainId !== undefined)
    throw new NonRetryableUserError('The ordering "experimental_isolated" is not supported.');
  const tables = Object.values(schemaBuild.schema).filter((one): one is PgTable => isTable(one));
  const cache = createRowCache(tables, {
    maxBytes: common.options.indexingCacheMaxBytes,
    isEmpty: crashRecoveryCheckpoint === undefined,
  });
  const predictions = createPredictions(tables, eventCount);
  const state: State = { cache, predictions, sample: undefined, isProcessingEvents: true };
  // ponder: clears the cache after errors, where handlers had not finished, and at the end of the backfill, where all is flushed.
  let [isFlushed, isBackfill] = [true, true];
  return endingOnTypeErrors({
    state,

    set qb(connection: Connection) {
      cache.connection = connection;
    },

    set event(event: StoreEvent) {
      state.sample = predictions.isSample(event) ? event : undefined;
    },

    async flush(): Promise<void> {
      await flush(cache);
      isFlushed = true;
    },

    async prefetch({ events }: { events: readonly StoreEvent[] }): Promise<void> {
      settle(cache);
      isFlushed = false;
      if (isBackfill) await learnKeys(cache);
      await Promise.all([loadExpected(state, events), shared().prefetch?.(events)]);
    },

    // ponder: calls it beside `clear` wherever rows may have changed in the database.
    invalidate(): void {},

    clear(): void {
      // A reorganization may bring rows back: their keys are not learned any more.
      if (isFlushed) isBackfill = false;
      forget(cache);
    },
  });
}

async function loadExpected({ cache, predictions }: State, events: readonly StoreEvent[]): Promise<void> {
  const loads: Promise<void>[] = [];
  for (const known of cache.tables.values()) {
    if (known.isComplete || !known.isRead) continue;
    const wanted = new Map<string, Row>();
    for (const key of predictions.keysOf(events, known.shape.table)) {
      const text = known.shape.keyOf(key);
      if (peek(known, text) === undefined) wanted.set(text, key);
    }
    if (wanted.size > 0) loads.push(load(cache, known, wanted));
  }
  await Promise.all(loads);
}

/** The store of handlers, in place of Ponder's function of this name; gets what createIndexingCache returned. */
export function createIndexingStore({
  indexingCache,
  indexingErrorHandler,
}: {
  indexingCache: { state: State };
  indexingErrorHandler: ErrorHandler;
}) {
  const store: StoreState = Object.assign(indexingCache.state, { errors: indexingErrorHandler });
  return {
    /** `context.db` of handlers. */
    db: {
      find: (table: PgTable, key: Row) => find(store, table, key),
      insert: (table: PgTable) => ({ values: (values: Row | Row[]) => insertion(store, table, values) }),
      update: (table: PgTable, key: Row) => ({ set: (set: Set) => update(store, table, key, set) }),
      delete: (table: PgTable, key: Row) => remove(store, table, key),
    },

    set qb(connection: Connection) {
      begin(store.cache, connection);
    },

    set isProcessingEvents(value: boolean) {
      store.isProcessingEvents = value;
    },
  };
}

// Acts on the row with a key, null if there is none; `act` throws or changes it at once.
async function onRow<T>(
  store: StoreState,
  table: PgTable,
  key: Row,
  act: (before: Row | null, known: KnownRows, text: string) => T,
): Promise<T> {
  checkUse(store);
  const known = rowsOf(store.cache, table);
  const text = known.shape.keyOf(key);
  if (store.sample !== undefined) store.predictions.see(store.sample, table, key);
  let before = peek(known, text);
  if (before === undefined) {
    await loadRow(store, known, text, key);
    before = current(known, text);
  }
  return act(before, known, text);
}

async function loadRow(store: StoreState, known: KnownRows, text: string, key: Row): Promise<void> {
  try {
    await load(store.cache, known, new Map([[text, key]]));
    checkUse(store);
    current(known, text);
  } catch (error) {
    if (error instanceof RetryableError) store.errors.setRetryableError(error);
    throw error;
  }
}

// The row now: another use of the store may have changed it since it was loaded.
function current(known: KnownRows, text: string): Row | null {
  const row = peek(known, text);
  if (row !== undefined) return row;
  throw new RetryableError(`Rows of ${known.shape.name} were forgotten while they were read.`);
}

const find = (store: StoreState, table: PgTable, key: Row) => onRow(store, table, key, (row) => row);

const update = (store: StoreState, table: PgTable, key: Row, set: Set): Promise<Row> =>
  onRow(store, table, key, (before, known, text) => {
    if (before !== null) return replace(known, text, before, set);
    throw new RecordNotFoundError(`${known.shape.name} has no row with the key ${text}.`);
  });

const remove = (store: StoreState, table: PgTable, key: Row): Promise<boolean> =>
  onRow(store, table, key, (before, known, text) => {
    if (before !== null) changeRow(known, text, { row: null, key, isStored: true });
    return before !== null;
  });

// Where there is a row, changes that by `set`, or without `set` returns null.
const upsert = (store: StoreState, table: PgTable, values: Row, set: Set | undefined): Promise<Row | null> =>
  onRow(store, table, values, (before, known, text) => {
    if (before === null) return put(known, text, values);
    return set === undefined ? null : replace(known, text, before, set);
  });

// Nothing is inserted before the handler has chosen what a conflict does, or awaits the result.
const insertion = (store: StoreState, table: PgTable, values: Row | Row[]) => ({
  onConflictDoNothing: () => each(values, (row) => upsert(store, table, row, undefined)),
  onConflictDoUpdate: (set: Set) => each(values, (row) => upsert(store, table, row, set)),
  // biome-ignore lint/suspicious/noThenProperty: a handler awaits an insertion as it is, as with Ponder's store.
  then: <A, B>(
    fulfilled: (row: Row | null | (Row | null)[]) => A | PromiseLike<A>,
    rejected: (error: unknown) => B | PromiseLike<B>,
  ) => each(values, (row) => insertNew(store, table, row)).then(fulfilled, rejected),
});

const each = (
  values: Row | Row[],
  insert: (row: Row) => Promise<Row | null>,
): Promise<Row | null | (Row | null)[]> =>
  Array.isArray(values) ? Promise.all(values.map(insert)) : insert(values);

// Without a look at the database, which refuses a row that it has.
async function insertNew(store: StoreState, table: PgTable, values: Row): Promise<Row> {
  checkUse(store);
  const known = rowsOf(store.cache, table);
  const text = known.shape.keyOf(values);
  const change = known.changes.get(text);
  if (change === undefined ? known.rows.get(text) : change.row)
    throw new NonRetryableUserError(`${known.shape.name} already has a row with the key ${text}.`);
  return put(known, text, values);
}

function checkUse({ isProcessingEvents }: StoreState): void {
  if (isProcessingEvents) return;
  throw new NonRetryableUserError(
    "A handler used the store after it had returned; a promise was not awaited.",
  );
}

function replace(known: KnownRows, text: string, before: Row, set: Set): Row {
  const row = known.shape.changed(before, typeof set === "function" ? set(before) : set);
  changeRow(known, text, { row, key: row, isStored: true });
  return row;
}

function put(known: KnownRows, text: string, values: Row): Row {
  const row = known.shape.stored(values);
  changeRow(known, text, { row, key: row, isStored: false });
  return row;
}
