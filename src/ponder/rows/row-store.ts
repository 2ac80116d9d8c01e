import { isTable } from "drizzle-orm";
import type { PgTable } from "drizzle-orm/pg-core";
import { NonRetryableUserError, RecordNotFoundError, RetryableError } from "./errors.ts";
import { storeMarker } from "./marker.ts";
import { Predictions, type StoreEvent } from "./predictions.ts";
import { type KnownRows, noUses, RowCache } from "./row-cache.ts";
import type { Connection } from "./row-statements.ts";
import type { Row } from "./table-shape.ts";

// In place of Ponder's store and its cache (scripts/preload.mjs). Ponder's takes a lock, four promises and a proxy for each access,
// copies rows deeply, writes a row that was inserted and changed in a batch twice, and drops whole tables when its memory is
// full. Rules must not change the rows that they get.

type Set = Row | ((before: Row) => Row);
type Metrics = {
  incrementIndexingStoreQueries(table: string, method: string, value: number): void;
  incrementIndexingCacheRequests(table: string, type: string, value: number): void;
};
Reflect.set(globalThis, storeMarker, true);

const methods = ["find", "insert", "update", "delete"] as const;
const outcomes = ["complete", "hit", "miss"] as const;

type Given = {
  common: { metrics: Metrics; options: { indexingCacheMaxBytes: number } };
  schemaBuild: { schema: Readonly<Record<string, unknown>> };
  chainId?: number;
};
type ErrorHandler = { setRetryableError(error: Error): void };

/** As Ponder's function of this name. */
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
  const cache = new RowCache(tables, {
    maxBytes: common.options.indexingCacheMaxBytes,
    isEmpty: crashRecoveryCheckpoint === undefined,
  });
  return new StoreCache(cache, new Predictions(tables, eventCount), common.metrics);
}

/** As Ponder's function of this name; gets what createIndexingCache returned. */
export function createIndexingStore({
  indexingCache,
  indexingErrorHandler,
}: {
  indexingCache: StoreCache;
  indexingErrorHandler: ErrorHandler;
}) {
  return new Store(indexingCache, indexingErrorHandler);
}

// What Ponder's loops over the events use of its cache.
class StoreCache {
  readonly rows: RowCache;
  readonly #predictions: Predictions;
  readonly #metrics: Metrics;
  #sample: StoreEvent | undefined;

  constructor(rows: RowCache, predictions: Predictions, metrics: Metrics) {
    this.rows = rows;
    this.#predictions = predictions;
    this.#metrics = metrics;
  }

  set qb(connection: Connection) {
    this.rows.connection = connection;
  }

  set event(event: StoreEvent) {
    this.#sample = this.#predictions.isSample(event) ? event : undefined;
  }

  flush(): Promise<void> {
    for (const { shape, uses } of this.rows.all()) {
      for (const use of methods) this.#metrics.incrementIndexingStoreQueries(shape.name, use, uses[use]);
      for (const use of outcomes) this.#metrics.incrementIndexingCacheRequests(shape.name, use, uses[use]);
      Object.assign(uses, noUses);
    }
    return this.rows.flush();
  }

  async prefetch({ events }: { events: readonly StoreEvent[] }): Promise<void> {
    this.rows.settle();
    const loads: Promise<void>[] = [];
    for (const known of this.rows.all()) {
      if (known.isComplete || !known.isRead) continue;
      const { name, table } = known.shape;
      const wanted = new Map<string, Row>();
      for (const key of this.#predictions.keysOf(events, table)) {
        const text = known.shape.keyOf(key);
        if (this.rows.peek(known, text) === undefined) wanted.set(text, key);
      }
      if (wanted.size === 0) continue;
      this.#metrics.incrementIndexingCacheRequests(name, "prefetch", wanted.size);
      loads.push(this.rows.load(known, wanted));
    }
    await Promise.all(loads);
  }

  invalidate(): void {}

  clear(): void {
    this.rows.forget();
  }

  /** The row with a key, null if there is none, undefined if it must be loaded first. `text`: the key as one text. */
  find(known: KnownRows, text: string, key: Row): Row | null | undefined {
    if (this.#sample !== undefined) this.#predictions.see(this.#sample, known.shape.table, key);
    const row = this.rows.peek(known, text);
    known.uses[known.isComplete ? "complete" : row === undefined ? "miss" : "hit"]++;
    return row;
  }
}

class Store {
  /** `context.db` of the rules. */
  readonly db = {
    find: (table: PgTable, key: Row) => this.find(table, key),
    insert: (table: PgTable) => ({ values: (values: Row | Row[]) => new Insertion(this, table, values) }),
    update: (table: PgTable, key: Row) => ({ set: (set: Set) => this.update(table, key, set) }),
    delete: (table: PgTable, key: Row) => this.delete(table, key),
  };
  isProcessingEvents = true;
  readonly #cache: StoreCache;
  readonly #rows: RowCache;
  readonly #errors: ErrorHandler;

  constructor(cache: StoreCache, errors: ErrorHandler) {
    this.#cache = cache;
    this.#rows = cache.rows;
    this.#errors = errors;
  }

  set qb(connection: Connection) {
    this.#rows.begin(connection);
  }

  async find(table: PgTable, key: Row): Promise<Row | null> {
    const known = this.#counted(table, "find");
    const text = known.shape.keyOf(key);
    const row = this.#cache.find(known, text, key);
    return row === undefined ? this.#loaded(known, text, key) : row;
  }

  async update(table: PgTable, key: Row, set: Set): Promise<Row> {
    const known = this.#counted(table, "update");
    const text = known.shape.keyOf(key);
    let before = this.#cache.find(known, text, key);
    if (before === undefined) {
      await this.#loaded(known, text, key);
      before = this.#current(known, text);
    }
    if (before === null)
      throw new RecordNotFoundError(`${known.shape.name} has no row with the key ${text}.`);
    return this.#replace(known, text, before, set);
  }

  async delete(table: PgTable, key: Row): Promise<boolean> {
    const known = this.#counted(table, "delete");
    const text = known.shape.keyOf(key);
    let before = this.#cache.find(known, text, key);
    if (before === undefined) {
      await this.#loaded(known, text, key);
      before = this.#current(known, text);
    }
    if (before !== null) this.#rows.change(known, text, { row: null, key, isStored: true });
    return before !== null;
  }

  /** Inserts a row without a look at the database, which refuses a row that it has. */
  async insertNew(table: PgTable, values: Row): Promise<Row> {
    const known = this.#counted(table, "insert");
    const text = known.shape.keyOf(values);
    const change = known.changes.get(text);
    if (change === undefined ? known.rows.get(text) : change.row)
      throw new NonRetryableUserError(`${known.shape.name} already has a row with the key ${text}.`);
    return this.#put(known, text, values);
  }

  /** Inserts a row; where there is one, changes that by `set`, or without `set` returns null. */
  async upsert(table: PgTable, values: Row, set: Set | undefined): Promise<Row | null> {
    const known = this.#counted(table, "insert");
    const text = known.shape.keyOf(values);
    let before = this.#cache.find(known, text, values);
    if (before === undefined) {
      await this.#loaded(known, text, values);
      before = this.#current(known, text);
    }
    if (before === null) return this.#put(known, text, values);
    return set === undefined ? null : this.#replace(known, text, before, set);
  }

  #counted(table: PgTable, method: (typeof methods)[number]): KnownRows {
    this.#check();
    const known = this.#rows.of(table);
    known.uses[method]++;
    return known;
  }

  #check(): void {
    if (this.isProcessingEvents) return;
    throw new NonRetryableUserError(
      "A rule used the store after it had returned; a promise was not awaited.",
    );
  }

  async #loaded(known: KnownRows, text: string, key: Row): Promise<Row | null> {
    try {
      await this.#rows.load(known, new Map([[text, key]]));
      this.#check();
      return this.#current(known, text);
    } catch (error) {
      if (error instanceof RetryableError) this.#errors.setRetryableError(error);
      throw error;
    }
  }

  // The row now: another use of the store may have changed it since it was loaded.
  #current(known: KnownRows, text: string): Row | null {
    const row = this.#rows.peek(known, text);
    if (row === undefined)
      throw new RetryableError(`Rows of ${known.shape.name} were forgotten while they were read.`);
    return row;
  }

  #replace(known: KnownRows, text: string, before: Row, set: Set): Row {
    const row = known.shape.changed(before, typeof set === "function" ? set(before) : set);
    this.#rows.change(known, text, { row, key: row, isStored: true });
    return row;
  }

  #put(known: KnownRows, text: string, values: Row): Row {
    const row = known.shape.stored(values);
    this.#rows.change(known, text, { row, key: row, isStored: false });
    return row;
  }
}

type Inserted = Row | null | (Row | null)[];

// Nothing is inserted before the rule has chosen what a conflict does, or awaits the result.
class Insertion implements PromiseLike<Inserted> {
  readonly #store: Store;
  readonly #table: PgTable;
  readonly #values: Row | Row[];

  constructor(store: Store, table: PgTable, values: Row | Row[]) {
    this.#store = store;
    this.#table = table;
    this.#values = values;
  }

  onConflictDoNothing(): Promise<Inserted> {
    return this.#each((row) => this.#store.upsert(this.#table, row, undefined));
  }

  onConflictDoUpdate(set: Set): Promise<Inserted> {
    return this.#each((row) => this.#store.upsert(this.#table, row, set));
  }

  // biome-ignore lint/suspicious/noThenProperty: a rule awaits an insertion as it is, as with Ponder's store.
  then<A = Inserted, B = never>(
    fulfilled?: ((row: Inserted) => A | PromiseLike<A>) | null,
    rejected?: ((error: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    return this.#each((row) => this.#store.insertNew(this.#table, row)).then(fulfilled, rejected);
  }

  #each(insert: (row: Row) => Promise<Row | null>): Promise<Inserted> {
    return Array.isArray(this.#values) ? Promise.all(this.#values.map(insert)) : insert(this.#values);
  }
}
