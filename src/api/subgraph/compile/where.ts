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
import { comparisonSql, listSql } from "./conditions.ts";
import { type RowContext, rowsSql } from "./rows.ts";
import type { Statement } from "./statement.ts";

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
    return listSql(place, scalar, operator, readList(context, name, scalar, value));
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
  return type.shared ? [`${alias}.type = ${statement.bind(type.name)}`] : [];
}

/** Conditions joined by AND; no condition is true. */
export function all(conditions: readonly string[]): string {
  return conditions.length === 0
    ? "TRUE"
    : conditions.length === 1
      ? `${conditions[0]}`
      : `(${conditions.join(" AND ")})`;
}
