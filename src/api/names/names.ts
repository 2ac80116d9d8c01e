import type { Hex } from "viem";
import { zeroAddress } from "../../ens/ids.ts";
import type { Database, RowsReader } from "../database/client.ts";
import { indexTime, secondGeneration } from "../database/names.ts";
import { ethAttachedSql, reachedJoin } from "../database/v2-domains.ts";
import { askedByPath, type WalkContracts, walkSql } from "../database/v2-walk.ts";
import type { IndexedNamespace } from "./indexed-namespaces.ts";

/** The date of what never ends: the greatest that contracts store. */
export const noExpiry = "18446744073709551615";

/**
 * SQL of a condition on what is derived: the planner takes it for rare, and would read and sort all rows where the first ones of an
 * index are enough.
 */
export const hideFromPlanner = (filter: string) => `CASE WHEN ${filter} THEN true ELSE false END`;

/** SQL condition of names: the root has none. */
export const hasName = "d.name <> ''";

// Names of ENSv2 among those of the first generation: where rows of names come from, and what is in force (docs/names.md).

/** What rows of `domain d` have. */
export const columns =
  "id, name, label_name, labelhash, parent_id, owner_id, registrant_id, wrapped_owner_id, resolver_id, resolved_address_id, created_at, is_migrated, namespace, chain_id";
const noText = 'NULL::text COLLATE "C"';

// Of names that both have, the row of the first counts; what is in force is joined to it.
const ofFirst = (where = "true") => `SELECT ${columns}, ${noText} AS registry FROM domain WHERE ${where}`;
// A cheap look at the way up comes before the walk: anyone can have a million names in a registry that no name leads to.
const ofSecond = (v2: WalkContracts, where = "true") => `
  SELECT v.id, v.name, v.label_name, v.labelhash, v.parent_id, v.owner_id, v.owner_id AS registrant_id, ${noText} AS wrapped_owner_id, v.resolver_id,
    ${noText} AS resolved_address_id, v.created_at, true AS is_migrated, ${noText} AS namespace, NULL::integer AS chain_id, v.registry
  FROM v2_domains v ${reachedJoin("v", "m", v2, indexTime)}
  WHERE v.chain_id = ${v2.chainId} AND ${where} AND m.is_reached AND NOT EXISTS (SELECT FROM domain o WHERE o.id = v.id OFFSET 0)`;

/** SQL of all names, as rows of `domain d`. */
export function allNames(namespaces: readonly IndexedNamespace[]): string {
  const v2 = secondGeneration(namespaces);
  return v2 === undefined ? "domain d" : `(${ofFirst()} UNION ALL ${ofSecond(v2)}) d`;
}

/** SQL that joins the name of a node, as a row of `domain d`. */
export function nameOfNode(namespaces: readonly IndexedNamespace[], node: string): string {
  const v2 = secondGeneration(namespaces);
  if (v2 === undefined) return `JOIN domain d ON d.id = ${node}`;
  return `CROSS JOIN LATERAL (${ofFirst(`id = ${node}`)} UNION ALL ${ofSecond(v2, `v.id = ${node}`)} OFFSET 0) d`;
}

/**
 * SQL that joins the name at a path, given as SQL of JSON with `name`, `node`, `labelhash` and `parent` beside what `askedByPath` needs,
 * as a row of `domain d`: of any entry in registries of known code that is found from the root, also where lists have too many
 * names of its registry.
 */
export const nameOfPath = (v2: WalkContracts, path: string) => `CROSS JOIN LATERAL (
  SELECT ${path}->>'node' AS id, ${path}->>'name' AS name, ${noText} AS label_name, ${path}->>'labelhash' AS labelhash, ${path}->>'parent' AS parent_id,
    coalesce(f.holder, '${zeroAddress}') AS owner_id, ${noText} AS registrant_id, ${noText} AS wrapped_owner_id, ${noText} AS resolver_id,
    ${noText} AS resolved_address_id, f.created_at, true AS is_migrated, ${noText} AS namespace, NULL::integer AS chain_id, f.registry, ${path} AS path
  FROM (${walkSql(askedByPath(path), v2, { time: indexTime, hasV1: false })}) f WHERE f.storage_id IS NOT NULL AND f.is_proven OFFSET 0) d`;

/** The tables that have names, in the order of `partsOfNames`. */
export const tablesOfNames = ["domain", "v2_domains"] as const;

/** SQL of all names in parts, each of which an index can have in order. */
export function partsOfNames(namespaces: readonly IndexedNamespace[]): string[] {
  const v2 = secondGeneration(namespaces);
  return v2 === undefined ? ["domain d"] : [`(${ofFirst()}) d`, `(${ofSecond(v2)}) d`];
}

/** A way to find names as rows of `domain d`: by which column of a registry they are held, and SQL of the name and node that they are sorted by. */
export type Held = {
  by: "registrant_id" | "wrapped_owner_id" | "owner_id" | "entry";
  from: string;
  where: string;
  name: string;
  id: string;
};

/** How the names are found that an address holds in any way, of which not all are its own now; each by a registry of one generation. */
export function namesHeldBy(namespaces: readonly IndexedNamespace[], holder: string): Held[] {
  const [first = ""] = partsOfNames(namespaces);
  const v2 = secondGeneration(namespaces);
  const entries = entriesOf(namespaces, "e");
  const others = v2
    ? ` AND NOT EXISTS (SELECT FROM v2_domains e ${reachedJoin("e", "m", v2, indexTime)}
    WHERE e.chain_id = ${v2.chainId} AND e.id = d.id AND e.owner_id = ${holder} AND m.is_reached OFFSET 0)`
    : "";
  const held = (["registrant_id", "wrapped_owner_id", "owner_id"] as const).map((by) => ({
    by,
    from: first,
    where: `d.${by} = ${holder}${others}`,
    name: "d.name",
    id: "d.id",
  }));
  if (entries === undefined) return held;
  const { from, where, name, id } = entries;
  return [...held, { by: "entry", from, where: `${where} AND e.owner_id = ${holder}`, name, id }];
}

/** Names by their rows of `v2_domains` under an alias, of registries that names lead to; undefined where there are none. */
export function entriesOf(
  namespaces: readonly IndexedNamespace[],
  alias: string,
): Pick<Held, "from" | "where" | "name" | "id"> | undefined {
  const v2 = secondGeneration(namespaces);
  if (v2 === undefined) return undefined;
  // What is not reached is looked up no further.
  const reached = `CASE WHEN at_${alias}.is_reached THEN ${alias}.id END`;
  return {
    from: `v2_domains ${alias} ${reachedJoin(alias, `at_${alias}`, v2, indexTime)} ${nameOfNode(namespaces, reached)}`,
    where: `${alias}.chain_id = ${v2.chainId} AND at_${alias}.is_reached`,
    name: `${alias}.name`,
    id: `${alias}.id`,
  };
}

/**
 * SQL condition that no entry of the .eth registry is in force for a node: most names that were migrated still have their
 * lease in the first generation, and need no walk.
 */
export const notInSecond = (v2: WalkContracts, node: string): string => `NOT EXISTS (SELECT FROM v2_domains n
    WHERE n.chain_id = ${v2.chainId} AND n.id = ${node} AND n.registry = '${v2.ethRegistry}' AND n.owner_id <> '${zeroAddress}'
      AND n.expiry_date > ${indexTime} AND ${ethAttachedSql(v2, indexTime)} OFFSET 0)`;

// A member of a row of `names` as JSON, null without a value: of text that has nothing to escape, of numbers and JSON, and of what is true.
type Member<T> = { sql: (member: string) => string; type?: T };
const ofText = <T extends string = Hex>(column: string): Member<T> => ({
  sql: (member) => `',"${member}":"' || names.${column} || '"'`,
});
const bare = (member: string, sql: string) => `',"${member}":' || (${sql})::text`;
const ofJson = <T>(sql: string): Member<T> => ({ sql: (member) => bare(member, sql) });
const ifTrue = (column: string): Member<true> => ({
  sql: (member) => `CASE WHEN names.${column} THEN ',"${member}":true' END`,
});

// Numbers of seconds are texts: they have up to 64 bits.
const always = {
  name: ofJson<string>("to_json(names.name)"),
  node: ofText("node"),
  now: ofJson<number>("names.now"),
  status: ofText<"active" | "expired" | "released" | "unregistered">("status"),
  created: ofText<string>("created"),
};
const perhaps = {
  labelhash: ofText("labelhash"),
  parent: ofText("parent"),
  owner: ofText("owner"),
  manager: ofText("manager"),
  since: ofText<string>("registered"),
  expires: ofText<string>("expires"),
  graceEnds: ofText<string>("grace_ends"),
  isLease: ifTrue("is_lease"),
  isManaged: ifTrue("is_managed"),
  isWrapped: ifTrue("is_wrapped"),
  isLapsed: ifTrue("is_lapsed"),
  fuses: ofJson<number>("names.fuses"),
  wrapperExpires: ofText<string>("wrapper_expires"),
  wasWrapped: ifTrue("was_wrapped"),
  holder: ofText("last_holder"),
  isHeldThroughWrapper: ifTrue("is_held_through_wrapper"),
  isMigrated: ifTrue("is_migrated"),
  isOwned: ifTrue("is_owned"),
  resolver: ofText("resolver"),
  v2: ofJson<EntryOfName>("names.v2"),
};

/** Where ENSv2 is indexed and knows the name. `isInForce`: the facts are those of its entry. */
type EntryOfName = {
  version: "v1" | "v2" | null;
  isReserved: boolean;
  migrated: string | null;
  path: Hex[] | null;
  isInForce: boolean;
  token: Hex | null;
  subregistry: Hex | null;
  holder: Hex | null;
};

type MembersOf<T> = { [K in keyof T]: T[K] extends Member<infer V> ? V : never };

/** A name as the table `names` has it; absent is what it has not, or is not. */
export type StoredName = { home: number } & MembersOf<typeof always> & Partial<MembersOf<typeof perhaps>>;

/** SQL of a row of `names` as the text of JSON, a `StoredName`: Postgres takes longer to make JSON of a record. */
export const nameText: string = `concat('{"home":', names.home, ${Object.entries({ ...always, ...perhaps })
  .map(([member, { sql }]) => sql(member))
  .join(", ")}, '}')`;

/** Further members of a row of a list. */
export type Extra = {
  relations: ("owner" | "manager" | "resolves_to" | "former_owner")[];
  isPrimary: boolean;
  /** Of a claimed name: `forwardSql`. */
  forward: (boolean | null)[] | null;
  /** Coin types whose record is the address. */
  coins: number[];
};

/** A row and what it is sorted by, as texts: where the next page begins. */
export type Listed = { row: StoredName; after: string[] } & { [K in keyof Extra]?: Extra[K] | undefined };

// The statement with, and without the records of the names.
type LookUp = Readonly<Record<"full" | "bare", string>>;

/** What statements about names are made for. */
export type NamesSource = {
  database: Database & RowsReader;
  namespaces: readonly IndexedNamespace[];
  /** Whether records of resolvers are indexed with their values. */
  hasRecords: boolean;
  /** Look-ups by key: long texts, which each connection plans once. */
  statements: { names: LookUp; paths: LookUp; addresses: string };
};

/** SQL of the text of a JSON object, by the SQL of its members' JSON; members that are null are left out. */
export const objectText = (row: string, members: Readonly<Record<string, string>>): string =>
  `concat('{"row":', ${row}${Object.entries(members)
    .map(([member, sql]) => `, ${bare(member, sql)}`)
    .join("")}, '}')`;

/** SQL of the text of a JSON list of what is found, each a text `found`. */
export const listText = (rows: string): string =>
  `SELECT '[' || coalesce(string_agg(found, ','), '') || ']' FROM (${rows}) listed`;

/** The resolver of a name, by its chain and address; undefined if it has none. */
export function resolverOf({ resolver }: StoredName, { chainId }: IndexedNamespace) {
  return resolver === undefined || resolver === zeroAddress
    ? undefined
    : { chain_id: chainId, address: resolver };
}
