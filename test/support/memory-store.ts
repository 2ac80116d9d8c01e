import { type Column, getTableColumns, type Table } from "drizzle-orm";
import { getTableConfig, type PgTable } from "drizzle-orm/pg-core";
import type { Database } from "../../src/indexing/scope.ts";

type Row = Record<string, unknown>;

/**
 * Stand-in for Ponder's store: finds, inserts, updates and deletes rows by primary key, with Ponder's conversions
 * (absent is null, NULs are dropped). Like Postgres it rejects nulls in NOT NULL columns, and duplicate keys.
 */
export function createMemoryStore() {
  const tables = new Map<Table, Map<string, Row>>();
  const rowsOf = (table: Table) => {
    const rows = tables.get(table) ?? new Map<string, Row>();
    tables.set(table, rows);
    return rows;
  };

  const keyOf = (table: Table, row: Row): string => {
    const { columns, primaryKeys } = getTableConfig(table as PgTable);
    const key = (primaryKeys[0]?.columns ?? columns.filter(({ primary }) => primary)).map(({ name }) => name);
    const names = Object.entries(getTableColumns(table)).filter(([, column]) => key.includes(column.name));
    return names.map(([name]) => String(row[name])).join(" ");
  };

  const converted = (column: Column, value: unknown): unknown => {
    if (value === undefined || value === null) return null;
    if (Array.isArray(value)) return value;
    return column.mapFromDriverValue(column.mapToDriverValue(value));
  };
  const normalized = (table: Table, row: Row): Row => {
    const columns = Object.entries(getTableColumns(table));
    for (const [name, column] of columns) {
      if (column.notNull && (row[name] ?? null) === null) throw new Error(`${name} must not be null`);
    }
    return Object.fromEntries(columns.map(([name, column]) => [name, converted(column, row[name])]));
  };
  const put = (table: Table, row: Row): Row => {
    const stored = normalized(table, row);
    rowsOf(table).set(keyOf(table, stored), stored);
    return { ...stored };
  };
  const find = (table: Table, key: Row) => {
    const row = rowsOf(table).get(keyOf(table, key));
    return row ? { ...row } : null;
  };
  const changed = (before: Row, set: Row | ((row: Row) => Row)): Row => {
    const changes = typeof set === "function" ? set({ ...before }) : set;
    return {
      ...before,
      ...Object.fromEntries(Object.entries(changes).filter(([, value]) => value !== undefined)),
    };
  };

  const db = {
    find: async (table: Table, key: Row) => find(table, key),
    insert: (table: Table) => ({
      values(row: Row) {
        let onConflict = (_: Row): Row | null => {
          throw new Error(`duplicate key ${keyOf(table, row)}`);
        };
        // Inserts after the caller could choose what a conflict does.
        const inserted = Promise.resolve().then(() => {
          const before = find(table, row);
          return before ? onConflict(before) : put(table, row);
        });
        return Object.assign(inserted, {
          onConflictDoNothing() {
            onConflict = () => null;
            return inserted;
          },
          onConflictDoUpdate(set: Row | ((row: Row) => Row)) {
            onConflict = (before) => put(table, changed(before, set));
            return inserted;
          },
        });
      },
    }),
    update: (table: Table, key: Row) => ({
      async set(set: Row | ((row: Row) => Row)) {
        const before = find(table, key);
        if (!before) {
          const error = new Error(`no row ${keyOf(table, key)} to update`);
          throw Object.assign(error, { name: "RecordNotFoundError" });
        }
        return put(table, changed(before, set));
      },
    }),
    delete: async (table: Table, key: Row) => rowsOf(table).delete(keyOf(table, key)),
  };

  return {
    db: db as unknown as Database,
    /** Puts a row there as it is. */
    set: put,
    rows: (table: Table) => [...rowsOf(table).values()],
  };
}
