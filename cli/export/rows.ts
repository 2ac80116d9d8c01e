import { type ColumnType, columnsOfView, type SqlView, sqlOfView } from "../../src/operations/sql-views.ts";
import type { Statement } from "../../src/ponder/sql-client.ts";
import { type Columns, decimalDigits, type FileRow } from "./parquet.ts";
import { readFound } from "./snapshot.ts";

type FileType = Columns[string];

const fileTypes: Record<ColumnType, FileType> = {
  text: "STRING",
  integer: "INT32",
  bigint: "INT64",
  numeric: "DECIMAL",
  boolean: "BOOLEAN",
  timestamptz: "TIMESTAMP",
  jsonb: "JSON",
};

/** The columns of a view's file. Ids of tokens, of up to 78 digits, are text. */
export const fileColumns = (view: SqlView): Columns =>
  Object.fromEntries(
    columnsOfView(view).map(({ name, type }) => [name, name === "token_id" ? "STRING" : fileTypes[type]]),
  );

// An amount that no DECIMAL holds is null; no price comes near it.
function toFileValue(value: unknown, type: FileType | undefined): unknown {
  if (value === null) return null;
  if (type === "TIMESTAMP") return new Date(String(value));
  if (type === "INT64") return BigInt(String(value));
  if (type !== "DECIMAL") return value;
  const digits = String(value);
  return digits.length > decimalDigits ? null : BigInt(digits);
}

/** Rows of a view as they are written; `where` is a condition on its events. */
export async function* rowsOfView(
  run: Statement,
  { view, schema, where }: { view: SqlView; schema: string; where?: string | undefined },
): AsyncGenerator<FileRow> {
  // JSON of other numbers than 32-bit ones would be rounded when it is parsed.
  const list = columnsOfView(view).map(({ name, type }) =>
    type === "numeric" || type === "bigint" ? `v.${name}::text` : `v.${name}`,
  );
  const statement = `SELECT row_to_json(r) AS found FROM (SELECT ${list.join(", ")} FROM (${sqlOfView(view, schema, where)}) v) r`;
  const columns = Object.entries(fileColumns(view));
  for await (const found of readFound(run, statement)) {
    const row = found as Record<string, unknown>;
    yield Object.fromEntries(columns.map(([name, type]) => [name, toFileValue(row[name], type)]));
  }
}
