import type { SubgraphLimits } from "../../../config/limits.ts";
import type { Budget } from "../request/budget.ts";
import { type EntityType, entityType, type Field, type Scalar } from "../schema/entities.ts";
import { QueryError } from "../schema/errors.ts";
import {
  coerce,
  type FilterKey,
  filterKeys,
  isObject,
  type Operator,
  show,
  type Value,
} from "../schema/inputs.ts";
import { type ColumnOfRows, indexedPrefix, prefixLength, type RowContext, rowsSql } from "./rows.ts";
import { arrayLiteral, type Statement } from "./statement.ts";

/** What the conditions of one statement share. */
export type WhereContext = RowContext & {
  limits: Pick<SubgraphLimits, "depth" | "listValues">;
  budget: Budget;
};

const narrowing = new Set([
  "id",
  "id_in",
  "name",
  "labelhash",
  "owner",
  "registrant",
  "wrappedOwner",
  "resolvedAddress",
]);

/**
 * Rows that a filter applies to: their type and alias, the levels that the filter may still have, and whether other keys of
 * the same object leave few rows, judging by their names.
 */
type Filtered = { type: EntityType; alias: string; depth: number; isNarrow: boolean };

/** Conditions of a `where` object on rows of `type` under `alias`, all of which must hold. */
export function whereSql(context: WhereContext, type: EntityType, alias: string, filter: Value): string[] {
  return conditions(context, { type, alias, depth: context.limits.depth, isNarrow: false }, filter);
}

function conditions(context: WhereContext, filtered: Filtered, filter: Value): string[] {
  const { type, alias, depth } = filtered;
  if (filter === null) return [];
  if (!isObject(filter))
    throw invalid(`expected an object of type ${type.name}_filter, but got ${show(filter)}`);
  if (depth < 0) throw invalid("it is nested too deeply");
  const keys = filterKeys(type);
  const names = Object.keys(filter);
  context.budget.spend("filterKeys", Math.max(1, names.length));
  const isNarrow = names.some((name) => narrowing.has(name) && filter[name] !== null);
  const inner = { type, alias, depth: depth - 1, isNarrow };
  return names.flatMap((name) => {
    const key = keys.get(name);
    if (key === undefined) throw invalid(`\`${type.name}_filter\` has no field \`${name}\``);
    return condition(context, inner, key, filter[name] ?? null);
  });
}

type KeyOf<Kind extends FilterKey["kind"]> = Extract<FilterKey, { kind: Kind }>;

function condition(
  context: WhereContext,
  filtered: Filtered,
  key: FilterKey,
  value: Value,
): string | string[] {
  switch (key.kind) {
    case "group":
      return group(context, filtered, key, value);
    case "changeBlock":
      return changeBlock(context, filtered, value);
    case "child":
      return child(context, filtered, key.field, value);
    case "column":
      return column(context, filtered, key, value);
  }
}

// The keys of one element are ANDed. A group beside other keys is ANDed with them; graph-node does the same, or refuses it.
function group(
  context: WhereContext,
  filtered: Filtered,
  { name, every }: KeyOf<"group">,
  value: Value,
): string[] {
  if (value === null) return [];
  if (!Array.isArray(value)) throw invalid(`\`${name}\` takes a list, but got ${show(value)}`);
  checkLength(context, name, value);
  const elements = value.map((element) => all(conditions(context, filtered, element)));
  if (every) return elements.filter((sql) => sql !== "TRUE");
  return [elements.length === 0 ? "FALSE" : `(${elements.join(" OR ")})`];
}

function changeBlock({ statement }: WhereContext, { type, alias }: Filtered, value: Value): string[] {
  if (value === null) return [];
  const number = isObject(value) ? coerce("Int", value["number_gte"] ?? null) : undefined;
  if (number === undefined) throw invalid("`_change_block` takes {number_gte: Int!}");
  return [`${alias}.${type.changeColumn} >= ${statement.bind(number, "numeric")}::integer`];
}

// A related row exists that matches. Deeper nesting than the original's one level works as well.
function child(
  context: WhereContext,
  { alias, depth, isNarrow }: Filtered,
  field: Field,
  value: Value,
): string {
  if (field.kind === "scalar") throw new Error(`${field.name} is not a relation.`);
  if (!isObject(value)) throw new QueryError("Query contains value with invalid type", { scope: "group" });
  const type = entityType(field.target);
  const other = context.statement.alias();
  const link =
    field.kind === "relation"
      ? `${other}.id = ${alias}.${field.column}`
      : `${other}.${field.by} = ${alias}.id`;
  const where = [
    link,
    ...typeSql(context.statement, type, other),
    ...conditions(context, { type, alias: other, depth, isNarrow: false }, value),
  ];
  // With few rows left the related row is looked up for each. OFFSET keeps the database from starting at the
  // related rows instead, which is slow for parents with millions of names.
  const barrier = isNarrow ? " OFFSET 0" : "";
  const rows = rowsSql(context, { type, alias: other, columns: [] }, where.join(" AND "));
  return `EXISTS (SELECT FROM ${rows.from} WHERE ${rows.where}${barrier})`;
}

function column(
  context: WhereContext,
  { type, alias }: Filtered,
  { name, field, operator }: KeyOf<"column">,
  value: Value,
): string {
  if (field.kind === "derived") throw new Error(`${field.name} has no column.`);
  const scalar = field.kind === "relation" ? "String" : field.scalar;
  const place = {
    statement: context.statement,
    column: `${alias}.${field.column}`,
    table: type.table,
    name: field.column,
  };
  if (value === null) return nullSql(place.column, name, operator);
  if (field.kind === "scalar" && field.list && operator !== "has" && operator !== "not_has") {
    return listConditionSql(place, scalar, operator, readList(context, name, scalar, value));
  }
  if (operator === "in" || operator === "not_in") {
    return comparisonSql(place, scalar, operator, readList(context, name, scalar, value));
  }
  return comparisonSql(place, scalar, operator, [read(context, name, scalar, value)]);
}

function nullSql(column: string, name: string, operator: Operator): string {
  if (operator === "") return `${column} IS NULL`;
  if (operator === "not") return `${column} IS NOT NULL`;
  const message =
    operator === "in" || operator === "not_in"
      ? `Non-list value passed to \`${operator === "in" ? "_in" : "_not_in"}\` filter`
      : `Store error: unsupported filter \`${symbols[operator] ?? operator}\` for value \`null\``;
  throw new QueryError(`${message} (\`${name}\`)`, { scope: "group" });
}
const symbols: { [operator: string]: string } = { gt: ">", lt: "<", gte: ">=", lte: "<=" };

// A single value in place of a list is taken as a list of one.
function readList(context: WhereContext, name: string, scalar: Scalar, value: Value): string[] {
  if (!Array.isArray(value)) return [read(context, name, scalar, value)];
  checkLength(context, name, value);
  return value.map((item) => read(context, name, scalar, item));
}

function read({ budget }: WhereContext, name: string, scalar: Scalar, value: Value): string {
  const text = coerce(scalar, value);
  if (text === undefined) throw invalid(`\`${name}\` takes ${scalar}, but got ${show(value)}`);
  budget.spendValue(text);
  return text;
}

function checkLength({ limits }: WhereContext, name: string, values: readonly unknown[]): void {
  if (values.length > limits.listValues) {
    throw invalid(
      `\`${name}\` has ${values.length} values and may have ${limits.listValues}; split it into several requests`,
    );
  }
}

function invalid(reason: string): QueryError {
  return new QueryError(`Invalid value provided for argument \`where\`: ${reason}`);
}

/** The condition that selects a type's rows in a table of several types. */
export function typeSql(statement: Statement, type: EntityType, alias: string): string[] {
  return type.interface !== undefined ? [`${alias}.type = ${statement.bind(type.name)}`] : [];
}

/** Conditions joined by AND; no condition is true. */
export function all(conditions: readonly string[]): string {
  return conditions.length === 0
    ? "TRUE"
    : conditions.length === 1
      ? `${conditions[0]}`
      : `(${conditions.join(" AND ")})`;
}

const sqlOperators = { "": "=", not: "<>", gt: ">", lt: "<", gte: ">=", lte: "<=" } as const;

type Comparison = keyof typeof sqlOperators;

/** One filter on a column that is not a list. Negations never hold for null. */
function comparisonSql(place: ColumnOfRows, scalar: Scalar, operator: Operator, values: string[]): string {
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

function compareSql(place: ColumnOfRows, scalar: Scalar, operator: Comparison, value: string): string {
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
function compareWithNul({ statement, column }: ColumnOfRows, operator: Comparison, before: string): string {
  if (operator === "") return "FALSE";
  if (operator === "not") return `${column} IS NOT NULL`;
  return `${column} ${operator.startsWith("g") ? ">" : "<="} ${statement.bind(before)}`;
}

function memberSql(place: ColumnOfRows, scalar: Scalar, operator: "in" | "not_in", given: string[]): string {
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
function patternSql(place: ColumnOfRows, operator: Operator, value: string): string {
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

function bytesSql({ statement, column }: ColumnOfRows, operator: Operator, value: string): string {
  const part = `decode(${statement.bind(value.slice(2))}, 'hex')`;
  const found = `position(${part} IN decode(substr(${column}, 3), 'hex'))`;
  return operator.startsWith("not_") ? `${found} = 0` : `${found} > 0`;
}

function hasSql(
  { statement, column }: ColumnOfRows,
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
function listConditionSql(place: ColumnOfRows, scalar: Scalar, operator: Operator, given: string[]): string {
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
