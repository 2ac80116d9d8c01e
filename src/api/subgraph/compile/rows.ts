import type { FieldNode } from "graphql";
import { argument } from "../request/document.ts";
import { type DerivedField, entityType, type RelationField } from "../schema/entities.ts";
import { QueryError } from "../schema/errors.ts";
import { isSortable, nameOf, show, sortKeys, type Value } from "../schema/inputs.ts";
import { type CompileContext, createScope, type Scope, walkJoin } from "./statement.ts";

/** The tables of both generations with rows of a scope's type; undefined if one table has them all. */
export function armsOf({ statement, v2 }: CompileContext, { type, alias }: Scope) {
  const arms = v2?.armsOf(type.table, alias);
  if (v2 && arms) statement.with(v2.at);
  return arms;
}

/** FROM and WHERE of a scope's rows that meet a condition, with the walk that its columns need. */
export function rowsSql(context: CompileContext, scope: Scope, where: string): string {
  const { type, alias, columns } = scope;
  const arms = armsOf(context, scope);
  const walk = walkJoin(context, scope);
  if (arms === undefined) return `${type.table} ${alias}${walk} WHERE ${where}`;
  const read = [...new Set(["id", ...columns])].map((column) => `${alias}.${column}`).join(", ");
  const parts = arms.map((arm) => `SELECT ${read} FROM ${arm.from} WHERE ${where} AND ${arm.where}`);
  return `(${parts.join(" UNION ALL ")}) ${alias}${walk} WHERE TRUE`;
}

// From `deepSkip` rows on, an index alone finds the page's first row, and only the page is read from the table. The statement repeats the
// condition, so conditions above `longWhere` characters are read the plain way.
const [deepSkip, longWhere] = [100, 10_000];

/** SELECT of a page of the rows that meet a condition. */
export function pageSql(
  context: CompileContext,
  scope: Scope,
  { where, order, first, skip }: { where: string; order: Order; first: number; skip: number },
): string {
  const { type, alias } = scope;
  const read = [...scope.columns].map((column) => `${alias}.${column}`).join(", ");
  const offset = skip === 0 ? "" : ` OFFSET ${skip}`;
  const by = (terms: readonly string[]) => terms.map((term) => `${term}${order.direction}`).join(", ");
  const sorted = `ORDER BY ${by(order.terms)}`;
  const arms = armsOf(context, scope);
  if (arms === undefined) {
    const page = `FROM ${[`${type.table} ${alias}`, ...order.joins].join(" ")} WHERE ${where}`;
    if (skip < deepSkip || !order.isUnique || where.length > longWhere)
      return `SELECT ${read} ${page} ${sorted} LIMIT ${first}${offset}`;
    const terms = order.terms.join(", ");
    // Within the inner statement, the alias stands for that statement's rows.
    const isAfter = `(${terms}) ${order.direction === "" ? ">=" : "<="} (SELECT ${terms} ${page} ${sorted} LIMIT 1${offset})`;
    return `SELECT ${read} ${page} AND ${isAfter} ${sorted} LIMIT ${first}`;
  }
  // Each table gives as many rows as the page may have, in the order of its own index.
  const keys = order.terms.map((term, index) => `${term} AS s${index}`).join(", ");
  const parts = arms.map(
    (arm) =>
      `(SELECT ${read}, ${keys} FROM ${[arm.from, ...order.joins].join(" ")} WHERE ${where} AND ${arm.where} ` +
      `${sorted} LIMIT ${first + skip})`,
  );
  const merged = order.terms.map((_, index) => `${alias}.s${index}`);
  return `SELECT ${read} FROM (${parts.join(" UNION ALL ")}) ${alias} ORDER BY ${by(merged)} LIMIT ${first}${offset}`;
}

// `isUnique`: the terms are columns of the rows themselves and never null, so that they can be compared as a row.
type Order = { terms: string[]; direction: "" | " DESC"; joins: string[]; isUnique: boolean };

/** ORDER BY of a list: ties by id in the same direction, nulls last ascending and first descending; without `orderBy`, by ascending id. */
export function orderSql(context: CompileContext, { type, alias }: Scope, node: FieldNode): Order {
  const orderBy = argument(context, node, "orderBy");
  const direction = readDirection(argument(context, node, "orderDirection"));
  if (orderBy === null) return { terms: [`${alias}.id`], direction: "", joins: [], isUnique: true };
  const name = nameOf(orderBy);
  const key = name === undefined ? undefined : sortKeys(type).get(name);
  if (key === undefined) {
    throw new QueryError(
      `Invalid value provided for argument \`orderBy\`: \`${type.name}_orderBy\` has no value ${show(orderBy)}`,
    );
  }
  if (!isSortable(key)) {
    throw new QueryError(`Ordering by \`${key.name}\` is not supported for type \`${type.name}\``, {
      scope: "group",
    });
  }
  const by = (columns: string[], isUnique = false, joins: string[] = []) => ({
    ...{ terms: [...columns, `${alias}.id`], direction },
    ...{ joins, isUnique },
  });
  const { field, child } = key;
  if (field.kind === "scalar")
    return field.column === "id"
      ? by([], true)
      : by(sortColumns(type.table, alias, field.column), !field.nullable);
  // Every address in a row has an account row, whose id the relation holds.
  if (field.kind === "relation" && field.target === "Account" && child?.column === "id")
    return by([`${alias}.${field.column}`]);
  const inner = createScope(context.statement, entityType(field.target));
  const column = child?.column ?? "id";
  inner.columns.add(column);
  const link = linkSql(alias, field, inner.alias);
  // OFFSET keeps Postgres from reading all rows of both generations for the join.
  const join =
    armsOf(context, inner) === undefined
      ? `${inner.type.table} ${inner.alias} ON ${link}`
      : `LATERAL (SELECT * FROM ${rowsSql(context, inner, link)} OFFSET 0) ${inner.alias} ON TRUE`;
  return by(sortColumns(inner.type.table, inner.alias, column), false, [`LEFT JOIN ${join}`]);
}

/** The condition that the row under `other` is related to the row under `alias`, by a field of the latter. */
export function linkSql(alias: string, field: RelationField | DerivedField, other: string): string {
  return field.kind === "relation"
    ? `${other}.id = ${alias}.${field.column}`
    : `${other}.${field.by} = ${alias}.id`;
}

function readDirection(value: Value): "" | " DESC" {
  const name = value === null ? "asc" : nameOf(value);
  if (name === "asc") return "";
  if (name === "desc") return " DESC";
  throw new QueryError(
    `Invalid value provided for argument \`orderDirection\`: \`OrderDirection\` has no value ${show(value)}`,
  );
}

// Columns whose text may exceed an index entry: their btree indexes hold the first characters (src/schema/subgraph.ts).
const prefixIndexed = new Set([
  "domain.name",
  "domain.label_name",
  "registration.label_name",
  "wrapped_domain.name",
  "resolver_event.name",
]);

/** Characters of such a text that its index holds. */
export const prefixLength = 256;

/** SQL of the part of a column that its index holds; undefined for columns that are indexed whole. */
export function indexedPrefix(table: string, alias: string, column: string): string | undefined {
  return prefixIndexed.has(`${table}.${column}`) ? `left(${alias}.${column}, ${prefixLength})` : undefined;
}

// A long text is sorted by its indexed part first: the order stays the same, and Postgres sorts only ties.
function sortColumns(table: string, alias: string, column: string): string[] {
  const prefix = indexedPrefix(table, alias, column);
  return [...(prefix === undefined ? [] : [prefix]), `${alias}.${column}`];
}
