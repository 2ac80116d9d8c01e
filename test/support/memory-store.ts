import type { Table } from "drizzle-orm";
import type { PgTable } from "drizzle-orm/pg-core";
import * as schema from "../../ponder.schema.ts";
import type { Database } from "../../src/indexing/scope.ts";
import { createIndexingCache, createIndexingStore } from "../../src/ponder/rows/row-store.ts";
import type { Row } from "../../src/ponder/rows/table-shape.ts";

const unmeasured = { incrementIndexingStoreQueries() {}, incrementIndexingCacheRequests() {} };

/** The store of the rules without a database: nothing is flushed. Its rows are frozen, since rules must not change those they get. */
export function createMemoryStore() {
  const indexingCache = createIndexingCache({
    common: { metrics: unmeasured, options: { indexingCacheMaxBytes: Number.POSITIVE_INFINITY } },
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
  const { rows } = indexingCache;
  const change = rows.change.bind(rows);
  rows.change = (known, text, changed) => change(known, text, { ...changed, row: frozen(changed.row) });

  const knownOf = (table: Table) => rows.of(table as PgTable);
  return {
    db: db as unknown as Database,
    /** Puts a row there as it is. */
    set(table: Table, row: Row): void {
      const known = knownOf(table);
      rows.change(known, known.shape.keyOf(row), { row: known.shape.stored(row), key: row, isStored: false });
    },
    rows: (table: Table) =>
      [...knownOf(table).changes.values()].flatMap(({ row }) =>
        row === null ? [] : [row as Record<string, unknown>],
      ),
  };
}

function frozen(row: Row | null): Row | null {
  for (const value of Object.values(row ?? {})) if (Array.isArray(value)) Object.freeze(value);
  return row && Object.freeze(row);
}
