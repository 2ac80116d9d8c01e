import type { ScalarField } from "./entities.ts";
import type { Statement } from "./statement.ts";

/** A part of a JSON text: fixed text, or an SQL expression of type text. */
export type Piece = { text: string } | { sql: string };

/**
 * SQL for the text of a value in JSON. Ids and bytes hold no character that JSON escapes; everything that
 * users control goes through the database's own escaping.
 */
export function scalarPieces(field: ScalarField, column: string): Piece[] {
  const value = valueSql(field, column);
  const quoted = isPlain(field);
  if (!field.nullable) return quoted ? [{ text: '"' }, { sql: value }, { text: '"' }] : [{ sql: value }];
  return [{ sql: quoted ? `coalesce('"' || ${value} || '"', 'null')` : `coalesce(${value}, 'null')` }];
}

function isPlain({ list, scalar, extra }: ScalarField): boolean {
  return !list && (scalar === "ID" || scalar === "Bytes" || scalar === "BigInt" || extra);
}

function valueSql(field: ScalarField, column: string): string {
  if (field.list) return `array_to_json(${field.scalar === "BigInt" ? `${column}::text[]` : column})::text`;
  if (field.scalar === "String" && !field.extra) return `to_json(${column})::text`;
  if (field.scalar === "Boolean") return `CASE ${column} WHEN TRUE THEN 'true' WHEN FALSE THEN 'false' END`;
  return isText(field) ? column : `${column}::text`;
}

function isText({ scalar }: ScalarField): boolean {
  return scalar === "ID" || scalar === "Bytes" || scalar === "String";
}

// A function takes up to 100 arguments.
const mostArguments = 100;

/** One SQL expression of type text that joins the pieces. */
export function joinPieces(statement: Statement, pieces: readonly Piece[]): string {
  const parts: string[] = [];
  let text = "";
  const flush = () => {
    if (text !== "") parts.push(statement.bind(text));
    text = "";
  };
  for (const piece of pieces) {
    if ("text" in piece) text += piece.text;
    else {
      flush();
      parts.push(piece.sql);
    }
  }
  flush();
  return concat(parts);
}

function concat(parts: string[]): string {
  if (parts.length <= 1) return parts[0] ?? "''";
  if (parts.length <= mostArguments) return `concat(${parts.join(", ")})`;
  const groups: string[] = [];
  for (let start = 0; start < parts.length; start += mostArguments) {
    groups.push(concat(parts.slice(start, start + mostArguments)));
  }
  return concat(groups);
}
