import { type Column, getTableColumns, getTableName } from "drizzle-orm";
import { toSnakeCase } from "drizzle-orm/casing";
import { getTableConfig, PgArray, type PgColumn, type PgTable } from "drizzle-orm/pg-core";
import { NonRetryableUserError } from "./errors.ts";

/** A row by property names, as handlers write and read it. */
export type Row = Readonly<Record<string, unknown>>;

/** The columns of a table, and how they convert rows. */
export type TableShape = ReturnType<typeof createShape>;

type ColumnShape = {
  property: string;
  column: PgColumn;
  /** The column's name in the database. */
  name: string;
  stored(value: unknown): unknown;
  text(value: unknown): string;
};

const shapes = new WeakMap<PgTable, TableShape>();

/** The shape of a table. */
export function describeTable(table: PgTable): TableShape {
  const known = shapes.get(table) ?? createShape(table);
  shapes.set(table, known);
  return known;
}

function createShape(table: PgTable) {
  const shaped = Object.entries(getTableColumns(table)).map(([property, column]) =>
    buildColumnShape(property, column),
  );
  const name = getTableName(table);
  for (const { property, column } of shaped)
    if (/Timestamp|Date/.test(column.columnType) || column.onUpdateFn !== undefined)
      throw new NonRetryableUserError(
        `${name}.${property}: columns of type timestamp or date and $onUpdateFn are not supported. Use bigint, and set it in handlers.`,
      );
  const config = getTableConfig(table);
  const composed = config.primaryKeys[0]?.columns.map(({ name }) => name);
  const keys = shaped.filter(({ column }) => composed?.includes(column.name) ?? column.primary);
  const order = ({ column }: ColumnShape) => composed?.indexOf(column.name) ?? 0;
  keys.sort((a, b) => order(a) - order(b));
  const byProperty = new Map(shaped.map((column) => [column.property, column]));
  const [only] = keys;
  return {
    table,
    name,
    schema: config.schema ?? "public",
    /** Columns of the primary key, in its order. */
    keys,
    /** Columns in the order of the table. */
    columns: shaped,
    /** The primary key as one text; equal keys give equal texts. */
    keyOf:
      keys.length === 1 && only !== undefined
        ? (row: Row) => String(only.stored(row[only.property]))
        : // Texts hold no NUL.
          (row: Row) => keys.map(({ property, stored }) => String(stored(row[property]))).join("\0"),
    /** The row as the database returns it, with defaults and nulls. Throws if a NOT NULL column is null. */
    stored(row: Row): Row {
      const result: Record<string, unknown> = { ...row };
      for (const { property, column, stored } of shaped) {
        const given = result[property];
        const value = stored(given);
        if (value === null && column.notNull)
          throw new NonRetryableUserError(`The row for ${name} has no ${property}, which must not be null.`);
        if (value !== given) result[property] = value;
      }
      return result;
    },
    /** The row with these properties changed; undefined ones stay. Throws if its key would change. */
    changed(before: Row, set: Row): Row {
      const result: Record<string, unknown> = { ...before };
      for (const property of Object.keys(set)) {
        const [value, column] = [set[property], byProperty.get(property)];
        if (value !== undefined && column !== undefined) result[property] = column.stored(value);
      }
      for (const { property } of keys) {
        if (result[property] !== before[property])
          throw new NonRetryableUserError(
            `An update of ${name} must not change ${property}, which is part of its key.`,
          );
      }
      return result;
    },
    /** The stored rows in the text form of COPY. */
    copyText: (rows: readonly Row[]) => rows.map((row) => encodeLine(shaped, row)).join("\n"),
  };
}

function encodeLine(shaped: readonly ColumnShape[], row: Row): string {
  let line = "";
  let gap = "";
  for (const { property, text } of shaped) {
    const value = row[property];
    line += gap + (value === null || value === undefined ? "\\N" : text(value));
    gap = "\t";
  }
  return line;
}

// ponder: columns without a name of their own get one in snake case.
const readColumnName = (column: Column): string =>
  "keyAsName" in column && column.keyAsName ? toSnakeCase(column.name) : column.name;

function buildColumnShape(property: string, column: PgColumn): ColumnShape {
  const stored = createConverter(column);
  return {
    property,
    column,
    name: readColumnName(column),
    stored: (value) => {
      if (value === undefined) return computeDefault(column);
      return value === null ? null : stored(value);
    },
    text: createEncoder(column),
  };
}

function computeDefault(column: Column): unknown {
  if (column.default !== undefined) return column.default;
  return column.defaultFn?.() ?? null;
}

// `bytes` of src/schema/columns.ts: hex in rows.
const isHexOfBytes = (column: Column) => column.dataType === "string" && column.getSQLType() === "bytea";

// Returns a value as the database does.
function createConverter(column: Column): (value: unknown) => unknown {
  if (column instanceof PgArray) {
    const item = createConverter(column.baseColumn as Column);
    return (value) => (value as unknown[]).map(item);
  }
  const throughDriver = (value: unknown) => column.mapFromDriverValue(column.mapToDriverValue(value));
  if (["bigint", "number", "boolean"].includes(column.dataType))
    return (value) => (typeof value === column.dataType ? value : throughDriver(value));
  if (isHexOfBytes(column)) return (value) => String(value).toLowerCase();
  // ponder: its texts lose their NULs on the way, with a message.
  if (column.columnType === "PgText")
    return (value) => (typeof value === "string" && !value.includes("\0") ? value : throughDriver(value));
  return throughDriver;
}

const special = /[\\\b\f\n\r\t\v]/;
const eachSpecial = /[\\\b\f\n\r\t\v]/g;
const escapeText = (text: string) => (special.test(text) ? text.replace(eachSpecial, "\\$&") : text);

// The text of a stored value for COPY.
function createEncoder(column: Column): (value: unknown) => string {
  if (column instanceof PgArray || !["string", "number", "bigint", "boolean"].includes(column.dataType))
    return (value) => encodeValue(column.mapToDriverValue(value));
  if (isHexOfBytes(column)) return (value) => `\\\\x${String(value).slice(2)}`;
  return column.dataType === "string" && column.columnType !== "PgHex"
    ? (value) => escapeText(String(value))
    : (value) => String(value);
}

const encodeValue = (value: unknown): string =>
  Buffer.isBuffer(value) ? `\\\\x${value.toString("hex")}` : escapeText(String(value));
