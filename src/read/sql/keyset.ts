/** The SQL type of a sort value. */
export type SortType = "text" | "numeric" | "int";

/**
 * A sort key: SQL of a value that is never null, and its type. `plus` is added only where sources are compared, so that
 * each source can be read in the order of its index. `isAscending`: ascending in any list (keys after the first only).
 */
export type SortKey = { sql: string; type: SortType; plus?: number; isAscending?: boolean };

/** SQL that orders by the keys, or by the columns `<column>0`, `<column>1`, … that hold them. */
export const orderBySql = (keys: readonly SortKey[], isDescending: boolean, column?: string) =>
  `ORDER BY ${keys
    .map(
      ({ sql, isAscending }, at) =>
        `${column === undefined ? sql : `${column}${at}`}${isDescending && !isAscending ? " DESC" : ""}`,
    )
    .join(", ")}`;

/**
 * SQL condition on the rows after the bound values of a row, in a form that lets the first key's index read only those.
 */
export function beyondSql(keys: readonly SortKey[], after: readonly string[], isDescending: boolean): string {
  const start = after.map(
    (value, at) => `${value}::${keys[at]?.type}${keys[at]?.plus ? ` - ${keys[at].plus}` : ""}`,
  );
  const [first = "", ...others] = keys.map(({ sql }) => sql);
  if (!isDescending || !keys[1]?.isAscending)
    return `(${[first, ...others].join(", ")}) ${isDescending ? "<" : ">"} (${start.join(", ")})`;
  const ties = `(${others.join(", ")}) > (${start.slice(1).join(", ")})`;
  return `${first} <= ${start[0]} AND (${first} < ${start[0]} OR ${ties})`;
}

/** SQL of the position of a row, which its cursor holds: the values of its keys as a JSON list of texts. */
export const rowPositionSql = (keys: readonly string[]) =>
  `json_build_array(${keys.map((key) => `(${key})::text`).join(", ")})`;

/** The types of the sort values, by which a cursor is checked. */
export const listSortTypes = (keys: readonly SortKey[]) => keys.map(({ type }) => type);
