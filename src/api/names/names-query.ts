import { rootNode } from "../../ens/ids.ts";
import { labelhash } from "../../ens/labels.ts";
import { namehash } from "../../ens/names.ts";
import { type Database, planOnce, type RowsReader } from "../database/client.ts";
import { askedPath, pathOf } from "../resolution/v2-names.ts";
import { yieldToEventLoop } from "../rest/turns.ts";
import { addressSql } from "./address-sql.ts";
import { type GivenName, isNode, readName } from "./contract.ts";
import { nameOfNode, nameOfPath, secondGeneration } from "./generations.ts";
import { type Extra, hasName, type NamesQuery } from "./list-sql.ts";
import { namesJoins } from "./names-sql.ts";
import type { Place } from "./places.ts";
import { type NameList, nameText, type StoredName, storedName } from "./stored-name.ts";
import { readV2Records, recordsJson, type StoredRecords, type V2Resolver } from "./stored-records.ts";

/** What statements about names are made for. */
export type NamesSource = {
  database: Database & RowsReader;
  places: readonly Place[];
  /** Whether records of resolvers are indexed with their values. */
  hasRecords: boolean;
  /** Look-ups by key: long texts, which each connection plans once. */
  statements: Readonly<
    Record<"names" | "namesWithRecords" | "paths" | "pathsWithRecords" | "addresses", string>
  >;
};

/** A row and what it is sorted by, as texts: where the next page begins. */
export type Listed = { row: StoredName; after: string[] } & { [K in keyof Extra]?: Extra[K] | undefined };

// Others have their turn after each so many characters of rows, a millisecond's work.
const sliceCharacters = 32_768;

/**
 * Runs a statement each of whose rows is a place, a space and a text, and uses the rows while the next ones are read. A row may come
 * twice.
 */
export async function eachRow(
  database: RowsReader,
  { sql, values }: NamesQuery,
  signal: AbortSignal,
  use: (place: number, text: string) => void,
): Promise<void> {
  const waiting: string[] = [];
  let work: Promise<void> | undefined;
  const useAll = async () => {
    for (let left = 0; waiting.length > 0; left -= waiting[0]?.length ?? 0) {
      if (left <= 0) {
        await yieldToEventLoop();
        left = sliceCharacters;
      }
      const row = waiting.shift() ?? "";
      const space = row.indexOf(" ");
      use(Number(row.slice(0, space)), row.slice(space + 1));
    }
    work = undefined;
  };
  await database.rows(sql, values, signal, (row) => {
    waiting.push(row);
    work ??= useAll();
    // It is awaited below.
    work.catch(() => undefined);
  });
  await work;
}

/** Runs the SQL of a list. */
export async function readList(
  { database }: NamesSource,
  { sql, values }: NamesQuery,
  signal: AbortSignal,
): Promise<Listed[]> {
  const [json] = await database.row(sql, values, signal);
  return readListed(JSON.parse(json ?? "[]"));
}

/** A row of a list as the statement gives it. */
export type ListedText = Omit<Listed, "row"> & { row: NameList };

/** Rows of a list from what the statement gives, parsed. */
export const readListed = (found: readonly ListedText[]): Listed[] =>
  found.map((one) => ({ ...one, row: storedName(one.row) }));

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

type ReadName = Omit<FoundName, "row"> & { row: NameList; inV2?: V2Resolver | null };

type Reading = { hasRecords: boolean; withRecords: boolean };

/** The statement that reads names by nodes. */
const namesSql = (places: readonly Place[], reading: Reading) =>
  readingSql(
    "unnest($2::text[]) WITH ORDINALITY q (node, at)",
    `(SELECT q.node COLLATE "C" AS id) a ${nameOfNode(places, "a.id")}${namesJoins(places)}`,
    { places, ...reading },
  );

/** The statement that reads names by paths, in ENSv2 alone. */
function pathsSql(places: readonly Place[], reading: Reading): string {
  const v2 = secondGeneration(places);
  if (v2 === undefined) return "";
  const from = "jsonb_array_elements($2::jsonb) WITH ORDINALITY q (path, at)";
  const rows = `(SELECT q.path) a ${nameOfPath(v2, "a.path")}${namesJoins(places, "a.path")}`;
  return readingSql(from, rows, { places, ...reading });
}

function readingSql(
  asked: string,
  rows: string,
  { places, hasRecords, withRecords }: Reading & { places: readonly Place[] },
): string {
  const ofNode = { chain: "names.chain", node: "d.id", hasRecords };
  const inV2 =
    secondGeneration(places) === undefined ? "" : `, ',"inV2":', coalesce(names.reading::text, 'null')`;
  const records = withRecords
    ? `, ',"records":', coalesce((SELECT ${recordsJson(ofNode)} FROM resolver s2 WHERE s2.id = names.resolver_row)::text, 'null')${inV2}`
    : "";
  return `SELECT concat(q.at - 1, ' ', coalesce(n.found, 'null')) FROM ${asked}
LEFT JOIN LATERAL (SELECT concat('{"row":', ${nameText}${records}, '}') AS found
FROM ${rows} WHERE ${hasName}) n ON true`;
}

/** What statements about names are made for. */
export function createNamesSource(
  given: Pick<NamesSource, "database" | "places" | "hasRecords">,
): NamesSource {
  const { places, hasRecords } = given;
  const [bare, full] = [
    { hasRecords, withRecords: false },
    { hasRecords, withRecords: true },
  ];
  const statements = {
    names: planOnce(namesSql(places, bare)),
    namesWithRecords: planOnce(namesSql(places, full)),
    paths: planOnce(pathsSql(places, bare)),
    pathsWithRecords: planOnce(pathsSql(places, full)),
    addresses: planOnce(addressSql(given)),
  };
  return { ...given, statements };
}

/** A name that is asked for, by its text where that is known. */
export type AskedName = { node: string; name?: string };

/**
 * Reads names, in order, with one statement; null for those that the index does not have. Names of ENSv2 that lists have no row of take
 * another, if their text is known, records in ENSv2 too, and one for each alias on the way.
 */
export async function readNames(
  source: NamesSource,
  {
    names,
    times,
    withRecords,
  }: { names: readonly AskedName[]; times: readonly number[]; withRecords: boolean },
  signal: AbortSignal,
): Promise<(FoundName | null)[]> {
  if (names.length === 0) return [];
  const { database, statements, hasRecords } = source;
  const found: ((FoundName & Pick<ReadName, "inV2">) | null)[] = names.map(() => null);
  const read = (sql: string, values: string, placeOf: (at: number) => number) =>
    eachRow(database, { sql, values: [`{${times.join(",")}}`, values] }, signal, (at, json) => {
      const one: ReadName | null = JSON.parse(json);
      found[placeOf(at)] = one && { ...one, row: storedName(one.row) };
    });
  const nodes = `{${names.map(({ node }) => node).join(",")}}`;
  await read(withRecords ? statements.namesWithRecords : statements.names, nodes, (at) => at);
  const contracts = secondGeneration(source.places);
  if (contracts === undefined) return found;
  const missing = found.flatMap((one, at) => (one === null && isWalked(names[at]) ? [at] : []));
  if (missing.length > 0) {
    const paths: object[] = [];
    for (const at of missing) {
      paths.push(pathOfText(names[at]?.name ?? ""));
      if (paths.length % pathsOfSlice === 0) await yieldToEventLoop();
    }
    const sql = withRecords ? statements.pathsWithRecords : statements.paths;
    await read(sql, JSON.stringify(paths), (at) => missing[at] ?? 0);
  }
  const inV2 = found.flatMap((one) => (one?.inV2 ? [{ one, inV2: one.inV2 }] : []));
  if (inV2.length === 0) return found;
  const records = await readV2Records(database, { contracts, hasRecords, asked: inV2 }, signal);
  for (const [at, { one }] of inV2.entries()) one.records = records[at] ?? null;
  return found;
}

// Lists have every name of the registries in fixed places, and no longer name can be resolved (DNS).
const isWalked = ({ name }: Partial<AskedName> = {}) =>
  name !== undefined && name.split(".").length > 2 && Buffer.byteLength(name) < 255;

// Others have their turn while many are hashed.
const pathsOfSlice = 32;

// As `nameOfPath` reads it.
function pathOfText(name: string) {
  const path = askedPath(pathOf(name.split(".").map(labelhash)));
  return {
    ...path,
    name,
    node: path.nodes.at(-1),
    labelhash: path.labels.at(-1),
    parent: path.nodes.at(-2) ?? rootNode,
  };
}

// Others have their turn while many or long names are hashed.
const charactersOfSlice = 2_000;

const isHashable = (text: string) =>
  Buffer.byteLength(text) <= 2_000 && text.split(".").every((one) => one !== "");

/**
 * Reads names as requests give them, in order: under the node of the normalised form, else under that of the text itself if the index
 * has the name in this form. Such are names that were registered without being normalised, where the index keeps names as they are.
 */
export async function readGivenNames(
  source: NamesSource,
  { given, times, withRecords }: { given: readonly string[]; times: readonly number[]; withRecords: boolean },
  signal: AbortSignal,
): Promise<{ name: GivenName; found: FoundName | null }[]> {
  const asked: (AskedName & { at: number; isAsGiven: boolean })[] = [];
  const names: GivenName[] = [];
  let characters = 0;
  for (const [at, text] of given.entries()) {
    const name = readName(text);
    names.push(name);
    if (!("fault" in name))
      asked.push({ at, isAsGiven: false, ...(isNode(text) ? { node: name.node } : name) });
    if (("fault" in name || name.name !== text) && isHashable(text))
      asked.push({ at, node: namehash(text), isAsGiven: true });
    characters += text.length;
    if (characters < charactersOfSlice) continue;
    characters = 0;
    await yieldToEventLoop();
  }
  const read = await readNames(source, { names: asked, times, withRecords }, signal);
  const found: (FoundName | undefined)[] = [];
  for (const [place, { at, isAsGiven }] of asked.entries()) {
    const one = read[place];
    if (one && (!isAsGiven || one.row.name === given[at])) found[at] ??= one;
  }
  return names.map((name, at) => ({ name, found: found[at] ?? null }));
}
