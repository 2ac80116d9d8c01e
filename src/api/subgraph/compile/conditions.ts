import type { Scalar } from "../schema/entities.ts";
import type { Operator } from "../schema/inputs.ts";
import { arrayLiteral, type Statement } from "./statement.ts";

/** A column in a statement: its SQL, and its table and name for what depends on the indexes. */
export type ColumnPlace = { statement: Statement; column: string; table: string; name: string };

// Text that may be longer than an index entry. Their btree indexes contain the first 256 characters, so that a
// comparison also holds for these (src/schema/subgraph.ts).
const prefixIndexed = new Set([
  "domain.name",
  "domain.label_name",
  "registration.label_name",
  "wrapped_domain.name",
  "resolver_event.name",
]);

const prefixLength = 256;

/** Length-limited form of a column as the indexes contain it; undefined for columns that are indexed whole. */
function indexedPrefix({ column, table, name }: Omit<ColumnPlace, "statement">): string | undefined {
  return prefixIndexed.has(`${table}.${name}`) ? `left(${column}, ${prefixLength})` : undefined;
}

const sqlOperators = { "": "=", not: "<>", gt: ">", lt: "<", gte: ">=", lte: "<=" } as const;

type Comparison = keyof typeof sqlOperators;

/** One filter on a column that is not a list. Negations never hold for null. */
export function comparisonSql(
  place: ColumnPlace,
  scalar: Scalar,
  operator: Operator,
  values: string[],
): string {
  switch (operator) {
    case "in":
    case "not_in":
      return memberSql(place, scalar, operator, values);
    case "has":
    case "not_has":
      return hasSql(place, scalar, operator, values);
    case "":
    case "not":
    case "gt":
    case "lt":
    case "gte":
    case "lte":
      return compareSql(place, scalar, operator, values[0] ?? "");
    default:
      return scalar === "Bytes"
        ? bytesSql(place, operator, values[0] ?? "")
        : patternSql(place, operator, values[0] ?? "");
  }
}

function compareSql(place: ColumnPlace, scalar: Scalar, operator: Comparison, value: string): string {
  const { statement, column } = place;
  if (scalar === "Boolean") return `${column} ${sqlOperators[operator]} ${value === "true"}`;
  if (scalar === "BigInt" || scalar === "Int") {
    return `${column} ${sqlOperators[operator]} ${number(statement, scalar, value)}`;
  }
  const nul = value.indexOf("\0");
  if (nul >= 0) return compareWithNul(place, operator, value.slice(0, nul));
  const whole = `${column} ${sqlOperators[operator]} ${statement.bind(value)}`;
  const prefix = indexedPrefix(place);
  if (prefix === undefined || operator === "not") return whole;
  const loose = { "": "=", gt: ">=", gte: ">=", lt: "<=", lte: "<=" } as const;
  return `(${prefix} ${loose[operator]} ${statement.bind(firstCharacters(value))} AND ${whole})`;
}

// Stored text contains no NUL, so a value with one lies between its part before the NUL and everything longer.
function compareWithNul({ statement, column }: ColumnPlace, operator: Comparison, before: string): string {
  if (operator === "") return "FALSE";
  if (operator === "not") return `${column} IS NOT NULL`;
  return `${column} ${operator.startsWith("g") ? ">" : "<="} ${statement.bind(before)}`;
}

function memberSql(place: ColumnPlace, scalar: Scalar, operator: "in" | "not_in", given: string[]): string {
  const { statement, column } = place;
  // An empty list matches nothing, negated or not.
  if (given.length === 0) return "FALSE";
  if (scalar === "Boolean") {
    const test = `${column} IN (${given.map((value) => value === "true").join(", ")})`;
    return operator === "in" ? test : `NOT (${test})`;
  }
  const type = scalar === "Int" ? "integer[]" : scalar === "BigInt" ? "numeric[]" : "text[]";
  const list = statement.bindList(given, type);
  if (operator === "not_in") return `${column} <> ALL (${list})`;
  const prefix = indexedPrefix(place);
  if (prefix === undefined) return `${column} = ANY (${list})`;
  const prefixes = statement.bindList(given, "text[]", firstCharacters);
  return `(${prefix} = ANY (${prefixes}) AND ${column} = ANY (${list}))`;
}

// LIKE as the original: wildcards and backslashes of the value keep their meaning.
function patternSql(place: ColumnPlace, operator: Operator, value: string): string {
  const { statement, column } = place;
  const negated = operator.startsWith("not_");
  const nocase = operator.endsWith("_nocase");
  const kind = operator.replace(/^not_|_nocase$/g, "");
  if (value.includes("\0")) return negated ? `${column} IS NOT NULL` : "FALSE";
  const wild = value.startsWith("%") || value.endsWith("%");
  const pattern =
    kind === "starts_with" ? `${value}%` : kind === "ends_with" ? `%${value}` : wild ? value : `%${value}%`;
  const like = nocase ? "ILIKE" : "LIKE";
  const whole = () => `${column} ${negated ? "NOT " : ""}${like} ${statement.bind(pattern)}`;
  const prefix = indexedPrefix(place);
  if (prefix === undefined || negated || nocase || kind !== "starts_with" || /[%_\\]/.test(value))
    return whole();
  const first = firstCharacters(value);
  const begins = `${prefix} LIKE ${statement.bind(`${first}%`)}`;
  // Of one condition alone the planner knows how many rows it leaves: it reads them in their order until a page is full.
  return first === value ? begins : `(${begins} AND ${whole()})`;
}

function bytesSql({ statement, column }: ColumnPlace, operator: Operator, value: string): string {
  const part = `decode(${statement.bind(value.slice(2))}, 'hex')`;
  const found = `position(${part} IN decode(substr(${column}, 3), 'hex'))`;
  return operator.startsWith("not_") ? `${found} = 0` : `${found} > 0`;
}

function hasSql(
  { statement, column }: ColumnPlace,
  scalar: Scalar,
  operator: Operator,
  values: string[],
): string {
  const value = values[0] ?? "";
  const test = value.includes("\0")
    ? "FALSE"
    : `${scalar === "BigInt" ? statement.bind(value, "numeric") : statement.bind(value)} = ANY (${column})`;
  return operator === "has" ? test : `(${column} IS NOT NULL AND NOT (${test}))`;
}

/** One filter on a list column. Lists that are null match no filter but equality with null. */
export function listSql(place: ColumnPlace, scalar: Scalar, operator: Operator, given: string[]): string {
  const { statement, column } = place;
  const values = given.filter((value) => !value.includes("\0"));
  const impossible = values.length < given.length;
  const negated = operator.startsWith("not");
  if (impossible && !operator.startsWith("not_contains")) return negated ? `${column} IS NOT NULL` : "FALSE";
  const type = scalar === "BigInt" ? "numeric[]" : "text[]";
  const list = statement.bind(arrayLiteral(values), type);
  switch (operator) {
    case "":
      return `${column} = ${list}`;
    case "not":
      return `${column} <> ${list}`;
    case "contains":
      return `${column} @> ${list}`;
    case "not_contains":
      return `NOT (${column} && ${list})`;
    default: {
      const folded = `(SELECT array_agg(lower(item COLLATE "C")) FROM unnest(${column}) item)`;
      const lowered = statement.bind(arrayLiteral(values.map(lowerAscii)), "text[]");
      const some = negated
        ? `NOT coalesce(${folded} && ${lowered}, FALSE)`
        : `coalesce(${folded}, '{}') @> ${lowered}`;
      return `(${column} IS NOT NULL AND ${some})`;
    }
  }
}

// A number of any length may be compared; one beyond the column's range simply matches as such.
function number(statement: Statement, scalar: "BigInt" | "Int", value: string): string {
  return scalar === "Int" ? `${statement.bind(value, "numeric")}::integer` : statement.bind(value, "numeric");
}

// A character takes at most two units of UTF-16: a value of a megabyte is not taken apart.
function firstCharacters(value: string): string {
  return value.length <= prefixLength
    ? value
    : [...value.slice(0, 2 * prefixLength)].slice(0, prefixLength).join("");
}

function lowerAscii(value: string): string {
  return value.replace(/[A-Z]/g, (letter) => letter.toLowerCase());
}

// The index of a long text contains its first characters: sorted by these first, the order is the same and the
// database sorts only ties.
export function sortColumns(table: string, alias: string, name: string): string[] {
  const column = `${alias}.${name}`;
  const prefix = indexedPrefix({ column, table, name });
  return prefix === undefined ? [column] : [prefix, column];
}
