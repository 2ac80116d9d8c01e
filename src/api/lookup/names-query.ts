import { type Database, planOnce } from "../database/client.ts";
import { addressSql } from "./address-sql.ts";
import type { SortType } from "./contract.ts";
import { nameOfNode, partsOfNames, resolverFacts, secondGeneration } from "./generations.ts";
import { nameJoins, nameJson, opaque, type StoredName } from "./name-rows.ts";
import type { Place } from "./places.ts";
import { readV2Records, recordsJson, type StoredRecords, type V2Resolver } from "./stored-records.ts";

/** What statements about names are made for. */
export type NamesSource = {
  database: Database;
  places: readonly Place[];
  /** Whether records of resolvers are indexed with their values. */
  hasRecords: boolean;
  /** Look-ups by key: long texts, which each connection plans once. */
  statements: Readonly<Record<"names" | "namesWithRecords" | "addresses", string>>;
};

/** SQL of a list: its values follow `$1`, the times of the places. */
export type NamesQuery = { sql: string; values: string[] };

/** A row and what it is sorted by, as texts: where the next page begins. */
export type Listed = { row: StoredName; after: string[] } & { [K in keyof Extra]?: Extra[K] | undefined };

type Extra = {
  relations: ("owner" | "manager" | "resolves_to" | "former_owner")[];
  isPrimary: boolean;
  window: number;
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

// Of how many names in order a text is tried before it is looked up.
const firstNames = 5_000;

const hasName = "d.name <> ''";

/** One way to find names: what to join the names from, by which condition, and by which SQL they are sorted. */
export type Branch = { from: string; where: string; order: readonly SortKey[] };

/** What a list is made of. */
export type ListOptions = {
  branches: readonly Branch[];
  /** Conditions of all branches, which may use all of `nameJoins`. */
  filters: readonly string[];
  /** Values of the row to go on after, bound; none: from the first. */
  after: readonly string[] | undefined;
  isDescending: boolean;
  limit: number;
  /**
   * A condition that many names or few may meet: it is tried on the first names in order, and looked up in its own index where
   * those do not fill the page.
   */
  contains?: string;
  /** SQL of further members of each row. */
  extra?: Readonly<Partial<Record<keyof Extra, string>>>;
};

/**
 * SQL of the first names of several branches together. Each branch is read in its own order and only as far as the page needs;
 * a name that several find is there once.
 */
export function listSql(places: readonly Place[], options: ListOptions): string {
  const { branches, filters, after, isDescending, limit, contains, extra = {} } = options;
  const joins = nameJoins(places);
  const directed = ({ isAscending }: SortKey, sql: string) =>
    isDescending && !isAscending ? `${sql} DESC` : sql;
  const derived = filters.map(opaque);
  const near: string[] = [];
  const parts = branches.map(({ from, where, order }, at) => {
    const beyond = after && beyondSql(order, after, isDescending);
    const own = [where, hasName, ...(beyond ? [beyond] : [])];
    const keys = order.map(({ sql, plus }, at) => `${sql}${plus ? ` + ${plus}` : ""} AS k${at}`).join(", ");
    const ordered = `ORDER BY ${order.map((key) => directed(key, key.sql)).join(", ")}`;
    const select = (source: string, conditions: readonly string[], most: string, by = ordered) =>
      `(SELECT d.id, ${keys} FROM ${source}${joins} WHERE ${conditions.join(" AND ") || "true"}\n${by} LIMIT ${most})`;
    if (contains === undefined) return select(from, [...own, ...derived], String(limit));
    // The planner follows an order through a column, not through what is computed of one.
    const columns = order.map(({ sql }, at) => `${sql} AS o${at}`).join(", ");
    const first = `(SELECT d.*, ${columns} FROM ${from} WHERE ${own.join(" AND ")} ${ordered} LIMIT ${firstNames}) d`;
    const byColumns = `ORDER BY ${order.map((key, at) => directed(key, `d.o${at}`)).join(", ")}`;
    near.push(
      `near${at} AS MATERIALIZED ${select(first, [opaque(contains), ...derived], String(limit), byColumns)}`,
    );
    const rest = `CASE WHEN (SELECT count(*) FROM near${at}) >= ${limit} THEN 0 ELSE ${limit} END`;
    return `(SELECT * FROM near${at}) UNION ${select(from, [...own, contains, ...derived], rest)}`;
  });
  const sorted = branches[0]?.order ?? [];
  const keys = sorted.map((_, at) => `f.k${at}`);
  const more = Object.entries(extra).map(([name, sql]) => `, '${name}', ${sql}`);
  return `${near.length > 0 ? `WITH ${near.join(",\n")} ` : ""}SELECT coalesce(json_agg(found), '[]')::text FROM (
SELECT json_build_object('row', ${nameJson(places)}, 'after', json_build_array(${keys.map((key) => `${key}::text`).join(", ")})${more.join("")}) AS found
FROM (${parts.join("\nUNION\n")}) f ${nameOfNode(places, "f.id")}${joins}
ORDER BY ${sorted.map((key, at) => directed(key, `f.k${at}`)).join(", ")} LIMIT ${limit}) listed`;
}

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
  partsOfNames(places).map((from) => ({ from, where, order }));

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

/** Condition that a name begins with a text or contains it, byte by byte; of the SQL of a name. */
export function nameFilter(
  { bind }: Binder,
  text: string,
  match: "prefix" | "contains",
): (name?: string) => string {
  const escaped = text.replaceAll(/[\\%_]/g, "\\$&");
  if (match === "contains") {
    const like = bind(`%${escaped}%`);
    return (name = "d.name") => `${name} LIKE ${like}`;
  }
  const first = [...text].slice(0, 256).join("");
  const [start, end] = [bind(first), bind(`${first}\u{10ffff}`)];
  const like = first === text ? undefined : bind(`${escaped}%`);
  return (name = "d.name") => {
    const range = `left(${name}, 256) >= ${start} AND left(${name}, 256) < ${end}`;
    return like === undefined ? range : `${range} AND ${name} LIKE ${like}`;
  };
}

/** Runs the SQL of a list. */
export async function readList(
  { database }: NamesSource,
  { sql, values }: NamesQuery,
  signal: AbortSignal,
): Promise<Listed[]> {
  const [json] = await database.row(sql, values, signal);
  return JSON.parse(json ?? "[]") as Listed[];
}

/**
 * How many names the branches find: exact while they have at most `most` candidates before anything is derived or a text is looked for, else null. What is
 * derived is joined only where a filter reads it.
 */
export function countSql(
  places: readonly Place[],
  { branches, filters, contains }: Pick<ListOptions, "branches" | "filters" | "contains">,
  most: number,
): string {
  const counted = (joins: string, more: readonly string[]) => {
    const parts = branches.map(
      ({ from, where }) =>
        `(SELECT d.id FROM ${from}${joins} WHERE ${[where, hasName, ...more].join(" AND ")} LIMIT ${most + 1})`,
    );
    return `(SELECT count(*) FROM (SELECT id FROM (${parts.join(" UNION ")}) f LIMIT ${most + 1}) c)`;
  };
  const isDerived = filters.some((filter) => /\b[xprwsv]\./.test(filter));
  const all = [...(contains === undefined ? [] : [contains]), ...filters.map(opaque)];
  const exact = counted(isDerived ? nameJoins(places) : "", all);
  const isBounded = isDerived || contains !== undefined;
  const total = isBounded
    ? `CASE WHEN ${counted("", [])} > ${most} THEN ${most + 1} ELSE ${exact} END`
    : exact;
  return `SELECT (${total})::text WHERE $1::bigint[] IS NOT NULL`;
}

/** Runs the SQL of `countSql`. */
export async function readCount(
  { database }: NamesSource,
  { sql, values }: NamesQuery,
  most: number,
  signal: AbortSignal,
) {
  const [count] = await database.row(sql, values, signal);
  return Number(count) > most ? null : Number(count);
}

/** A name with its records, where they were asked for: null where only the chain knows them. */
export type FoundName = { row: StoredName; records: StoredRecords | null; children: number | null };

type ReadName = FoundName & { inV2?: V2Resolver | null };

/** The statement that reads names by nodes. */
function namesSql(places: readonly Place[], hasRecords: boolean, withRecords: boolean): string {
  const chains = `(ARRAY[${places.map(({ chainId }) => chainId).join(", ")}])[p.place]`;
  const ofNode = { chain: "c.chain", node: "d.id", hasRecords };
  const inV2 = secondGeneration(places) === undefined ? "" : `, 'inV2', ${resolverFacts}`;
  const records = withRecords
    ? `, 'records', (SELECT ${recordsJson(ofNode)} FROM resolver s2 WHERE s2.id = d.resolver_id)${inV2}`
    : "";
  return `SELECT json_agg(found ORDER BY q.at)::text FROM unnest($2::text[]) WITH ORDINALITY q (node, at)
LEFT JOIN LATERAL (SELECT json_build_object('row', ${nameJson(places)}${records}) AS found
FROM (SELECT q.node COLLATE "C" AS id) a ${nameOfNode(places, "a.id")}${nameJoins(places)}
CROSS JOIN LATERAL (SELECT ${chains} AS chain) c WHERE ${hasName}) n ON true`;
}

/** What statements about names are made for. */
export function createNamesSource(
  given: Pick<NamesSource, "database" | "places" | "hasRecords">,
): NamesSource {
  const { places, hasRecords } = given;
  const statements = {
    names: planOnce(namesSql(places, hasRecords, false)),
    namesWithRecords: planOnce(namesSql(places, hasRecords, true)),
    addresses: planOnce(addressSql(places, hasRecords)),
  };
  return { ...given, statements };
}

/**
 * Reads names by their nodes, in order, with one statement; null for those that the index does not have. Records in ENSv2 take
 * another, and one for each alias on the way.
 */
export async function readNames(
  source: NamesSource,
  { nodes, times, withRecords }: { nodes: readonly string[]; times: readonly number[]; withRecords: boolean },
  signal: AbortSignal,
): Promise<(FoundName | null)[]> {
  if (nodes.length === 0) return [];
  const { database, statements, places, hasRecords } = source;
  const sql = withRecords ? statements.namesWithRecords : statements.names;
  const [json] = await database.row(sql, [`{${times.join(",")}}`, `{${nodes.join(",")}}`], signal);
  const found = JSON.parse(json ?? "[]") as (ReadName | null)[];
  const contracts = secondGeneration(places);
  const inV2 = found.flatMap((one) => (one?.inV2 ? [{ one, inV2: one.inV2 }] : []));
  if (contracts === undefined || inV2.length === 0) return found;
  const records = await readV2Records(database, { contracts, hasRecords, asked: inV2 }, signal);
  for (const [at, { one }] of inV2.entries()) one.records = records[at] ?? null;
  return found;
}
