import type { SortType } from "../rest/pages.ts";
import { nameOfNode, partsOfNames, type SomeRows, secondGeneration, tablesOfNames } from "./generations.ts";
import { hideFromPlanner, noExpiry, omitUndefined } from "./name-rows.ts";
import { namesJoins } from "./names-sql.ts";
import { namesWithText, type TextAnywhere } from "./names-with-text.ts";
import type { Place } from "./places.ts";
import { jointText, nameText } from "./stored-name.ts";

// SQL of lists of names: pages of several branches together, each read in the order of an index, and counts.

/** SQL of a list: its values follow `$1`, the times of the places. */
export type NamesQuery = { sql: string; values: string[] };

/** Further members of a row of a list. */
export type Extra = {
  relations: ("owner" | "manager" | "resolves_to" | "former_owner")[];
  isPrimary: boolean;
  /** Of a claimed name: `forwardSql`. */
  forward: (boolean | null)[] | null;
  /** Coin types whose record is the address. */
  coins: number[];
};

/** Collects the values of a statement. */
export function binder(times: readonly number[]) {
  const values = [`{${times.join(",")}}`];
  return {
    values,
    /** Adds a value; returns its place in the SQL. */
    bind: (value: string | number) => `$${values.push(String(value))}`,
  };
}

export type Binder = ReturnType<typeof binder>;

/**
 * What rows are sorted by: SQL of a value that is never null, and its type. `plus` is added where branches are compared, so that each
 * can be read in the order of its index. `isAscending`: whatever the order of the list; only keys after the first.
 */
export type SortKey = { sql: string; type: SortType; plus?: number; isAscending?: boolean };

// Of how many names in order a text is tried before it is looked up: where names with it are not looked up in order, and where they are.
const [firstNames, firstOfAll] = [5_000, 200];
// How many names with a text are looked for in order, in pages: some are left out by filters.
const pagesAhead = 2;
/** SQL condition of names: the root has none. */
export const hasName = "d.name <> ''";

/**
 * One way to find names: what to join the names from, by which condition, and by which SQL they are sorted. `isLater`: its rows are
 * read only up to the last one of the first branch, if that fills the page. `fromSome`: the same of some rows of its table only.
 */
export type Branch = {
  from: string;
  where: string;
  order: readonly SortKey[];
  isLater?: boolean;
  fromSome?: (rows: SomeRows) => string;
  /** The table whose rows those are. */
  table?: string;
};

/** What a list is made of. */
export type ListOptions = {
  branches: readonly Branch[];
  /** Conditions of all branches, which may use `names`. */
  filters: readonly string[];
  /** Values of the row to go on after, bound; none: from the first. */
  after: readonly string[] | undefined;
  isDescending: boolean;
  limit: number;
  /**
   * A condition that many names or few may meet: it is tried on the first names in order, and looked up in its own index where
   * those do not fill the page. Needs `fromSome` of each branch.
   */
  contains?: TextAnywhere;
  /** SQL of further members of each row. */
  extra?: Readonly<Partial<Record<keyof Extra, string>>>;
};

const isDerived = (sql: string) => sql.includes("names.");

const listed = (members: Readonly<Record<string, string>>) =>
  `concat('{', ${Object.entries(members)
    .map(([name, sql]) => `'"${name}":', ${sql}`)
    .join(", ',', ")}, '}')`;

/**
 * SQL of the first names of several branches together. Each branch is read in its own order and only as far as the page needs;
 * a name that several find is there once. What is derived of a name is joined to the names of the page only, unless a filter or the
 * order needs it.
 */
export function listSql(places: readonly Place[], options: ListOptions): string {
  const { branches, filters, after, isDescending, limit, contains, extra = {} } = options;
  const isNeeded = branches.some(({ where, order }) =>
    [where, ...order.map(({ sql }) => sql)].some(isDerived),
  );
  // Names that no registry of ENSv2 leads to are left out.
  const needsFacts = isNeeded || filters.some(isDerived) || secondGeneration(places) !== undefined;
  const joins = namesJoins(places);
  const found = (keys: readonly string[]) =>
    listed({
      row: nameText,
      after: `json_build_array(${keys.map((key) => `(${key})::text`).join(", ")})`,
      ...Object.fromEntries(Object.entries(extra).map(([name, sql]) => [name, `to_json(${sql})`])),
    });
  const near: string[] = [];
  const parts = branches.map(({ from, where, order, isLater, fromSome, table }, at) => {
    const beyond = after && beyondSql(order, after, isDescending);
    const upTo = isLater && order[0] ? [upToSql(order[0], limit, isDescending)] : [];
    const own = [where, hasName, ...(beyond ? [beyond] : []), ...upTo];
    const keys = order.map(({ sql, plus }) => `${sql}${plus ? ` + ${plus}` : ""}`);
    const columns = [
      "d.id",
      ...keys.map((key, at) => `${key} AS k${at}`),
      ...(needsFacts ? [`${found(keys)} AS found`] : []),
    ];
    const select = (source: string, conditions: readonly string[], by: string, most = String(limit)) =>
      `(SELECT ${columns.join(", ")} FROM ${source}${needsFacts ? joins : ""} WHERE ${conditions.join(" AND ")}\n${by} LIMIT ${most})`;
    const ordered = orderSql(order, isDescending);
    const derived = filters.map(hideFromPlanner);
    if (contains === undefined || fromSome === undefined) return select(from, [...own, ...derived], ordered);
    const given = {
      at,
      own,
      order,
      isDescending,
      limit,
      contains,
      filters,
      fromSome,
      ...omitUndefined({ table }),
    };
    const { tables, part } = partWithText(given, select);
    near.push(...tables);
    return part;
  });
  const [first = "", ...others] = parts;
  if (branches.some(({ isLater }) => isLater)) near.push(`first AS MATERIALIZED ${first}`);
  const all = near.some((one) => one.startsWith("first ")) ? ["SELECT * FROM first", ...others] : parts;
  const [{ order: keys } = { order: [] }] = branches;
  const order = `${orderSql(keys, isDescending, "f.k")} LIMIT ${limit}`;
  const page = `(${all.join("\nUNION\n")}) f`;
  const rows = needsFacts
    ? `SELECT f.found FROM ${page} ${order}`
    : `SELECT ${found(keys.map((_, at) => `f.k${at}`))} AS found FROM (SELECT * FROM ${page} ${order}) f ${nameOfNode(places, "f.id")}${joins} ${order}`;
  return `${near.length > 0 ? `WITH RECURSIVE ${near.join(",\n")} ` : ""}SELECT ${jointText("found")} FROM (${rows}) listed`;
}

type TextPart = Required<Pick<ListOptions, "isDescending" | "limit" | "contains" | "filters">> &
  Required<Pick<Branch, "order" | "fromSome">> &
  Pick<Branch, "table"> & { at: number; own: readonly string[] };

// The planner follows an order through a column, not through what is computed of one. The text is looked for in the rows of
// the table, before anything is joined to them; where it is looked up, no order may tempt the planner to read all names.
function partWithText(
  { at, own, order, isDescending, limit, contains, filters, fromSome, table }: TextPart,
  select: (source: string, conditions: readonly string[], by: string, most?: string) => string,
): { tables: string[]; part: string } {
  const sorted = order.map(({ sql }, place) => `${sql} AS o${place}`);
  const columns = order.map((_, place) => `o${place}`);
  const byColumns = orderSql(order, isDescending, "d.o");
  const rowsOf = (one: string, conditions: readonly string[], end: string) =>
    `(SELECT d.*, ${sorted.join(", ")} FROM ${one} d WHERE ${conditions.join(" AND ")} ${end})`;
  const conditions = ["true", ...filters.map(hideFromPlanner)];
  const isOfRow = (filter: string) => !isDerived(filter);
  const most = filters.every(isOfRow) ? limit : pagesAhead * limit;
  const ahead =
    contains.ofAll === undefined || table === undefined
      ? undefined
      : namesWithText(contains.ofAll, { table, own: [...own, ...filters.filter(isOfRow)], most });
  const first = `${orderSql(order, isDescending)} LIMIT ${ahead ? firstOfAll : firstNames}`;
  const tried = fromSome({
    of: (one) =>
      `(SELECT * FROM ${rowsOf(one, own, first)} d WHERE ${hideFromPlanner(contains.text)} ${byColumns} OFFSET 0)`,
    columns,
  });
  const near = { name: `near${at}`, rows: select(tried, conditions, byColumns) };
  const isFull = (name: string) => `WHEN (SELECT count(*) FROM ${name}) >= ${limit} THEN 0`;
  const unless = (cases: readonly string[]) => `CASE ${cases.join(" ")} ELSE ${limit} END`;
  const inOrder = fromSome({
    of: (one) => `(SELECT * FROM with_text_${one} d ${byColumns} OFFSET 0)`,
    columns,
  });
  const next = {
    name: `next${at}`,
    rows: select(inOrder, conditions, byColumns, unless([isFull(near.name)])),
  };
  const found = ahead ? [near, next] : [near];
  const lookedUp = fromSome({ of: (one) => rowsOf(one, [...own, contains.text], "OFFSET 0"), columns });
  const isKnown = [
    ...found.map(({ name }) => isFull(name)),
    ...(ahead ? [`WHEN ${ahead.isAll} THEN 0`] : []),
  ];
  const rest = select(lookedUp, conditions, byColumns, unless(isKnown));
  return {
    tables: [...(ahead?.tables ?? []), ...found.map(({ name, rows }) => `${name} AS MATERIALIZED ${rows}`)],
    part: [...found.map(({ name }) => `(SELECT * FROM ${name})`), rest].join(" UNION "),
  };
}

// No row after the first branch's last one is shown, if that branch alone fills the page.
function upToSql({ sql, plus = 0 }: SortKey, limit: number, isDescending: boolean): string {
  const [extreme, none] = isDescending ? ["min", "-1"] : ["max", noExpiry];
  return `${sql} ${isDescending ? ">=" : "<="} (SELECT CASE WHEN count(*) < ${limit} THEN ${none} ELSE ${extreme}(k0) - ${plus} END FROM first)`;
}

// By the keys themselves, or by columns that have them.
const orderSql = (order: readonly SortKey[], isDescending: boolean, column?: string) =>
  `ORDER BY ${order
    .map(
      ({ sql, isAscending }, at) =>
        `${column === undefined ? sql : `${column}${at}`}${isDescending && !isAscending ? " DESC" : ""}`,
    )
    .join(", ")}`;

// Rows after the given values, in a form of which the first key's index reads only those.
function beyondSql(order: readonly SortKey[], after: readonly string[], isDescending: boolean): string {
  const start = after.map(
    (place, at) => `${place}::${order[at]?.type}${order[at]?.plus ? ` - ${order[at].plus}` : ""}`,
  );
  const [first = "", ...others] = order.map(({ sql }) => sql);
  if (!isDescending || !order[1]?.isAscending)
    return `(${[first, ...others].join(", ")}) ${isDescending ? "<" : ">"} (${start.join(", ")})`;
  const ties = `(${others.join(", ")}) > (${start.slice(1).join(", ")})`;
  return `${first} <= ${start[0]} AND (${first} < ${start[0]} OR ${ties})`;
}

/** Branches of all names under a condition, in an order. */
export const branchesFrom = (places: readonly Place[], where: string, order: Branch["order"]): Branch[] =>
  partsOfNames(places).map((from, at) => ({
    from,
    where,
    order,
    fromSome: (rows) => partsOfNames(places, rows)[at] ?? from,
    ...omitUndefined({ table: tablesOfNames[at] }),
  }));

/** Order by name, as the indexes have it: of a long one the first 256 characters. Of the SQL of a name and its node. */
export const sortedByName = ({ name, id }: { name: string; id: string }): readonly SortKey[] => [
  { sql: `left(${name}, 256)`, type: "text" },
  { sql: id, type: "text" },
];

/** Order by the name of the row. */
export const byName = sortedByName({ name: "d.name", id: "d.id" });

/** Order by a number of the row, missing ones first, then by name. */
export const byNumber = (sql: string): readonly SortKey[] => [
  { sql: `coalesce(${sql}, -1)`, type: "numeric" },
  ...byName,
];

/** Order by expiry; names that never end, or whose date was not set, have none. */
export const byExpiry = byNumber(`nullif(nullif(names.expires, 0), ${noExpiry})`);

/**
 * How many names the branches find: exact while they have at most `most` candidates before anything is derived or a text is looked for, else null. What is
 * derived is joined only where a filter reads it.
 */
export function countSql(
  places: readonly Place[],
  { branches, filters: derived, contains }: Pick<ListOptions, "branches" | "filters" | "contains">,
  most: number,
): string {
  const part = ({ from, where }: Branch, joins = "", more: readonly string[] = []) =>
    `SELECT d.id FROM ${from}${joins} WHERE ${[where, hasName, ...more].join(" AND ")}`;
  const counted = (parts: readonly string[]) =>
    `(SELECT count(*) FROM (${parts.map((one) => `(${one} LIMIT ${most + 1})`).join(" UNION ")}) c)`;
  // One after the other: most lists with too many have them in one branch.
  // Without a look at the names, of which only the root has none: from an index alone.
  const tooMany = branches.map(
    ({ from, where }) => `WHEN EXISTS (SELECT FROM ${from} WHERE ${where} OFFSET ${most}) THEN ${most + 1}`,
  );
  const candidates = counted(branches.map((branch) => part(branch)));
  const filters = [...(contains === undefined ? [] : [contains.text]), ...derived];
  const joins = filters.some(isDerived) ? namesJoins(places) : "";
  const exact =
    filters.length === 0
      ? ""
      : counted(branches.map((branch) => part(branch, joins, filters.map(hideFromPlanner))));
  const total =
    exact === ""
      ? candidates
      : `(SELECT CASE WHEN c.n > ${most} THEN ${most + 1} ELSE ${exact} END FROM (SELECT ${candidates} AS n) c)`;
  return `SELECT (CASE ${tooMany.join(" ")} ELSE ${total} END)::text WHERE $1::bigint[] IS NOT NULL`;
}
