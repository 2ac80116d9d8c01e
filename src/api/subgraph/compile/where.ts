import type { SubgraphLimits } from "../../../config/limits.ts";
import { type EntityType, entityType, type Field } from "../schema/entities.ts";
import { QueryError } from "../schema/errors.ts";
import { type FilterKey, filterKeys, type Operator } from "../schema/filters.ts";
import { coerce, isObject, show, type Value } from "../schema/values.ts";
import { comparisonSql, listSql } from "./conditions.ts";
import type { Statement } from "./statement.ts";

export type WhereContext = {
  statement: Statement;
  limits: Pick<SubgraphLimits, "depth" | "listValues">;
  /** Whether other keys of the same object leave few rows, as far as one can tell from their names. */
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

/** Conditions of a `where` object on rows of `type` under `alias`, all of which must hold. */
export function whereSql(context: WhereContext, type: EntityType, alias: string, filter: Value): string[] {
  return conditions(context, type, alias, filter, context.limits.depth);
}

function conditions(
  context: WhereContext,
  type: EntityType,
  alias: string,
  filter: Value,
  depth: number,
): string[] {
  if (filter === null) return [];
  if (!isObject(filter))
    throw invalid(`expected an object of type ${type.name}_filter, but got ${show(filter)}`);
  if (depth < 0) throw invalid("it is nested too deeply");
  const keys = filterKeys(type);
  const isNarrow = Object.entries(filter).some(([name, value]) => value !== null && narrowing.has(name));
  return Object.entries(filter).flatMap(([name, value]) => {
    const key = keys.get(name);
    if (key === undefined) throw invalid(`\`${type.name}_filter\` has no field \`${name}\``);
    return condition({ ...context, isNarrow }, type, alias, name, key, value, depth - 1);
  });
}

function condition(
  context: WhereContext,
  type: EntityType,
  alias: string,
  name: string,
  key: FilterKey,
  value: Value,
  depth: number,
): string[] {
  switch (key.kind) {
    case "group":
      return group(context, type, alias, name, key.every, value, depth);
    case "changeBlock":
      return changeBlock(context, type, alias, value);
    case "child":
      return [child(context, alias, key.field, value, depth)];
    case "column":
      return [column(context, type, alias, name, key.field, key.operator, value)];
  }
}

// Elements of a group are ANDed inside. A group beside other keys is ANDed with them, which graph-node refuses
// or reads so.
function group(
  context: WhereContext,
  type: EntityType,
  alias: string,
  name: string,
  every: boolean,
  value: Value,
  depth: number,
): string[] {
  if (value === null) return [];
  if (!Array.isArray(value)) throw invalid(`\`${name}\` takes a list, but got ${show(value)}`);
  checkLength(context, name, value);
  const elements = value.map((element) => all(conditions(context, type, alias, element, depth)));
  if (every) return elements.filter((sql) => sql !== "TRUE");
  return [elements.length === 0 ? "FALSE" : `(${elements.join(" OR ")})`];
}

function changeBlock({ statement }: WhereContext, type: EntityType, alias: string, value: Value): string[] {
  if (value === null) return [];
  const number = isObject(value) ? coerce("Int", value["number_gte"] ?? null) : undefined;
  if (number === undefined) throw invalid("`_change_block` takes {number_gte: Int!}");
  return [`${alias}.${type.changeColumn} >= ${statement.bind(number, "numeric")}::integer`];
}

// A related row exists that matches. Deeper nesting than the original's one level works as well.
function child(context: WhereContext, alias: string, field: Field, value: Value, depth: number): string {
  if (field.kind === "scalar") throw new Error(`${field.name} is no relation.`);
  if (!isObject(value)) throw new QueryError("Query contains value with invalid type", { scope: "group" });
  const target = entityType(field.target);
  const other = context.statement.alias();
  const link =
    field.kind === "relation"
      ? `${other}.id = ${alias}.${field.column}`
      : `${other}.${field.by} = ${alias}.id`;
  const where = [
    link,
    ...typeSql(context.statement, target, other),
    ...conditions(context, target, other, value, depth),
  ];
  // With few rows left the related row is looked up for each. OFFSET keeps the database from starting at the
  // related rows instead, which goes wrong for parents with millions of names.
  const barrier = context.isNarrow === true ? " OFFSET 0" : "";
  return `EXISTS (SELECT FROM ${target.table} ${other} WHERE ${where.join(" AND ")}${barrier})`;
}

function column(
  context: WhereContext,
  type: EntityType,
  alias: string,
  name: string,
  field: Field,
  operator: Operator,
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

/** The condition that picks a type's rows out of a table that holds several. */
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
