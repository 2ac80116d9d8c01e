import type { Table } from "drizzle-orm";
import type { PgTable } from "drizzle-orm/pg-core";
import * as schema from "../../ponder.schema.ts";
import type { HandlerDatabase } from "../../src/indexing/scope.ts";
import {
  changeRow,
  createIndexingCache,
  createIndexingStore,
  knownRows,
} from "../../src/ponder/rows/row-store.ts";
import type { Row } from "../../src/ponder/rows/table-shape.ts";

const freezing = new WeakSet<object>();

/**
 * The store of handlers without a database: nothing is flushed. Its rows are frozen, since handlers must not change
 * those they get.
 */
export function createMemoryStore() {
  const indexingCache = createIndexingCache({
    common: { options: { indexingCacheMaxBytes: Number.POSITIVE_INFINITY } },
    schemaBuild: { schema },
    eventCount: {},
  });
  const { db } = createIndexingStore({
    indexingCache,
    indexingErrorHandler: {
      setRetryableError(error) {
        throw error;
      },
    },
  });
  const { store } = indexingCache;
  const knownOf = (table: Table) => knownRows(store, table as PgTable);
  for (const { shape } of store.tables.values()) {
    // Stores share the shapes of tables.
    if (freezing.has(shape)) continue;
    freezing.add(shape);
    const { stored, changed } = shape;
    shape.stored = (row) => frozen(stored(row));
    shape.changed = (before, set) => frozen(changed(before, set));
  }
  return {
    db: db as unknown as HandlerDatabase,
    /** Puts a row there as it is. */
    set(table: Table, row: Row): void {
      const known = knownOf(table);
      const key = known.shape.keyOf(row);
      changeRow(known, key, { before: null, row: known.shape.stored(row), key: row, isStored: false });
    },
    rows: (table: Table) =>
      [...knownOf(table).changes.values()].flatMap(({ row }) =>
        row === null ? [] : [row as Record<string, unknown>],
      ),
  };
}

function frozen(row: Row): Row {
  for (const value of Object.values(row)) if (Array.isArray(value)) Object.freeze(value);
  return Object.freeze(row);
}
