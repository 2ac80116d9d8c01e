import type { ScalarField } from "../schema/entities.ts";
import type { Statement } from "./statement.ts";

/** A part of a JSON text: fixed text, or an SQL expression. */
export type Piece = { text: string } | { sql: string };

/**
 * Pieces of a value in JSON. Ids and bytes hold no character that JSON escapes; everything that users
 * control goes through the database's own escaping.
 */
export function scalarPieces(field: ScalarField, column: string): Piece[] {
  const quote: Piece = { text: '"' };
  if (!isPlain(field)) {
    const sql = valueSql(field, column);
    return [{ sql: field.nullable ? `coalesce(${sql}, 'null')` : sql }];
  }
  if (!field.nullable) return [quote, { sql: column }, quote];
  return [{ sql: `coalesce('"' || ${column} || '"', 'null')` }];
}

function isPlain({ list, scalar, extra }: ScalarField): boolean {
  return !list && (scalar === "ID" || scalar === "Bytes" || scalar === "BigInt" || extra);
}

// Of any type: concat() writes numbers and json as their text.
function valueSql(field: ScalarField, column: string): string {
  if (field.list) return `array_to_json(${field.scalar === "BigInt" ? `${column}::text[]` : column})`;
  if (field.scalar === "String") return `to_json(${column})`;
  if (field.scalar === "Boolean") return `CASE ${column} WHEN TRUE THEN 'true' WHEN FALSE THEN 'false' END`;
  return field.nullable ? `${column}::text` : column;
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
  if (parts.length === 0) return "''";
  if (parts.length <= mostArguments) return `concat(${parts.join(", ")})`;
  const groups: string[] = [];
  for (let start = 0; start < parts.length; start += mostArguments) {
    groups.push(concat(parts.slice(start, start + mostArguments)));
  }
  return concat(groups);
}
