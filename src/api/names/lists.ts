import type { Hex } from "viem";
import { z } from "zod/v4";
import { namePlugins } from "../../deployments/deployments.ts";
import type { Database, RowsReader } from "../database/client.ts";
import { currentMoment } from "../database/moment.ts";
import {
  type Extra,
  hasName,
  hideFromPlanner,
  type Listed,
  listText,
  nameOfNode,
  namesJoins,
  nameText,
  noExpiry,
  objectText,
  partsOfNames,
  secondGeneration,
  tablesOfNames,
} from "../database/names.ts";
import { planOnce } from "../database/prepared.ts";
import type { KnownContracts } from "../resolution/known-contracts.ts";
import { type CursorQuery, cursorPageSchema, type SortType } from "../rest/values.ts";
import type { CurrentStatus } from "../status/status.ts";
import {
  asOf,
  errorSchema,
  type HashOf,
  lookupEnvelope,
  type Meta,
  metaSchema,
  openPage,
  readName,
  refuse,
} from "./contract.ts";
import { type IndexedNamespace, namespacesText, timesOf } from "./indexed-namespaces.ts";
import { type Row, rowSchema } from "./rows.ts";

/** Collects the values of a statement. */
export function binder(times: readonly number[]) {
  const values = [`{${times.join(",")}}`];
  return {
    values,
    /** Adds a value; returns its placeholder. */
    bind: (value: string | number) => `$${values.push(String(value))}`,
  };
}

export type Binder = Pick<ReturnType<typeof binder>, "bind">;

/** A request that a statement serves. */
export type StatementCall = { current: CurrentStatus; request: { raw: Request }; keys: Set<string> };

/** Collects the values of a statement and runs it. `isCommon`: plan it once per connection, for the few forms that most requests have. */
export function openStatement(
  { database, namespaces }: Pick<NamesSource, "database" | "namespaces">,
  { current, request }: StatementCall,
  { isCommon = false } = {},
) {
  const { bind, values } = binder(timesOf(namespaces, current));
  const run = async (sql: string) => {
    const [text] = await database.row(isCommon ? planOnce(sql) : sql, [...values], request.raw.signal);
    return JSON.parse(text ?? "null");
  };
  return {
    bind,
    /** The rows of a list, from the values bound so far. */
    rows: <T>(sql: string): Promise<T[]> => run(sql),
    /** A count up to `max`, likewise; null beyond. */
    count: async (sql: string, max: number): Promise<number | null> => {
      const count = await run(sql);
      return count > max ? null : count;
    },
  };
}

/**
 * A sort key: SQL of a value that is never null, and its type. `plus` is added only where branches are compared, so that each branch can be
 * read in the order of its index. `isAscending`: ascending in any list (keys after the first only). `isDerived`: reads `names`.
 */
export type SortKey = {
  sql: string;
  type: SortType;
  plus?: number;
  isAscending?: boolean;
  isDerived?: boolean;
};

/**
 * One way to find names: a source, a condition and an order. `isLater`: rows are read only up to the last row of the branches that are not,
 * if these fill the page. `table`: the table that has all of the names, if one does.
 */
export type Branch = {
  from: string;
  where: string;
  /** Further conditions on `names`. */
  derived?: readonly string[];
  order: readonly SortKey[];
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
  /** A text anywhere in names. A branch of a table by name tries names in order first, then an index if that does not fill the page. */
  contains?: TextAnywhere | undefined;
  /** SQL of further members of each row. */
  extra?: Readonly<Partial<Record<keyof Extra, string>>> | undefined;
};

/**
 * SQL of the first names of several branches together, each name once. Each branch is read in its own order and only as far as the page
 * needs. `names` is joined to the page alone, unless a filter or the order needs it.
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
      after: `json_build_array(${keys.map((key) => `(${key})::text`).join(", ")})`,
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
      return select(from, [...own, ...ofNames], orderSql(order, isDescending));
    const max = ofNames.length === 0 ? `${limit}` : `${pagesAhead} * ${limit}`;
    const text = { name: `found${at}`, limit, ...keysWithText(contains, { table, own, max, direction }) };
    const byKeys = `ORDER BY k.o0${direction}, k.id${direction}`;
    const searched = partOfKeys(text, (keys, max) =>
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
  const order = `${orderSql(keys, isDescending, "f.k")} LIMIT ${limit}`;
  const page = `(${all.join("\nUNION\n")}) f`;
  const rows = needsNames
    ? `SELECT f.found FROM ${page} ${order}`
    : `SELECT ${found(keys.map((_, at) => `f.k${at}`))} AS found FROM (SELECT * FROM ${page} ${order}) f ${nameOfNode(namespaces, "f.id")}${joins} ${order}`;
  return `${tables.length > 0 ? `WITH RECURSIVE ${tables.join(",\n")} ` : ""}${listText(rows)}`;
}

const isDerived = ({ derived = [], order }: Branch) =>
  derived.length > 0 || order.some((key) => key.isDerived);

// The names of each stage's keys, as many as a page needs, unless earlier stages found enough.
function partOfKeys(
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

// Orders by the keys themselves, or by columns that hold them.
const orderSql = (order: readonly SortKey[], isDescending: boolean, column?: string) =>
  `ORDER BY ${order
    .map(
      ({ sql, isAscending }, at) =>
        `${column === undefined ? sql : `${column}${at}`}${isDescending && !isAscending ? " DESC" : ""}`,
    )
    .join(", ")}`;

// Rows after the given values, in a form that lets the first key's index read only those.
function beyondSql(order: readonly SortKey[], after: readonly string[], isDescending: boolean): string {
  const start = after.map(
    (value, at) => `${value}::${order[at]?.type}${order[at]?.plus ? ` - ${order[at].plus}` : ""}`,
  );
  const [first = "", ...others] = order.map(({ sql }) => sql);
  if (!isDescending || !order[1]?.isAscending)
    return `(${[first, ...others].join(", ")}) ${isDescending ? "<" : ">"} (${start.join(", ")})`;
  const ties = `(${others.join(", ")}) > (${start.slice(1).join(", ")})`;
  return `${first} <= ${start[0]} AND (${first} < ${start[0]} OR ${ties})`;
}

/** Branches of all names under a condition, in an order. */
export const branchesFrom = (
  namespaces: readonly IndexedNamespace[],
  where: string,
  order: Branch["order"],
): Branch[] => partsOfNames(namespaces).map((from, at) => ({ from, where, order, table: tablesOfNames[at] }));

/** Order by name, as indexed: the first 256 characters, then the node. Takes SQL of the name and its node. */
export const sortedByName = ({ name, id }: { name: string; id: string }): readonly SortKey[] => [
  { sql: `left(${name}, 256)`, type: "text" },
  { sql: id, type: "text" },
];

/** Order by the name of the row. */
export const byName = sortedByName({ name: "domain.name", id: "domain.id" });

/** Order by a number of `names` or of the row, missing ones as the greatest, then by name. */
export const byNumber = (sql: string, { isDerived = true } = {}): readonly SortKey[] => [
  { sql: `coalesce(${sql}, ${noExpiry})`, type: "numeric", isDerived },
  ...byName,
];

/** Orders of names by their parameter; names that never end, or whose date is not set, count as having no expiry. */
export const sorts = {
  name: byName,
  expires_at: byNumber(`nullif(nullif(names.expires, 0), ${noExpiry})`),
  registered_at: byNumber("names.registered"),
};

type FoundNames = Pick<ListOptions, "branches" | "filters" | "rowFilters" | "contains">;

/** SQL of the number of names that the branches find. Beyond `max` candidates, before filters and the text, it is `max` plus one. */
export function countSql(
  namespaces: readonly IndexedNamespace[],
  { branches, filters, rowFilters = [], contains }: FoundNames,
  max: number,
): string {
  const part = ({ from, where }: Branch, joins = "", more: readonly string[] = []) =>
    `SELECT domain.id FROM ${from}${joins} WHERE ${[where, hasName, ...more].join(" AND ")}`;
  const counted = (parts: readonly string[]) =>
    `(SELECT count(*) FROM (${parts.map((one) => `(${one} LIMIT ${max + 1})`).join(" UNION ")}) c)`;
  // CASE checks one branch after the other: most lists that are too long are so in one branch. Without `hasName`, which only the root
  // fails, an index alone answers this.
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

// A trigram index finds all names that contain a text, but in no order: it reads thousands for a page. So names that begin with the text
// come from the index of names, where they are adjacent; the others are looked up in groups of names with the same first two characters,
// until the page is full. One lookup for both would read thousands again: all names that begin with a word are in one group.

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
  if (match === "contains") return { branches, contains: anywhereIn(bind, text, { isOfAll }) };
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
// Up to this many names with the text are read at once.
const few = 100;
// Beyond this many groups the text is looked up in all names: many have it, but few groups do.
const maxGroups = 1_500;
// Sorts after every text with the same beginning.
const last = "\u{10ffff}";

/** SQL condition that a name or another column, given as SQL, begins with a text. */
export function beginsWith(bind: Bind, text: string): (name?: string) => string {
  const first = [...text].slice(0, 256).join("");
  const [start, end] = [bind(first), bind(`${first}${last}`)];
  const like = first === text ? undefined : bind(`${escaped(text)}%`);
  return (name = "domain.name") => {
    const range = `left(${name}, 256) >= ${start} AND left(${name}, 256) < ${end}`;
    return like === undefined ? range : `${range} AND ${name} LIKE ${like}`;
  };
}

/** SQL conditions that a name has a text anywhere. `isOfAll`: among all names, listed in order. */
function anywhereIn(bind: Bind, text: string, { isOfAll }: { isOfAll: boolean }): TextAnywhere {
  const like = bind(`%${escaped(text)}%`);
  const has = { text: `domain.name LIKE ${like}` };
  if (!isOfAll || !trigram.test(text)) return has;
  return {
    ...has,
    ofAll: { begins: beginsWith(bind, text)(), later: `substr(domain.name, 2) LIKE ${like}` },
  };
}

const escaped = (text: string) => text.replaceAll(/[\\%_]/g, "\\$&");

/**
 * SQL of the names of a table that have a text, as `id` and `o0`. `stages`: the first names, each stage for when earlier ones find too few;
 * `tables`: the WITH queries of the stages; `lookedUp`: all names; `isAll`: SQL of whether the last stage found all.
 */
type KeysWithText = { tables: string[]; stages: string[]; isAll?: string; lookedUp: string };

// The planner follows an order through a column, not through an expression on it. The text is looked for in the table's rows before any
// join. The lookup has no order, which could tempt the planner to read all names. `own`: further conditions on `domain`.
function keysWithText(
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

// The statement with the records of names, and without.
type LookUp = Readonly<Record<"full" | "bare", string>>;

/** The source of statements about names. */
export type NamesSource = {
  database: Database & RowsReader;
  namespaces: readonly IndexedNamespace[];
  /** Whether resolver records are indexed with their values. */
  hasRecords: boolean;
  /** Lookups by key: long texts, planned once per connection. */
  statements: { names: LookUp; paths: LookUp; addresses: string };
};

/** The context of the endpoints under `/v1`. */
export type LookupContext = { lookup: NamesSource & { hashOf: HashOf; known: KnownContracts } };

/** Each endpoint under `/v1` needs one of the plugins of names. */
export const needsNames = {
  plugins: [[...namePlugins]],
  index: "complete" as const,
};

/** Common parts of the endpoints under `/v1`. */
export const ofLookup = { tag: "Lookup", envelope: lookupEnvelope, needs: needsNames } as const;

/** The response to an unknown name, contract or namespace. */
export const notFoundAnswer = {
  description: "A name or contract that the index has never seen, or an unknown namespace",
  schema: errorSchema,
};

const refusals = {
  404: notFoundAnswer,
  422: { description: "An unsupported request", schema: errorSchema },
};

/** The responses of an endpoint: one with `meta` beside the members of `shape`, and refusals by their status. */
export const answersOf = <S extends z.core.$ZodLooseShape, C extends keyof typeof refusals = never>(
  description: string,
  shape: S,
  ...codes: C[]
) => ({
  200: { description, schema: z.strictObject({ ...shape, meta: metaSchema }) },
  ...(Object.fromEntries(codes.map((code) => [code, refusals[code]])) as Pick<typeof refusals, C>),
});

/** A page of rows with a schema. */
export const pageOf = <S extends z.ZodType>(row: S) => ({ data: z.array(row), page: cursorPageSchema });

/** The responses of an endpoint that lists names. */
export const listAnswers = answersOf("A page of names, possibly empty", pageOf(rowSchema), 404);

/** A parameter with a few values. */
export const choice = <const T extends readonly [string, ...string[]]>(name: string, values: T) =>
  z.enum(values, { error: `${name} must be one of ${values.join(", ")}` });

/** A parameter with any text. */
export const textParameter = (name: string, max: number) =>
  z
    .string({
      error: ({ input }) => (input === undefined ? `${name} is missing` : `${name} must be given once`),
    })
    .max(max, { error: `${name} has more than ${max} characters` })
    .refine((text) => !text.includes("\0"), { error: `${name} must not hold NUL` });

/** A contract on a chain: `<chain id>:<address>`, in any case. */
export const contractParameter = (name: string) =>
  textParameter(name, 80)
    .regex(/^[1-9]\d{0,14}:0x[0-9a-f]{40}$/i, { error: `${name} must be <chain id>:<address>` })
    .transform((text) => {
      const [chain = "", address = ""] = text.toLowerCase().split(":");
      return { chainId: Number(chain), address: address as Hex };
    });

const wordsOf = (text: string) => [...new Set(text.split(",").map((word) => word.trim()))].filter(Boolean);

/** A comma-separated parameter with a few values. */
export const wordsParameter = <const T extends readonly [string, ...string[]]>(
  name: string,
  values: T,
  error = `${name} must be some of ${values.join(", ")} with commas between`,
) =>
  textParameter(name, 1_000)
    .transform(wordsOf)
    .pipe(z.array(z.enum(values, { error })));

const disjunction = new Intl.ListFormat("en", { type: "disjunction" });

/** The parameter for further members of a response. Clients learn from the refusal which ones exist. */
export const includeParameter = <const T extends readonly [string, ...string[]]>(values: T) =>
  wordsParameter("include", values, `include must contain only ${disjunction.format(values)}`).optional();

const standAlone = ["resolves_to", "former_owner"] as const;

const ofState = ["owner", "manager", "role_holder"] as const;

/** What an address is to a name by the state in force. */
export type RelationOfState = (typeof ofState)[number];

/** The relation of an address to names: some by the state in force, or one that stands alone. */
export type Relation = { of: readonly RelationOfState[]; alone?: (typeof standAlone)[number] };

// Those of `known` among words, in this order; `any` is all of them. Undefined if there is another word, or none.
const relationsIn = <T extends RelationOfState>(words: readonly string[], known: readonly T[]) =>
  words.length > 0 && words.every((word) => word === "any" || known.some((one) => one === word))
    ? known.filter((one) => words.includes("any") || words.includes(one))
    : undefined;

// From comma-separated words in any order, repeatable; `read` gives undefined for others.
const relationWords = <T>(read: (words: readonly string[]) => T | undefined, error: string) =>
  textParameter("relation", 100).transform((text, context): T => {
    const found = read(wordsOf(text));
    if (found === undefined) context.addIssue(error);
    return found ?? z.NEVER;
  });

/** Some of the known relations by the state in force. */
export const relationsText = <const T extends readonly RelationOfState[]>(known: T, error: string) =>
  relationWords<readonly T[number][]>((words) => relationsIn(words, known), error);

const wrongRelation =
  "relation must be any, some of owner, manager and role_holder, or resolves_to or former_owner alone";

/** A relation: some by the state in force, or one that stands alone. */
export const relationText = relationWords((words): Relation | undefined => {
  const alone = standAlone.find((one) => words.length === 1 && one === words[0]);
  const of = relationsIn(words, ofState);
  return alone ? { of: [], alone } : of && { of };
}, wrongRelation).default({ of: ofState });

/** The parameter that selects a namespace. */
export const namespaceParameter = textParameter("namespace", 60).optional().describe(namespacesText);

type Namespaces = Pick<NamesSource, "namespaces">;

/** The indexed deployments of a namespace; none if it is undefined. Refuses a namespace that is not indexed. */
export function namespacesIn({ namespaces }: Namespaces, namespace: string | undefined) {
  if (namespace === undefined) return [];
  const ofIt = namespaces.filter((home) => home.namespace === namespace);
  if (ofIt.length > 0) return ofIt;
  const known = namesOfNamespaces({ namespaces });
  return refuse("not_found", `The namespace ${JSON.stringify(namespace)} is not indexed; indexed: ${known}`);
}

/** The indexed namespaces, in words. */
export const namesOfNamespaces = ({ namespaces }: Namespaces) =>
  [...new Set(namespaces.map((home) => home.namespace))].join(", ");

/** SQL condition that names belong to a namespace. Refuses one that is not indexed. */
export function inNamespace(source: Namespaces, namespace: string | undefined): string[] {
  const ofIt = namespacesIn(source, namespace).map((home) => source.namespaces.indexOf(home) + 1);
  return ofIt.length === 0 ? [] : [`names.home IN (${ofIt.join(", ")})`];
}

const authorities = ["ens_v0", "ens_v1", "ens_v2"] as const;

/** The parameter that selects registries of the root chain by their generation. */
export const authorityParameter = wordsParameter("authority", authorities)
  .refine((words) => words.length > 0, { error: `authority must be some of ${authorities.join(", ")}` })
  .transform((words) => words.sort())
  .optional();

/** SQL conditions that rows have one of the authorities. Names of other chains have none, nor have those that nobody ever held. */
export function ofAuthority(
  authority: readonly (typeof authorities)[number][] | undefined,
  namespaces: readonly IndexedNamespace[],
): string[] {
  if (authority === undefined) return [];
  const v2 = secondGeneration(namespaces);
  const isHeld = "(names.is_owned OR names.status <> 'unregistered')";
  const ofFirst = v2 ? `${isHeld} AND NOT names.is_v2` : isHeld;
  const conditions = {
    ens_v0: [`${ofFirst} AND NOT names.is_migrated`],
    ens_v1: [`${ofFirst} AND names.is_migrated`],
    ens_v2: v2 ? ["names.is_v2"] : [],
  };
  const asked = authority.flatMap((one) => conditions[one]);
  if (!namespaces[0]?.isRoot || asked.length === 0) return ["false"];
  return [`(${asked.join(" OR ")})`, ...(namespaces.length > 1 ? ["names.home = 1"] : [])];
}

/** Reads a name from a path or parameter. Refuses one that cannot be normalized. */
export function nameIn(given: string) {
  const name = readName(given);
  return "fault" in name ? refuse("invalid_input", `The name is invalid: ${name.fault}`) : name;
}

/** A list: how to find its names, and the form of its rows. `list`: what its cursors belong to. */
type List = {
  list: readonly unknown[];
  branches: (statement: Binder) => FoundNames;
  /** SQL of further members of the rows. */
  extra?: (statement: Binder) => NonNullable<ListOptions["extra"]>;
  isDescending?: boolean;
  /** Whether connections plan it once: for the few forms of a list that most requests have. */
  isCommon?: boolean;
  /** Up to which number the total is counted; without it there is no total. */
  maxCounted?: number | undefined;
  /** Whose names the list has, if not all. */
  of?: NamesOf | undefined;
  show: (one: Listed) => Row;
};

/** Names that an address holds, or those in a registry of ENSv2. */
type NamesOf = { holder: Hex } | { registry: Hex };

const leavesOut = (chainId: number, where = "true") =>
  `SELECT EXISTS (SELECT FROM v2_contracts c WHERE c.chain_id = ${chainId} AND c.leaves_out AND ${where})::text`;

// Whether any registry leaves names out, which few indexes have: read once for each block.
const anyLeftOut = new WeakMap<object, { heads: string; read: Promise<(string | null)[]> }>();

async function isAnyLeftOut(
  database: Database,
  chainId: number,
  heads: string | undefined,
): Promise<boolean> {
  if (heads === undefined || currentMoment() !== undefined) return true;
  let known = anyLeftOut.get(database);
  if (known?.heads !== heads) {
    // Others may wait for the same.
    known = { heads, read: database.row(leavesOut(chainId), [], AbortSignal.timeout(10_000)) };
    known.read.catch(() => anyLeftOut.delete(database));
    anyLeftOut.set(database, known);
  }
  return (await known.read)[0] === "true";
}

/** What `meta` says of a list where a bound left names of ENSv2 out (docs/data-model.md). */
export async function namesLeftOut(
  { database, namespaces }: Pick<NamesSource, "database" | "namespaces">,
  { request, current }: StatementCall,
  of?: NamesOf,
): Promise<Meta> {
  const v2 = secondGeneration(namespaces);
  if (v2 === undefined || !(await isAnyLeftOut(database, v2.chainId, current.heads))) return {};
  const [[kind, value] = ["all"]] = Object.entries(of ?? {});
  const isOf = {
    all: "true",
    registry: "c.address = $1",
    holder:
      "EXISTS (SELECT FROM v2_entries e WHERE e.chain_id = c.chain_id AND e.registry = c.address AND e.owner = $1)",
  }[kind];
  const values = value === undefined ? [] : [value];
  const [isLess] = await database.row(leavesOut(v2.chainId, isOf), values, request.raw.signal);
  return isLess === "true" ? { completeness: "partial", unsupported_reason: "names_above_limit" } : {};
}

/** A page of a list, by one statement, and another for its total. */
export async function listPage(
  { lookup }: LookupContext,
  call: StatementCall & { query: CursorQuery },
  { list, branches: find, extra, isDescending = false, isCommon = false, maxCounted, of, show }: List,
) {
  const statement = openStatement(lookup, call, { isCommon });
  const found = find(statement);
  const opened = openPage(call.query, list, found.branches[0]?.order.map(({ type }) => type) ?? []);
  const total = maxCounted
    ? statement.count(countSql(lookup.namespaces, found, maxCounted), maxCounted)
    : null;
  const options = {
    ...found,
    after: opened.after?.map(statement.bind),
    isDescending,
    limit: opened.limit,
    extra: extra?.(statement),
  };
  const [leftOut, ...rows] = await Promise.all([
    namesLeftOut(lookup, call, of),
    statement.rows<Listed>(listSql(lookup.namespaces, options)),
    total,
  ]);
  const { shown, page } = opened.of(...rows);
  const meta = { ...asOf(call.current, lookup.hashOf), ...leftOut };
  return { status: 200 as const, body: { data: shown.map(show), page, meta } };
}
