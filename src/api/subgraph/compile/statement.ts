import type { ScalarField } from "../schema/entities.ts";

/** Collects the bound parameters of one SQL statement. No text of a request ever becomes SQL text. */
export type Statement = {
  /** Placeholder of a value, cast to an SQL type. */
  bind(value: string, type?: "text" | "numeric" | "text[]" | "numeric[]" | "integer[]"): string;
  /** A table alias that no other part of the statement has. */
  alias(): string;
  /** The finished SQL with its parameters, without those of parts that were left out. */
  finish(sql: string): { sql: string; values: string[] };
};

/** An empty statement. */
export function createStatement(): Statement {
  const values: string[] = [];
  const places = new Map<string, number>();
  let aliases = 0;
  return {
    bind(value, type = "text") {
      // Lists are parameters of their own type, so that the planner sees their values; the other types share
      // a placeholder of type text.
      const isList = type.endsWith("[]");
      const key = `${isList ? type : "text"}:${value}`;
      let place = places.get(key);
      if (place === undefined) {
        place = values.push(value);
        places.set(key, place);
      }
      return isList || type === "text" ? `$${place}::${type}` : `$${place}::text::${type}`;
    },
    alias: () => `t${aliases++}`,
    // Postgres refuses parameters that the text does not use.
    finish(sql) {
      const used = new Map<string, number>();
      const text = sql.replace(/\$(\d+)/g, (_, place: string) => {
        const next = used.get(place) ?? used.size + 1;
        used.set(place, next);
        return `$${next}`;
      });
      return { sql: text, values: [...used.keys()].map((place) => values[Number(place) - 1] ?? "") };
    },
  };
}

/** The text form of a Postgres array. Elements contain no NUL. */
export function arrayLiteral(values: readonly string[]): string {
  return `{${values.map((value) => `"${value.replace(/["\\]/g, "\\$&")}"`).join(",")}}`;
}

/** A part of a JSON text: fixed text, or an SQL expression. */
export type Piece = { text: string } | { sql: string };

/**
 * Pieces of a value in JSON. Ids and bytes contain no character that JSON escapes; everything that users
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

function isPlain({ list, scalar, isId }: ScalarField): boolean {
  return !list && (isId || scalar === "Bytes" || scalar === "BigInt");
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
