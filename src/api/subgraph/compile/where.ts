import type { SubgraphLimits } from "../../../config/limits.ts";
import { type EntityType, entityType, type Field } from "../schema/entities.ts";
import { QueryError } from "../schema/errors.ts";
import { type FilterKey, filterKeys, type Operator } from "../schema/filters.ts";
import { coerce, isObject, show, type Value } from "../schema/values.ts";
import { comparisonSql, listSql } from "./conditions.ts";
import type { Statement } from "./statement.ts";

/** What the conditions of one statement share. */
export type WhereContext = {
  statement: Statement;
  limits: Pick<SubgraphLimits, "depth" | "listValues">;
  /** Whether other keys of the same object leave few rows, judging by their names. */
  isNarrow?: boolean;
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

/** Rows that a filter applies to: their type and alias, and the levels that the filter may still have. */
type Filtered = { type: EntityType; alias: string; depth: number };

/** Conditions of a `where` object on rows of `type` under `alias`, all of which must hold. */
export function whereSql(context: WhereContext, type: EntityType, alias: string, filter: Value): string[] {
  return conditions(context, { type, alias, depth: context.limits.depth }, filter);
}

function conditions(context: WhereContext, { type, alias, depth }: Filtered, filter: Value): string[] {
  if (filter === null) return [];
  if (!isObject(filter))
    throw invalid(`expected an object of type ${type.name}_filter, but got ${show(filter)}`);
  if (depth < 0) throw invalid("it is nested too deeply");
  const keys = filterKeys(type);
  const isNarrow = Object.entries(filter).some(([name, value]) => value !== null && narrowing.has(name));
  const filtered = { type, alias, depth: depth - 1 };
  return Object.entries(filter).flatMap(([name, value]) => {
    const key = keys.get(name);
    if (key === undefined) throw invalid(`\`${type.name}_filter\` has no field \`${name}\``);
    return condition({ ...context, isNarrow }, filtered, { name, ...key }, value);
  });
}

type NamedKey<Kind extends FilterKey["kind"] = FilterKey["kind"]> = { name: string } & Extract<
  FilterKey,
  { kind: Kind }
>;

function condition(context: WhereContext, filtered: Filtered, key: NamedKey, value: Value): string[] {
  switch (key.kind) {
    case "group":
      return group(context, filtered, key, value);
    case "changeBlock":
      return changeBlock(context, filtered, value);
    case "child":
      return [child(context, filtered, key.field, value)];
    case "column":
      return [column(context, filtered, key, value)];
  }
}

// The keys of one element are ANDed. A group beside other keys is ANDed with them; graph-node does the same, or refuses it.
function group(
  context: WhereContext,
  filtered: Filtered,
  { name, every }: NamedKey<"group">,
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
function child(context: WhereContext, { alias, depth }: Filtered, field: Field, value: Value): string {
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
    ...conditions(context, { type, alias: other, depth }, value),
  ];
  // With few rows left the related row is looked up for each. OFFSET keeps the database from starting at the
  // related rows instead, which is slow for parents with millions of names.
  const barrier = context.isNarrow === true ? " OFFSET 0" : "";
  return `EXISTS (SELECT FROM ${type.table} ${other} WHERE ${where.join(" AND ")}${barrier})`;
}

function column(
  context: WhereContext,
  { type, alias }: Filtered,
  { name, field, operator }: NamedKey<"column">,
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
  return comparisonSql(place, scalar, operator, [read(name, scalar, value)]);
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
function readList(
  context: WhereContext,
  name: string,
  scalar: Parameters<typeof coerce>[0],
  value: Value,
): string[] {
  const values = Array.isArray(value) ? value : [value];
  checkLength(context, name, values);
  return values.map((item) => read(name, scalar, item));
}

function read(name: string, scalar: Parameters<typeof coerce>[0], value: Value): string {
  const text = coerce(scalar, value);
  if (text === undefined) throw invalid(`\`${name}\` takes ${scalar}, but got ${show(value)}`);
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
