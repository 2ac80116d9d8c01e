import type { FieldNode } from "graphql";
import { argument } from "../request/document.ts";
import { type DerivedField, entityType, type RelationField } from "../schema/entities.ts";
import { QueryError } from "../schema/errors.ts";
import { isSortable, nameOf, show, sortKeys, type Value } from "../schema/inputs.ts";
import { type CompileContext, createScope, type Scope, walkJoin } from "./statement.ts";

/** The tables of both generations that have rows of a scope's type; undefined where one table has them all. */
export function armsOf({ statement, v2 }: CompileContext, { type, alias }: Scope) {
  const arms = v2?.armsOf(type.table, alias);
  if (v2 && arms) statement.with(v2.at);
  return arms;
}

/** FROM and WHERE of a scope's rows that meet a condition on its alias, with the walks that its columns need. */
export function rowsSql(context: CompileContext, scope: Scope, where: string): string {
  const { type, alias, columns } = scope;
  const arms = armsOf(context, scope);
  const walk = walkJoin(context, scope);
  if (arms === undefined) return `${type.table} ${alias}${walk} WHERE ${where}`;
  const read = [...new Set(["id", ...columns])].map((column) => `${alias}.${column}`).join(", ");
  const parts = arms.map((arm) => `SELECT ${read} FROM ${arm.from} WHERE ${where} AND ${arm.where}`);
  return `(${parts.join(" UNION ALL ")}) ${alias}${walk} WHERE TRUE`;
}

// From so many skipped rows on the place of the first one is found from an index alone, and only the page is read from the table. With a
// long condition the statement would be twice as long.
const [deepSkip, longWhere] = [100, 10_000];

/** A page of the rows of a type that meet a condition: SELECT of their columns. */
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
    // Within the inner statement the alias stands for the rows of that one.
    const isAfter = `(${terms}) ${order.direction === "" ? ">=" : "<="} (SELECT ${terms} ${page} ${sorted} LIMIT 1${offset})`;
    return `SELECT ${read} ${page} AND ${isAfter} ${sorted} LIMIT ${first}`;
  }
  // As many of each table as the page may have: each in the order of its own index.
  const keys = order.terms.map((term, index) => `${term} AS s${index}`).join(", ");
  const parts = arms.map(
    (arm) =>
      `(SELECT ${read}, ${keys} FROM ${[arm.from, ...order.joins].join(" ")} WHERE ${where} AND ${arm.where} ` +
      `${sorted} LIMIT ${first + skip})`,
  );
  const merged = order.terms.map((_, index) => `${alias}.s${index}`);
  return `SELECT ${read} FROM (${parts.join(" UNION ALL ")}) ${alias} ORDER BY ${by(merged)} LIMIT ${first}${offset}`;
}

/**
 * Terms of ORDER BY, their common direction, and the joins that they need. `isUnique`: they are columns of the rows themselves that are
 * never null, so that rows can be compared by them.
 */
type Order = { terms: string[]; direction: "" | " DESC"; joins: string[]; isUnique: boolean };

/**
 * ORDER BY of a list. Ties are broken by id in the same direction; nulls come last ascending and first
 * descending; without `orderBy` the order is by id, whatever the direction.
 */
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
  // Every address in a row has an account row: the id in the relation is the same.
  if (field.kind === "relation" && field.target === "Account" && child?.column === "id")
    return by([`${alias}.${field.column}`]);
  const inner = createScope(context.statement, entityType(field.target));
  const column = child?.column ?? "id";
  inner.columns.add(column);
  const link = linkSql(alias, field, inner.alias);
  // OFFSET keeps the database from reading all rows of both generations for the join.
  const join =
    armsOf(context, inner) === undefined
      ? `${inner.type.table} ${inner.alias} ON ${link}`
      : `LATERAL (SELECT * FROM ${rowsSql(context, inner, link)} OFFSET 0) ${inner.alias} ON TRUE`;
  return by(sortColumns(inner.type.table, inner.alias, column), false, [`LEFT JOIN ${join}`]);
}

/** The condition that a row is related to one under another alias by a field of that one. */
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

// Text that may be longer than an index entry. Their btree indexes contain the first 256 characters, so that a
// comparison also holds for these (src/schema/subgraph.ts).
const prefixIndexed = new Set([
  "domain.name",
  "domain.label_name",
  "registration.label_name",
  "wrapped_domain.name",
  "resolver_event.name",
]);

/** Characters that indexes contain of such a text. */
export const prefixLength = 256;

/** Length-limited form of a table's column under an alias as the indexes contain it; undefined for columns that are indexed whole. */
export function indexedPrefix(table: string, alias: string, column: string): string | undefined {
  return prefixIndexed.has(`${table}.${column}`) ? `left(${alias}.${column}, ${prefixLength})` : undefined;
}

// The index of a long text contains its first characters: sorted by these first, the order is the same and the
// database sorts only ties.
function sortColumns(table: string, alias: string, column: string): string[] {
  const prefix = indexedPrefix(table, alias, column);
  return [...(prefix === undefined ? [] : [prefix]), `${alias}.${column}`];
}
