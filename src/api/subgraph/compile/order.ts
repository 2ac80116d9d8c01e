import { type EntityType, entityType } from "../schema/entities.ts";
import { QueryError } from "../schema/errors.ts";
import { isSortable, nameOf, show, sortKeys, type Value } from "../schema/inputs.ts";
import { sortColumns } from "./conditions.ts";
import type { Statement } from "./statement.ts";

/** Terms of ORDER BY, and the joins that they need. */
export type Order = { by: string[]; joins: string[] };

/**
 * ORDER BY of a list. Ties are broken by id in the same direction; nulls come last ascending and first
 * descending; without `orderBy` the order is by id, whatever the direction.
 */
export function orderSql(
  statement: Statement,
  type: EntityType,
  alias: string,
  { orderBy, orderDirection }: { orderBy: Value; orderDirection: Value },
): Order {
  const direction = readDirection(orderDirection);
  if (orderBy === null) return { by: [`${alias}.id`], joins: [] };
  const name = nameOf(orderBy);
  const key = name === undefined ? undefined : sortKeys(type).get(name);
  if (key === undefined) {
    throw new QueryError(
      `Invalid value provided for argument \`orderBy\`: \`${type.name}_orderBy\` has no value ${show(orderBy)}`,
    );
  }
  if (!isSortable(key)) {
    throw new QueryError(`Ordering by \`${key.key}\` is not supported for type \`${type.name}\``, {
      scope: "group",
    });
  }
  const own = (columns: string[]) => [...columns, `${alias}.id`].map((column) => `${column}${direction}`);
  const { field, child } = key;
  if (child === undefined) {
    if (field.kind !== "scalar") throw new Error(`${field.name} has no column.`);
    if (field.column === "id") return { by: [`${alias}.id${direction}`], joins: [] };
    return { by: own(sortColumns(type.table, alias, field.column)), joins: [] };
  }
  if (field.kind === "scalar") throw new Error(`${field.name} is not a relation.`);
  // Every address in a row has an account row: the id in the relation is the same.
  if (field.kind === "relation" && field.target === "Account" && child.column === "id") {
    return { by: own([`${alias}.${field.column}`]), joins: [] };
  }
  const target = entityType(field.target);
  const other = statement.alias();
  const link =
    field.kind === "relation"
      ? `${other}.id = ${alias}.${field.column}`
      : `${other}.${field.by} = ${alias}.id`;
  return {
    by: own(sortColumns(target.table, other, child.column)),
    joins: [`LEFT JOIN ${target.table} ${other} ON ${link}`],
  };
}

function readDirection(value: Value): "" | " DESC" {
  const name = value === null ? "asc" : nameOf(value);
  if (name === "asc") return "";
  if (name === "desc") return " DESC";
  throw new QueryError(
    `Invalid value provided for argument \`orderDirection\`: \`OrderDirection\` has no value ${show(value)}`,
  );
}
