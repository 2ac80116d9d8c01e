import type { Hex } from "viem";
import { type GivenName, isNode, readName } from "../../ens/given-names.ts";
import { namehash } from "../../ens/names.ts";
import { reverseNode } from "../../ens/reverse-names.ts";
import { createPacer, yieldToEventLoop } from "../../http/turn.ts";
import { refuse } from "../refusal.ts";
import { atMoment, currentMoment } from "../sql/moment.ts";
import { planOnce } from "../sql/prepared.ts";
import { addKeys, keysOfName, nameKey } from "./cache-keys.ts";
import { isCustodian, listTimes } from "./indexed-namespaces.ts";
import { type Branch, byName, countSql, fewSql, listSql, sortedByName } from "./lists.ts";
import { defaultCoin, type FoundName } from "./rows.ts";
import { nameIn } from "./scopes.ts";
import type { NamesSource, StatementCall } from "./source.ts";
import {
  allNames,
  type Held,
  hasName,
  type Listed,
  nameOfNode,
  nameOfPath,
  namesHeldBy,
  namesJoins,
  nameText,
  objectText,
  ownResolver,
  type StoredName,
  secondGeneration,
} from "./stored-name.ts";
import { readV2Records, recordsJson, type V2Resolver } from "./v2-records.ts";
import { mayLackRow, walkedName } from "./v2-walk.ts";

// Other requests run after this many characters of rows, about a millisecond's work.
const sliceCharacters = 32_768;

/**
 * Runs a statement of the times and an input, whose rows are JSON with the input's position `at`. Uses each row while
 * the next are read. A row may come twice.
 */
async function readEachRow<Row extends { at: number }>(
  { database, namespaces }: NamesSource,
  { current, request }: StatementCall,
  [sql, input]: readonly [sql: string, input: string],
  use: (row: Row) => void,
): Promise<void> {
  const pace = createPacer(sliceCharacters);
  let work = yieldToEventLoop();
  const values = [`{${listTimes(namespaces, current).join(",")}}`, input];
  await database.rows(sql, values, request.raw.signal, (row) => {
    work = work.then(() => {
      use(JSON.parse(row));
      return pace(row.length);
    });
    // The final await reports the error.
    work.catch(() => undefined);
  });
  await work;
}

type ReadName = FoundName & { inV2?: V2Resolver | null };

type NamesToRead = Pick<NamesSource, "namespaces" | "hasRecords">;

const byNode = ({ namespaces }: NamesToRead) => [
  "unnest($2::text[]) WITH ORDINALITY q (node, at)",
  `(SELECT q.node COLLATE "C" AS id) a ${nameOfNode(namespaces, "a.id")}${namesJoins(namespaces)}`,
];

// ENSv2 only.
function byPath({ namespaces }: NamesToRead) {
  const v2 = secondGeneration(namespaces);
  return v2 === undefined
    ? []
    : [
        "jsonb_array_elements($2::jsonb) WITH ORDINALITY q (path, at)",
        `(SELECT q.path) a ${nameOfPath(v2, "a.path")}${namesJoins(namespaces, "a.path")}`,
      ];
}

function readingSql({ namespaces, hasRecords }: NamesToRead, [asked, rows]: readonly string[]) {
  const ofNode = { chain: "names.chain", node: "domain.id", hasRecords };
  const records = `SELECT ${recordsJson(ofNode)}::text FROM resolver s2 WHERE s2.id = names.resolver_row`;
  const members = {
    records: `coalesce((${records}), 'null')`,
    ...(secondGeneration(namespaces) === undefined ? {} : { inV2: "names.reading" }),
  };
  const sqlOf = (members: Readonly<Record<string, string>>) =>
    planOnce(`SELECT concat('{"at":', q.at - 1, ',"found":', coalesce(n.found, 'null'), '}') FROM ${asked}
LEFT JOIN LATERAL (SELECT ${objectText(nameText, members)} AS found
FROM ${rows} WHERE ${hasName}) n ON true`);
  return { full: sqlOf(members), bare: sqlOf({}) };
}

/** Creates the source of statements about names. */
export const createNamesSource = (given: Omit<NamesSource, "statements">): NamesSource => ({
  ...given,
  statements: {
    names: readingSql(given, byNode(given)),
    paths: readingSql(given, byPath(given)),
    addresses: {
      few: namesOfAddressesSql(given, fewOfAddressSql(given)),
      many: namesOfAddressesSql(given, manyOfAddressSql(given)),
    },
  },
});

/** A requested name, by its text if known. */
type AskedName = { node: string; name?: string };

/**
 * Reads names in order, by one statement; null for names that the index does not have. ENSv2 names that lists lack take
 * another statement, if their text is known, as do records in ENSv2, and each alias on the way.
 */
async function readNames(
  source: NamesSource,
  call: StatementCall,
  names: readonly AskedName[],
  withRecords: boolean,
): Promise<(FoundName | null)[]> {
  if (names.length === 0) return [];
  const { database, statements, hasRecords } = source;
  const found: (ReadName | null)[] = names.map(() => null);
  const read = (sql: string, input: string, indexOf: (at: number) => number) =>
    readEachRow<{ at: number; found: ReadName | null }>(source, call, [sql, input], (row) => {
      found[indexOf(row.at)] = row.found;
    });
  const nodes = `{${names.map(({ node }) => node).join(",")}}`;
  const form = withRecords ? "full" : "bare";
  await read(statements.names[form], nodes, (at) => at);
  const contracts = secondGeneration(source.namespaces);
  if (contracts === undefined) return found;
  const missing = found.flatMap((one, at) => (one === null && mayLackRow(names[at]?.name) ? [at] : []));
  if (missing.length > 0) {
    const paths: object[] = [];
    const pace = createPacer(pathsOfSlice);
    for (const at of missing) {
      paths.push(walkedName(names[at]?.name ?? ""));
      await pace(1);
    }
    await read(statements.paths[form], JSON.stringify(paths), (at) => missing[at] ?? 0);
  }
  const asked = found.filter((one): one is FoundName & { inV2: V2Resolver } => Boolean(one?.inV2));
  const records = await readV2Records(database, { contracts, hasRecords, asked }, call.request.raw.signal);
  for (const [at, one] of asked.entries()) one.records = records[at] ?? null;
  return found;
}

// Other requests run after this many names are hashed.
const pathsOfSlice = 32;

// Other requests run after this many characters of names.
const charactersOfSlice = 2_000;

const isHashable = (text: string) =>
  Buffer.byteLength(text) <= 2_000 && text.split(".").every((one) => one !== "");

/**
 * Reads requested names in order: by the node of the normalized form, else by that of the text itself if the index has
 * the name in this form. The latter finds names that were registered without normalization, if the index keeps them as
 * they are.
 */
export async function readGivenNames(
  source: NamesSource,
  call: StatementCall,
  { given, withRecords = false }: { given: readonly string[]; withRecords?: boolean | undefined },
): Promise<{ name: GivenName; found: FoundName | null }[]> {
  const asked: (AskedName & { at: number; isAsGiven: boolean })[] = [];
  const names: GivenName[] = [];
  const pace = createPacer(charactersOfSlice);
  for (const [at, text] of given.entries()) {
    const name = readName(text);
    names.push(name);
    if (!("fault" in name))
      asked.push({ at, isAsGiven: false, ...(isNode(text) ? { node: name.node } : name) });
    if (("fault" in name || name.name !== text) && isHashable(text))
      asked.push({ at, node: namehash(text), isAsGiven: true });
    await pace(text.length);
  }
  const read = await readNames(source, call, asked, withRecords);
  const found: (FoundName | undefined)[] = [];
  for (const [index, { at, isAsGiven }] of asked.entries()) {
    const one = read[index];
    if (one && (!isAsGiven || one.row.name === given[at])) found[at] ??= one;
  }
  return names.map((name, at) => ({ name, found: found[at] ?? null }));
}

/** Adds the rows of nodes. Leaves out nodes that the index does not have. */
export async function readRows<T extends { node: Hex }>(
  source: NamesSource,
  call: StatementCall,
  asked: readonly T[],
): Promise<(T & { row: StoredName })[]> {
  const read = await readGivenNames(source, call, { given: asked.map(({ node }) => node) });
  return asked.flatMap((one, at) => (read[at]?.found ? { ...one, row: read[at].found.row } : []));
}

/** Reads the name in a path, and the text by which to ask the chain for it. Refuses an invalid or unknown name. */
export async function readNameOfPath(
  source: NamesSource,
  given: string,
  call: StatementCall & { withRecords?: boolean },
) {
  const asked = { given: [given], withRecords: call.withRecords };
  const [{ name, found } = { name: readName(given), found: null }] = await readGivenNames(
    source,
    call,
    asked,
  );
  // The row of a node tells what is above it.
  const texts = new Set(isNode(given) && found ? [] : [given, "fault" in name ? given : name.name]);
  addKeys(call, ...[...texts].flatMap(keysOfName));
  if (!found) {
    nameIn(given);
    const [later] =
      currentMoment() === undefined
        ? []
        : await atMoment(undefined, () => readGivenNames(source, call, { given: [given] }));
    if (later?.found) return refuse("not_found", "The name did not exist yet at that block or time");
    return refuse("not_found", "The index has never seen this name");
  }
  const { row } = found;
  addKeys(call, nameKey(row.node), ...(texts.has(row.name) ? [] : keysOfName(row.name)));
  const isTyped = !("fault" in name || isNode(given)) && name.node === row.node;
  return { found, node: row.node, name: isTyped ? name.name : row.name };
}

/**
 * An address whose names are requested: those that it owns, manages, or both. `after`: rank, name and node of the last
 * row of the previous page. `namespaces`: their numbers (from 1); null for all.
 */
type AskedAddress = {
  address: Hex;
  owner: boolean;
  manager: boolean;
  size: number;
  after: readonly string[] | undefined;
  namespaces: readonly number[] | null;
};

/** Names of an address, its primary name first, one beyond the page if there are more. The total stops after 1,000. */
type FoundAddress = { rows: Listed[]; total: number };
type RowOfAddress = { at: number; rows: Listed[] | null; total: number };

/**
 * Reads the names of many addresses by one statement, and by another those of addresses with many names: it is ten
 * times as long, and a server sets up all of it for each run. `use` receives each address's position and names, in
 * any order, perhaps twice.
 */
export async function readAddresses(
  source: NamesSource,
  call: StatementCall,
  asked: readonly AskedAddress[],
  use: (at: number, found: FoundAddress) => void,
): Promise<void> {
  const inputs = asked.flatMap(({ after = [], ...one }, at) => {
    const [after_rank = "-1", after_name = "", after_id = ""] = after;
    if (!isCustodian(source.namespaces, one.address))
      return { ...one, at, reverse: reverseNode(one.address), after_rank, after_name, after_id };
    use(at, { rows: [], total: 0 });
    return [];
  });
  const withMany = new Set<number>();
  const read = async (sql: string, given: typeof inputs) => {
    if (given.length === 0) return;
    await readEachRow<RowOfAddress>(source, call, [sql, JSON.stringify(given)], ({ at, rows, total }) => {
      if (rows === null) withMany.add(at);
      else use(at, { rows, total });
    });
  };
  const { few, many } = source.statements.addresses;
  await read(few, inputs);
  await read(
    many,
    inputs.filter(({ at }) => withMany.has(at)),
  );
}

/**
 * SQL of the name that an address claims for coin type 60: its reverse name on the root chain, else the default one
 * (ENSIP-19). Not checked forward. If records are not indexed, the last event of the reverse name's resolver gives it.
 */
export function claimSql({ namespaces, hasRecords }: NamesToRead, address: string, reverse: string): string {
  const stored = `SELECT v.name FROM domain_resolver_relations l
    JOIN resolver_records v ON v.id = 'eip155:' || l.chain_id || ':' || l.resolver || '/' || l.domain_id
    WHERE l.domain_id = ${reverse} AND l.chain_id = ${namespaces[0]?.chainId ?? 0} AND v.name <> '' LIMIT 1`;
  const emitted = `SELECT nullif(e.name, '') FROM domain r JOIN resolver_event e ON e.resolver_id = r.resolver_id
    WHERE r.id = ${reverse} AND e.type IN ('NameChanged', 'VersionChanged') ORDER BY e.block_number DESC, e.log_index DESC LIMIT 1`;
  return `coalesce((${hasRecords ? stored : emitted}), ${claimOfCoin(address, defaultCoin)})`;
}

/**
 * SQL of the name that an address claims for an EVM coin type: by its reverse registrar, else the default one
 * (ENSIP-19).
 */
export const claimOfCoin = (address: string, coin: string) => `(SELECT value FROM reverse_name_records
  WHERE address = ${address} AND coin_type IN (${coin}, ${defaultCoin}) AND value <> '' ORDER BY coin_type <> ${coin} LIMIT 1)`;

/**
 * SQL of whether the records of coin type 60 and of the default (ENSIP-19) that the resolver of `domain` holds for the
 * name are an address: a JSON list with null for a missing record, or null if records are not indexed.
 */
export function forwardSql({ namespaces, hasRecords }: NamesToRead, address: string): string {
  if (!hasRecords) return "'null'::json";
  const isAddress = (
    coin: string,
  ) => `(SELECT o.value = ${address} FROM resolver_address_records o WHERE o.chain_id = ${namespaces[0]?.chainId ?? 0}
    AND o.address = ${ownResolver} AND o.node = domain.id AND o.coin_type = ${coin})`;
  return `json_build_array(${isAddress("60")}, ${isAddress(defaultCoin)})`;
}

/** Up to which number the names of an address are counted, including names that it no longer owns. */
export const maxCountedOfAddress = 1_000;

const isAsked = "(q.namespaces IS NULL OR names.home = ANY (q.namespaces))";
const isOwner = `q.owner AND names.owner = q.address AND ${isAsked}`;
const isManager = `q.manager AND names.manager = q.address AND ${isAsked}`;
const isMine = `((${isOwner}) OR (${isManager}))`;

const relations = `CASE WHEN (${isOwner}) AND (${isManager}) THEN '["owner","manager"]' WHEN ${isOwner} THEN '["owner"]'
  WHEN ${isManager} THEN '["manager"]' ELSE '[]' END::json`;

const buildExtra = (claims: NamesToRead) => ({
  isPrimary: "coalesce(domain.name = c.claim, false)",
  forward: `CASE WHEN domain.name = c.claim THEN ${forwardSql(claims, "q.address")} END`,
  relations,
});

const ofAddress = (claims: NamesToRead) => ({
  after: ["q.after_rank", "q.after_name", "q.after_id"],
  isDescending: false,
  limit: "(q.size + 1)",
  extra: buildExtra(claims),
});

function fewOfAddressSql(claims: NamesToRead): string {
  const rank = `CASE WHEN domain.name = c.claim THEN 0 WHEN ${isOwner} THEN 1 ELSE 2 END`;
  const order = [{ sql: rank, type: "int" as const }, ...byName];
  const branches = namesHeldBy(claims.namespaces, "q.address").map((held) => ({ ...held, order }));
  return fewSql(claims.namespaces, { branches, filters: [isMine], ...ofAddress(claims) });
}

// Reads the indexes by holder in order, each as far as a page needs. Names that the address only manages come last, if
// the page has room.
function manyOfAddressSql(claims: NamesToRead): string {
  const { namespaces } = claims;
  const ranked = (rank: number, { from, where, ...sorted }: RankedSource, derived: string): Branch => ({
    from,
    where: rank === 0 ? where : `${where} AND domain.name IS DISTINCT FROM c.claim`,
    derived: [derived],
    order: [{ sql: `${rank}::int`, type: "int" }, ...sortedByName(sorted)],
    isLater: rank === 2,
  });
  const held = namesHeldBy(namespaces, "q.address");
  const isClaimed = "left(domain.name, 256) = left(c.claim, 256) AND domain.name = c.claim";
  const primary = { from: allNames(namespaces), where: isClaimed, name: "domain.name", id: "domain.id" };
  const rows = listSql(namespaces, {
    branches: [
      ranked(0, primary, isMine),
      ...held.map((found) => ranked(1, found, isOwner)),
      ...held
        .filter(({ by }) => by !== "registrant_id")
        .map((found) => ranked(2, found, `${isManager} AND (${isOwner}) IS NOT TRUE`)),
    ],
    filters: [],
    ...ofAddress(claims),
  });
  const branches = held.map(({ from, where }) => ({ from, where, order: [] }));
  const total = countSql(namespaces, { branches, filters: [isMine] }, maxCountedOfAddress);
  return `SELECT (${total})::bigint AS total, (${rows}) AS rows`;
}

type RankedSource = Pick<Held, "from" | "where" | "name" | "id">;

// `names`: SQL of `total` and `rows` for each address.
function namesOfAddressesSql(claims: NamesToRead, names: string): string {
  const claim = claimSql(claims, "q.address", "q.reverse");
  return planOnce(`SELECT concat('{"at":', q.at, ',"total":', n.total, ',"rows":', coalesce(n.rows, 'null'), '}')
FROM json_to_recordset($2::json) AS q (at int, address text, owner boolean, manager boolean, size int, reverse text, after_rank int, after_name text, after_id text, namespaces int[])
CROSS JOIN LATERAL (SELECT ${claim} AS claim OFFSET 0) c
CROSS JOIN LATERAL (${names}) n`);
}
