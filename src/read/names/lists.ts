import { beyondSql, orderBySql, rowPositionSql, type SortKey } from "../sql/keyset.ts";
import type { IndexedNamespace } from "./indexed-namespaces.ts";
import type { Binder } from "./source.ts";
import {
  columns,
  type Extra,
  hasName,
  hideFromPlanner,
  listText,
  nameOfNode,
  namesJoins,
  nameText,
  noExpiry,
  objectText,
  partsOfNames,
  secondGeneration,
  tablesOfNames,
} from "./stored-name.ts";

// Up to this many names are read at once.
const few = 100;

/** A sort key of names. `isDerived`: it reads `names`. */
export type NameSortKey = SortKey & { isDerived?: boolean };

/**
 * One way to find names: a source, a condition and an order. `isLater`: rows are read only up to the last row of the
 * branches that are not, if these fill the page. `table`: the table that has all of the names, if one does.
 */
export type Branch = {
  from: string;
  where: string;
  /** Further conditions on `names`. */
  derived?: readonly string[];
  order: readonly NameSortKey[];
  isLater?: boolean;
  table?: string | undefined;
};

export type ListOptions = {
  branches: readonly Branch[];
  /** Conditions of all branches on `names`. */
  filters: readonly string[];
  /** Conditions of all branches on the row alone. */
  rowFilters?: readonly string[];
  /** Bound sort values of the row after which the page begins; undefined for the first page. */
  after: readonly string[] | undefined;
  isDescending: boolean;
  /** A number, or SQL of one. */
  limit: number | string;
  /**
   * A text anywhere in names. A branch of a table by name tries names in order first, then an index if that does not
   * fill the page.
   */
  contains?: TextAnywhere | undefined;
  /** SQL of further members of each row. */
  extra?: Readonly<Partial<Record<keyof Extra, string>>> | undefined;
};

/**
 * SQL of the first names of several branches together, each name once. Each branch is read in its own order and only as
 * far as the page needs. `names` is joined to the page alone, unless a filter or the order needs it.
 */
export function listSql(namespaces: readonly IndexedNamespace[], options: ListOptions): string {
  const { branches, filters, rowFilters = [], after, isDescending, limit, contains, extra = {} } = options;
  // The join leaves out ENSv2 names that no registry leads to.
  const needsNames =
    secondGeneration(namespaces) !== undefined || filters.length > 0 || branches.some(isDerived);
  const joins = namesJoins(namespaces);
  const direction = isDescending ? " DESC" : "";
  const found = (keys: readonly string[]) =>
    objectText(nameText, {
      after: rowPositionSql(keys),
      ...extra,
    });
  const tables: string[] = [];
  const parts = branches.map((branch, at) => {
    const { from, where, derived = [], order, isLater, table } = branch;
    const beyond = after && beyondSql(order, after, isDescending);
    const upTo = isLater && order[0] ? [upToSql(order[0], limit, isDescending)] : [];
    const isByName = table !== undefined && order === byName;
    const ofRow = [...rowFilters, ...(contains && !isByName ? [contains.text] : [])].map(hideFromPlanner);
    const own = [where, hasName, ...ofRow, ...(beyond ? [beyond] : []), ...upTo];
    const keys = order.map(({ sql, plus }) => `${sql}${plus ? ` + ${plus}` : ""}`);
    const columns = [
      "domain.id",
      ...keys.map((key, at) => `${key} AS k${at}`),
      ...(needsNames ? [`${found(keys)} AS found`] : []),
    ];
    const select = (source: string, conditions: readonly string[], by: string, max = String(limit)) =>
      `(SELECT ${columns.join(", ")} FROM ${source}${needsNames ? joins : ""} WHERE ${conditions.join(" AND ")}\n${by} LIMIT ${max})`;
    const ofNames = [...derived, ...filters].map(hideFromPlanner);
    if (contains === undefined || !isByName)
      return select(from, [...own, ...ofNames], orderBySql(order, isDescending));
    const max = ofNames.length === 0 ? `${limit}` : `${pagesAhead} * ${limit}`;
    const text = {
      name: `found${at}`,
      limit,
      ...selectKeysWithText(contains, { table, own, max, direction }),
    };
    const byKeys = `ORDER BY k.o0${direction}, k.id${direction}`;
    const searched = buildPartOfKeys(text, (keys, max) =>
      select(`(${keys}) k ${nameOfNode(namespaces, "k.id")}`, ["true", ...ofNames], byKeys, max),
    );
    tables.push(...searched.tables);
    return searched.part;
  });
  const [sooner, later] = [false, true].map((isLater) =>
    parts.filter((_, at) => (branches[at]?.isLater ?? false) === isLater),
  );
  const isBounded = later !== undefined && later.length > 0;
  if (isBounded) tables.push(`first AS MATERIALIZED (${sooner?.join("\nUNION\n")})`);
  const all = isBounded ? ["SELECT * FROM first", ...later] : parts;
  const [{ order: keys } = { order: [] }] = branches;
  const order = `${orderBySql(keys, isDescending, "f.k")} LIMIT ${limit}`;
  const page = `(${all.join("\nUNION\n")}) f`;
  const rows = needsNames
    ? `SELECT f.found FROM ${page} ${order}`
    : `SELECT ${found(keys.map((_, at) => `f.k${at}`))} AS found FROM (SELECT * FROM ${page} ${order}) f ${nameOfNode(namespaces, "f.id")}${joins} ${order}`;
  return `${tables.length > 0 ? `WITH RECURSIVE ${tables.join(",\n")} ` : ""}${listText(rows)}`;
}

/**
 * SQL of a list with its `total` in one pass, where the branches find few names; `rows` is null where they find more.
 * For branches without conditions on `names`, in the order of the first.
 */
export function fewSql(
  namespaces: readonly IndexedNamespace[],
  { branches, filters, rowFilters = [], after, isDescending, limit, contains, extra = {} }: ListOptions,
): string {
  const [{ order } = { order: [] }] = branches;
  // Without ENSv2 each row is read by the index that finds it.
  const isOneTable = secondGeneration(namespaces) === undefined;
  const found = branches.map(
    ({ from, where }) =>
      `(SELECT ${isOneTable ? columns : "domain.id"} FROM ${from} WHERE ${where} LIMIT ${few + 1})`,
  );
  const candidates = isOneTable ? "held domain" : `held f ${nameOfNode(namespaces, "f.id")}`;
  const isListed = [...filters, ...rowFilters, ...(contains ? [contains.text] : [])].join(" AND ");
  const beyond = after ? ` AND ${beyondSql(order, after, isDescending)}` : "";
  const row = objectText(nameText, { after: rowPositionSql(order.map(({ sql }) => sql)), ...extra });
  const rows = `array_agg(${row} ${orderBySql(order, isDescending)}) FILTER (WHERE ${isListed}${beyond})`;
  const areFew = `(SELECT count(*) FROM held) <= ${few}`;
  return `WITH held AS MATERIALIZED (${found.join(" UNION ")})
SELECT count(*) FILTER (WHERE ${isListed}) AS total,
  CASE WHEN ${areFew} THEN '[' || coalesce(array_to_string((${rows})[1:${limit}], ','), '') || ']' END AS rows
FROM ${candidates}${namesJoins(namespaces)} WHERE ${hasName} AND ${areFew}`;
}

const isDerived = ({ derived = [], order }: Branch) =>
  derived.length > 0 || order.some((key) => key.isDerived);

// The names of each stage's keys, as many as a page needs, unless earlier stages found enough.
function buildPartOfKeys(
  found: KeysWithText & Pick<ListOptions, "limit"> & { name: string },
  namesOf: (keys: string, max: string) => string,
): { tables: string[]; part: string } {
  const { name, limit, tables, stages, isAll, lookedUp } = found;
  const isFull = stages.map((_, at) => `WHEN (SELECT count(*) FROM ${name}_${at}) >= ${limit} THEN 0`);
  const unless = (cases: readonly string[]) =>
    cases.length === 0 ? `${limit}` : `CASE ${cases.join(" ")} ELSE ${limit} END`;
  const staged = stages.map(
    (keys, at) => `${name}_${at} AS MATERIALIZED ${namesOf(keys, unless(isFull.slice(0, at)))}`,
  );
  const isEnough = isAll === undefined ? isFull : [...isFull, `WHEN ${isAll} THEN 0`];
  const parts = [
    ...stages.map((_, at) => `(SELECT * FROM ${name}_${at})`),
    namesOf(lookedUp, unless(isEnough)),
  ];
  return { tables: [...tables, ...staged], part: parts.join(" UNION ") };
}

// If the other branches fill the page, it shows no row after their last one.
function upToSql({ sql, plus = 0 }: SortKey, limit: number | string, isDescending: boolean): string {
  const [extreme, none] = isDescending ? ["min", "-1"] : ["max", noExpiry];
  return `${sql} ${isDescending ? ">=" : "<="} (SELECT CASE WHEN count(*) < ${limit} THEN ${none} ELSE ${extreme}(k0) - ${plus} END FROM first)`;
}

/** Branches of all names under a condition, in an order. */
export const branchesFrom = (
  namespaces: readonly IndexedNamespace[],
  where: string,
  order: Branch["order"],
): Branch[] => partsOfNames(namespaces).map((from, at) => ({ from, where, order, table: tablesOfNames[at] }));

/** Order by name, as indexed: the first 256 characters, then the node. Takes SQL of the name and its node. */
export const sortedByName = ({ name, id }: { name: string; id: string }): readonly NameSortKey[] => [
  { sql: `left(${name}, 256)`, type: "text" },
  { sql: id, type: "text" },
];

/** Order by the name of the row. */
export const byName = sortedByName({ name: "domain.name", id: "domain.id" });

/** Order by a number of `names` or of the row, missing ones as the greatest, then by name. */
export const byNumber = (sql: string, { isDerived = true } = {}): readonly NameSortKey[] => [
  { sql: `coalesce(${sql}, ${noExpiry})`, type: "numeric", isDerived },
  ...byName,
];

/** Orders of names by their parameter; names that never end, or whose date is not set, count as having no expiry. */
export const sorts = {
  name: byName,
  expires_at: byNumber(`nullif(nullif(names.expires, 0), ${noExpiry})`),
  registered_at: byNumber("names.registered"),
};

/** Which names a list has. */
export type FoundNames = Pick<ListOptions, "branches" | "filters" | "rowFilters" | "contains">;

/**
 * SQL of the number of names that the branches find. Beyond `max` candidates, before filters and the text, it is `max`
 * plus one.
 */
export function countSql(
  namespaces: readonly IndexedNamespace[],
  { branches, filters, rowFilters = [], contains }: FoundNames,
  max: number,
): string {
  const part = ({ from, where }: Branch, joins = "", more: readonly string[] = []) =>
    `SELECT domain.id FROM ${from}${joins} WHERE ${[where, hasName, ...more].join(" AND ")}`;
  const counted = (parts: readonly string[]) =>
    `(SELECT count(*) FROM (${parts.map((one) => `(${one} LIMIT ${max + 1})`).join(" UNION ")}) c)`;
  // CASE checks one branch after the other: most lists that are too long are so in one branch. Without `hasName`, which
  // only the root fails, an index alone answers this.
  const tooMany = branches.map(
    ({ from, where }) => `WHEN EXISTS (SELECT FROM ${from} WHERE ${where} OFFSET ${max}) THEN ${max + 1}`,
  );
  const candidates = counted(branches.map((branch) => part(branch)));
  const conditions = [...(contains ? [contains.text] : []), ...rowFilters, ...filters].map(hideFromPlanner);
  const joins = filters.length > 0 ? namesJoins(namespaces) : "";
  const exact = counted(branches.map((branch) => part(branch, joins, conditions)));
  const total =
    conditions.length === 0
      ? candidates
      : `(SELECT CASE WHEN c.n > ${max} THEN ${max + 1} ELSE ${exact} END FROM (SELECT ${candidates} AS n) c)`;
  return `SELECT (CASE ${tooMany.join(" ")} ELSE ${total} END)::text WHERE $1::bigint[] IS NOT NULL`;
}

// A trigram index finds all names that contain a text, but in no order: it reads thousands for a page. So names that
// begin with the text come from the index of names, where they are adjacent; the others are looked up in groups of
// names with the same first two characters, until the page is full. One lookup for both would read thousands again: all
// names that begin with a word are in one group.

/** SQL conditions that a text is anywhere in `domain.name`. */
type TextAnywhere = {
  text: string;
  /** The name begins with the text, or has it later on. For lists of all names in order, if the text has a trigram. */
  ofAll?: { begins: string; later: string };
};

/** Adds a value to a statement; returns its placeholder. */
type Bind = (value: string) => string;

/** The text in the names of a list. `isOfAll`: the list has all names. */
type TextOf = { text: string | undefined; match: "prefix" | "contains"; isOfAll?: boolean };

/** Restricts branches to names with a text. `name`: SQL of the name by which a branch is sorted. */
export function withText(
  branches: readonly (Branch & { name?: string })[],
  { bind }: Binder,
  { text, match, isOfAll = false }: TextOf,
): Pick<ListOptions, "branches" | "contains"> {
  if (text === undefined) return { branches };
  if (match === "contains") return { branches, contains: matchAnywhere(bind, text, { isOfAll }) };
  const begins = beginsWith(bind, text);
  const ofText = ({ name, where, ...branch }: Branch & { name?: string }) => ({
    ...branch,
    where: `${where} AND ${begins(name)}`,
  });
  return { branches: branches.map(ofText) };
}

// The characters that make trigrams under any locale of the database.
const trigram = /[a-z0-9]{3}/i;
// How many names are tried in order before the text is looked up: without, and with a lookup in order (`ofAll`).
const [firstNames, firstOfAll] = [5_000, 200];
// Pages of names with the text that are looked up in order, since filters leave some out.
const pagesAhead = 2;
// Beyond this many groups the text is looked up in all names: many have it, but few groups do.
const maxGroups = 1_500;
// Sorts after every text with the same beginning.
const last = "\u{10ffff}";

/** SQL condition that a name or another column, given as SQL, begins with a text. */
export function beginsWith(bind: Bind, text: string): (name?: string) => string {
  const first = [...text].slice(0, 256).join("");
  const [start, end] = [bind(first), bind(`${first}${last}`)];
  const like = first === text ? undefined : bind(`${escapePattern(text)}%`);
  return (name = "domain.name") => {
    const range = `left(${name}, 256) >= ${start} AND left(${name}, 256) < ${end}`;
    return like === undefined ? range : `${range} AND ${name} LIKE ${like}`;
  };
}

/** SQL conditions that a name has a text anywhere. `isOfAll`: among all names, listed in order. */
function matchAnywhere(bind: Bind, text: string, { isOfAll }: { isOfAll: boolean }): TextAnywhere {
  const like = bind(`%${escapePattern(text)}%`);
  const has = { text: `domain.name LIKE ${like}` };
  if (!isOfAll || !trigram.test(text)) return has;
  return {
    ...has,
    ofAll: { begins: beginsWith(bind, text)(), later: `substr(domain.name, 2) LIKE ${like}` },
  };
}

const escapePattern = (text: string) => text.replaceAll(/[\\%_]/g, "\\$&");

/**
 * SQL of the names of a table that have a text, as `id` and `o0`. `stages`: the first names, each stage for when
 * earlier ones find too few; `tables`: the WITH queries of the stages; `lookedUp`: all names; `isAll`: SQL of whether
 * the last stage found all.
 */
type KeysWithText = { tables: string[]; stages: string[]; isAll?: string; lookedUp: string };

// The planner follows an order through a column, not through an expression on it. The text is looked for in the table's
// rows before any join. The lookup has no order, which could tempt the planner to read all names. `own`: further
// conditions on `domain`.
function selectKeysWithText(
  { text, ofAll }: TextAnywhere,
  { table, own, max, direction }: Record<"table" | "max" | "direction", string> & { own: string[] },
): KeysWithText {
  const keys = `SELECT domain.id, domain.name FROM ${table} domain WHERE`;
  const conditions = own.join(" AND ");
  const order = `ORDER BY left(domain.name, 256)${direction}, domain.id${direction}`;
  const sorted = "SELECT domain.id, left(domain.name, 256) AS o0";
  const first = `${sorted}, domain.name FROM ${table} domain WHERE ${conditions} ${order} LIMIT ${ofAll ? firstOfAll : firstNames}`;
  const tried = `SELECT * FROM (${first}) domain WHERE ${hideFromPlanner(text)} ORDER BY o0${direction}, id${direction} OFFSET 0`;
  const lookedUp = `${sorted} FROM ${table} domain WHERE ${conditions} AND ${text} OFFSET 0`;
  if (ofAll === undefined) return { tables: [], stages: [tried], lookedUp };
  const { begins, later } = ofAll;
  const areMany = `(SELECT count(*) FROM few_${table}) > ${few}`;
  const end = `(CASE WHEN char_length(g.start) = 2 THEN g.start || '${last}' ELSE g.start END COLLATE "C")`;
  // Without a trigram index, whose extension not every server has, the index of names serves a group.
  const ofGroup = `left(domain.name, 2) = g.start AND left(domain.name, 256) >= g.start COLLATE "C" AND left(domain.name, 256) <= ${end}`;
  // Groups come in order, and the limit ends the search.
  const ofGroups = `SELECT n.* FROM groups_${table} g CROSS JOIN LATERAL (
    ${keys} ${ofGroup} AND ${later} AND NOT (${begins}) AND ${conditions} ${order} LIMIT ${max}) n LIMIT ${max}`;
  const found = `(${keys} ${conditions} AND ${begins} ${order} LIMIT ${max})
  UNION ALL (SELECT domain.id, domain.name FROM few_${table} domain WHERE ${conditions} AND NOT (${begins}) AND NOT ${areMany})
  UNION ALL (${ofGroups})`;
  return {
    lookedUp,
    tables: [
      `few_${table} AS MATERIALIZED (${keys} ${later} LIMIT ${few + 1})`,
      `groups_${table} (start, number) AS (
  (SELECT left(domain.name, 2), 1 FROM ${table} domain WHERE ${conditions} AND ${areMany} ${order} LIMIT 1)
  UNION ALL SELECT (SELECT left(domain.name, 2) FROM ${table} domain WHERE left(domain.name, 256) > ${end} ${order} LIMIT 1), g.number + 1
    FROM groups_${table} g WHERE g.start IS NOT NULL AND g.number <= ${maxGroups})`,
      `keys_${table} AS MATERIALIZED (${sorted} FROM (${found}) domain ${order} LIMIT ${max})`,
    ],
    stages: [tried, `SELECT * FROM keys_${table} ORDER BY o0, id OFFSET 0`],
    isAll: `(SELECT count(*) FROM keys_${table}) < ${max} AND (SELECT count(*) FROM groups_${table}) <= ${maxGroups}`,
  };
}
