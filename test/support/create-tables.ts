import { is, Table } from "drizzle-orm";
import { getTableConfig, type PgTable } from "drizzle-orm/pg-core";
import * as schema from "../../ponder.schema.ts";
import { indexStatement } from "../../src/operations/indexes.ts";
import { reachedFunction } from "../../src/read/names/v2-walk.ts";
import { tableIndexes } from "../../src/schema/indexes.ts";

/** The tables of the schema by their SQL names. */
export const tables = new Map(
  Object.values(schema)
    .filter((table): table is typeof table & PgTable => is(table, Table))
    .map((table) => [getTableConfig(table).name, table as PgTable]),
);

const statusTable =
  "CREATE UNLOGGED TABLE _indexing_status (id text PRIMARY KEY, snapshot json NOT NULL, saved_at timestamptz NOT NULL)";

/**
 * CREATE statements for the schema's tables, their function, its statuses, and the tables that Ponder adds to them: an
 * index whose backfill is complete. Unlogged: no test outlives a crash of its server.
 */
export function tableStatements(schema = "public"): string[] {
  const create = [...tables.values()].map((table) => {
    const { name, columns, primaryKeys } = getTableConfig(table);
    const keys = primaryKeys.map(
      (key) => `PRIMARY KEY (${key.columns.map((column) => sqlName(column)).join(", ")})`,
    );
    const lines = columns.map((column) =>
      [
        sqlName(column),
        column.getSQLType(),
        column.primary ? "PRIMARY KEY" : column.notNull ? "NOT NULL" : "",
        // Postgres would take hex in an INSERT for other bytes.
        column.getSQLType() === "bytea" ? `CHECK (octet_length(${sqlName(column)}) = 32)` : "",
      ].join(" "),
    );
    return `CREATE UNLOGGED TABLE ${name} (${[...lines, ...keys].join(", ")})`;
  });
  return [...create, statusTable, ...stateTables({ is_ready: 1 }).split(";"), reachedFunction(schema)];
}

/**
 * A row, by names of columns in SQL, for JSON from which Postgres reads it: bytes are not in the hex of handlers there.
 */
export function jsonRow(table: string, row: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const columns = tables.get(table);
  const ofBytes = columns && getTableConfig(columns).columns.filter((one) => one.getSQLType() === "bytea");
  const names = new Set(ofBytes?.map(sqlName));
  const toJson = ([name, value]: [string, unknown]) =>
    names.has(name) && typeof value === "string" ? [name, value.replace(/^0x/, "\\x")] : [name, value];
  return Object.fromEntries(Object.entries(row).map(toJson));
}

/** SQL for Ponder's tables about an index, with what it says of the index, in the current schema or in this one. */
export function stateTables(app: object, schema?: string): string {
  const own = schema === undefined ? "" : `${schema}.`;
  return `CREATE TABLE ${own}_ponder_meta (key text PRIMARY KEY, value jsonb NOT NULL);
    INSERT INTO ${own}_ponder_meta VALUES ('app', '${JSON.stringify(app)}');
    CREATE TABLE ${own}_ponder_checkpoint (chain_name text PRIMARY KEY, chain_id bigint NOT NULL,
      safe_checkpoint varchar(75), latest_checkpoint varchar(75), finalized_checkpoint varchar(75))`;
}

// Columns without a name of their own take one from their key.
function sqlName(column: { name: string }): string {
  return column.name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** CREATE INDEX statements for the schema's indexes. */
export function indexStatements(schema = "public"): string[] {
  return tableIndexes().map((one) => indexStatement(one, schema).replace("CONCURRENTLY ", ""));
}
