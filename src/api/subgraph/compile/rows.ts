import type { BothGenerations } from "../../database/v2-domains.ts";
import { type EntityType, entityType } from "../schema/entities.ts";
import { QueryError } from "../schema/errors.ts";
import { isSortable, nameOf, show, sortKeys, type Value } from "../schema/inputs.ts";
import type { Statement } from "./statement.ts";

/** What rows are read with: `v2` where names of ENSv2 are indexed. */
export type RowContext = { statement: Statement; v2?: BothGenerations | undefined };

/** Rows of a type under an alias, and the columns that are read of them. */
type Rows = { type: EntityType; alias: string; columns: Iterable<string> };

/** FROM and WHERE of the rows of a type that meet a condition on the alias. */
export function rowsSql(
  { v2 }: Pick<RowContext, "v2">,
  { type, alias, columns }: Rows,
  where: string,
): { from: string; where: string } {
  const arms = v2?.armsOf(type.table, alias);
  if (arms === undefined) return { from: `${type.table} ${alias}`, where };
  const read = [...new Set(["id", ...columns])].map((column) => `${alias}.${column}`).join(", ");
  const parts = arms.map((arm) => `SELECT ${read} FROM ${arm.from} WHERE ${where} AND ${arm.where}`);
  return { from: `(${parts.join(" UNION ALL ")}) ${alias}`, where: "TRUE" };
}

// From so many skipped rows on the place of the first one is found from an index alone, and only the page is read from the table. With a
// long condition the statement would be twice as long.
const [deepSkip, longWhere] = [100, 10_000];

/** A page of the rows of a type that meet a condition: SELECT of their columns. */
export function pageSql(
  { v2 }: Pick<RowContext, "v2">,
  { type, alias, columns }: Rows,
  { where, order, first, skip }: { where: string; order: Order; first: number; skip: number },
): string {
  const read = [...columns].map((column) => `${alias}.${column}`).join(", ");
  const offset = skip === 0 ? "" : ` OFFSET ${skip}`;
  const by = (terms: readonly string[]) => terms.map((term) => `${term}${order.direction}`).join(", ");
  const arms = v2?.armsOf(type.table, alias);
  if (arms === undefined) {
    const page = `FROM ${[`${type.table} ${alias}`, ...order.joins].join(" ")} WHERE ${where}`;
    const sorted = `ORDER BY ${by(order.terms)}`;
    if (skip < deepSkip || !order.isUnique || where.length > longWhere)
      return `SELECT ${read} ${page} ${sorted} LIMIT ${first}${offset}`;
    const skipped = `SELECT ${order.terms.join(", ")} ${page} ${sorted} LIMIT 1${offset}`;
    const start = skipped.replaceAll(`${alias}.`, `${alias}s.`).replace(` ${alias} `, ` ${alias}s `);
    const isAfter = `(${order.terms.join(", ")}) ${order.direction === "" ? ">=" : "<="} (${start})`;
    return `SELECT ${read} ${page} AND ${isAfter} ${sorted} LIMIT ${first}`;
  }
  // As many of each table as the page may have: each in the order of its own index.
  const keys = order.terms.map((term, place) => `${term} AS s${place}`).join(", ");
  const parts = arms.map(
    (arm) =>
      `(SELECT ${read}, ${keys} FROM ${[arm.from, ...order.joins].join(" ")} WHERE ${where} AND ${arm.where} ` +
      `ORDER BY ${by(order.terms)} LIMIT ${first + skip})`,
  );
  const merged = order.terms.map((_, place) => `${alias}.s${place}`);
  return `SELECT ${read} FROM (${parts.join(" UNION ALL ")}) ${alias} ORDER BY ${by(merged)} LIMIT ${first}${offset}`;
}

/**
 * Terms of ORDER BY, their common direction, and the joins that they need. `isUnique`: they are columns of the rows themselves that are
 * never null, so that rows can be compared by them.
 */
export type Order = { terms: string[]; direction: "" | " DESC"; joins: string[]; isUnique?: boolean };

/**
 * ORDER BY of a list. Ties are broken by id in the same direction; nulls come last ascending and first
 * descending; without `orderBy` the order is by id, whatever the direction.
 */
export function orderSql(
  context: RowContext,
  type: EntityType,
  alias: string,
  { orderBy, orderDirection }: { orderBy: Value; orderDirection: Value },
): Order {
  const direction = readDirection(orderDirection);
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
  const by = (columns: string[], { joins = [], isUnique = false }: Partial<Order> = {}) => ({
    ...{ terms: [...columns, `${alias}.id`], direction },
    ...{ joins, isUnique },
  });
  const { field, child } = key;
  if (child === undefined) {
    if (field.kind !== "scalar") throw new Error(`${field.name} has no column.`);
    if (field.column === "id") return by([], { isUnique: true });
    return by(sortColumns(type.table, alias, field.column), { isUnique: !field.nullable });
  }
  if (field.kind === "scalar") throw new Error(`${field.name} is not a relation.`);
  // Every address in a row has an account row: the id in the relation is the same.
  if (field.kind === "relation" && field.target === "Account" && child.column === "id") {
    return by([`${alias}.${field.column}`]);
  }
  const target = entityType(field.target);
  const other = context.statement.alias();
  const link =
    field.kind === "relation"
      ? `${other}.id = ${alias}.${field.column}`
      : `${other}.${field.by} = ${alias}.id`;
  const sorted = sortColumns(target.table, other, child.column);
  const rows = rowsSql(context, { type: target, alias: other, columns: [child.column] }, link);
  // OFFSET keeps the database from reading all rows of both generations for the join.
  const join =
    rows.where === "TRUE"
      ? `LEFT JOIN LATERAL (SELECT * FROM ${rows.from} OFFSET 0) ${other} ON TRUE`
      : `LEFT JOIN ${rows.from} ON ${link}`;
  return by(sorted, { joins: [join] });
}

function readDirection(value: Value): "" | " DESC" {
  const name = value === null ? "asc" : nameOf(value);
  if (name === "asc") return "";
  if (name === "desc") return " DESC";
  throw new QueryError(
    `Invalid value provided for argument \`orderDirection\`: \`OrderDirection\` has no value ${show(value)}`,
  );
}

/** A column in a statement: its SQL, and its table and name for what depends on the indexes. */
export type ColumnOfRows = { statement: Statement; column: string; table: string; name: string };

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

/** Length-limited form of a column as the indexes contain it; undefined for columns that are indexed whole. */
export function indexedPrefix({ column, table, name }: Omit<ColumnOfRows, "statement">): string | undefined {
  return prefixIndexed.has(`${table}.${name}`) ? `left(${column}, ${prefixLength})` : undefined;
}

// The index of a long text contains its first characters: sorted by these first, the order is the same and the
// database sorts only ties.
function sortColumns(table: string, alias: string, name: string): string[] {
  const column = `${alias}.${name}`;
  const prefix = indexedPrefix({ column, table, name });
  return prefix === undefined ? [column] : [prefix, column];
}
