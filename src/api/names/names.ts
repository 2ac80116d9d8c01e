import type { Hex } from "viem";
import { zeroAddress } from "../../ens/ids.ts";
import { firstGenerationJoins } from "../database/first-generation.ts";
import { ethAttachedSql, reachedJoin } from "../database/v2-domains.ts";
import { domainWalkSql, pathWalkSql, type WalkContracts } from "../database/v2-walk.ts";
import type { Place } from "./places.ts";

// What holds of a name now, by the rules of docs/names.md, as one table `names` with named columns: lists filter and sort by it.

const text = (value: string | undefined) => (value === undefined ? "NULL" : `'${value}'`);

/** SQL of the address in the SQL of a resolver's id, which ends with `0x<address>-0x<node>`, or of an address alone. A regular expression takes 20 times as long. */
export const addressOfResolver = (id: string) => `left(right(${id}, 109), 42)`;

/** SQL of the address of the resolver that the root chain's registry of the first generation has. */
export const ownResolver = addressOfResolver("d.resolver_id");

// On all chains but the root one registries' links to resolvers are rows of their own.
function ofResolver(places: readonly Place[], onRoot: string, elsewhere: (chainId: number) => string) {
  const others = places.flatMap(({ chainId, linker }, at) =>
    linker === undefined
      ? []
      : [
          `WHEN ${at + 1} THEN (SELECT ${elsewhere(chainId)} FROM domain_resolver_relations l
    WHERE l.chain_id = ${chainId} AND l.address = '${linker}' AND l.domain_id = d.id)`,
        ],
  );
  return others.length === 0 ? onRoot : `CASE home.place ${others.join(" ")} ELSE ${onRoot} END`;
}

/**
 * Joins to `domain d` what holds of each name, as `names`: where it lives (`place` from 1, `chain`, `now`), its status, owner, manager and dates,
 * and what of it a lease, the wrapper or ENSv2 says. `$1` is the time at each place. Columns that nothing reads cost nothing.
 * `path`: SQL of the path, where the rows are those of `nameOfPath`. Of ENSv2, rows that no registry leads to are left out.
 */
export function namesJoins(places: readonly Place[], path?: string): string {
  const v2 = secondGeneration(places);
  const managed = places.flatMap(({ leases }) => (leases === undefined ? [] : [text(leases)]));
  const ofPlace = (value: (place: Place) => string, type: string) =>
    `(ARRAY[${places.map(value).join(", ")}]::${type}[])[home.place]`;
  const first = firstGenerationJoins({
    now: "rule.now",
    grace: "rule.grace",
    isManaged: "rule.is_managed",
    isWrapper: (address) => `${address} = rule.wrapper`,
  });
  // Names of ENSv2 alone have no row that says where they live: they are on the root chain.
  const isAt = ({ namespace, chainId }: Place, at: number) =>
    `WHEN d.chain_id = ${chainId} AND d.namespace = '${namespace}' THEN ${at + 1}`;
  return `
CROSS JOIN LATERAL (SELECT CASE ${places.map(isAt).join(" ")} WHEN true THEN 1 END AS place OFFSET 0) home
CROSS JOIN LATERAL (SELECT ($1::bigint[])[home.place] AS now, ${ofPlace(({ nameWrapper }) => text(nameWrapper), "text")} AS wrapper,
  ${ofPlace(({ grace }) => String(grace), "bigint")} AS grace, d.parent_id IN (${[...managed, "'none'"].join(", ")}) AS is_managed OFFSET 0) rule${first}${v2 ? bothGenerations(v2, path) : firstAlone}
CROSS JOIN LATERAL (SELECT d.id AS node, d.name, d.labelhash, d.parent_id AS parent, d.created_at AS created, home.place, rule.now,
  ${ofPlace(({ chainId }) => String(chainId), "int")} AS chain, held.status, held.owner, held.manager, held.registered, held.expires, held.grace_ends,
  held.is_lease, rule.is_managed, held.is_wrapped, held.is_lapsed, of_v1.is_emancipated, wrapped.fuses, wrapped.expiry_date AS wrapper_expires,
  wrapped.id IS NOT NULL OR (SELECT true FROM domain_event e WHERE e.domain_id = d.id AND e.type = 'NameWrapped' LIMIT 1) IS NOT NULL AS was_wrapped,
  held.last_holder, lease.registrant_id = rule.wrapper AS is_held_through_wrapper, d.is_migrated, d.owner_id <> '${zeroAddress}' AS is_owned,
  CASE WHEN held.has_v1_resolver THEN ${ofResolver(places, ownResolver, () => "l.resolver")} ELSE held.v2_resolver END AS resolver,
  ${ofResolver(places, "d.resolver_id", (chainId) => `'${chainId}-' || l.resolver || '-' || d.id`)} AS resolver_row,
  held.is_v2, held.registry, held.v2, held.reading) names`;
}

const lastHolder =
  "CASE WHEN of_v1.is_wrapped THEN wrapped.owner_id WHEN lease.registrant_id IS DISTINCT FROM rule.wrapper THEN lease.registrant_id END";

const firstAlone = `
CROSS JOIN LATERAL (SELECT of_v1.*, lease.registration_date AS registered, ${lastHolder} AS last_holder, true AS has_v1_resolver,
  NULL::text AS v2_resolver, false AS is_v2, NULL::text AS registry, NULL::json AS v2, NULL::json AS reading) held`;

// `v2` is what the walk from the root found, `kept.is_v2` whether its facts are those of the entry, `kept.is_gone` whether the first
// generation's lease is one of the Graveyard. `reading`: how the resolver of a name in ENSv2 is read.
const bothGenerations = (v2: WalkContracts, path?: string) => `
CROSS JOIN LATERAL (SELECT CASE WHEN home.place = 1 THEN d.id END AS id OFFSET 0) walked
LEFT JOIN LATERAL (${path === undefined ? domainWalkSql("walked", v2, indexTime) : pathWalkSql(path, v2, indexTime)} OFFSET 0) entry ON true
JOIN LATERAL (SELECT coalesce(entry.version = 'v2' OR entry.authority = 'none' AND entry.is_entry AND entry.storage_id IS NOT NULL, false) AS is_v2,
  coalesce(entry.authority = 'none' AND lease.registrant_id = '${v2.graveyard}' AND NOT coalesce(entry.is_entry, false), false) AS is_gone
  WHERE d.registry IS NULL OR d.registry = entry.registry OFFSET 0) kept ON true
CROSS JOIN LATERAL (SELECT of_v1.is_wrapped AND NOT kept.is_v2 AS is_wrapped, of_v1.is_lapsed AND NOT kept.is_v2 AS is_lapsed,
  CASE WHEN kept.is_v2 THEN entry.storage_id IS NOT NULL ELSE of_v1.is_lease END AS is_lease,
  CASE WHEN kept.is_v2 THEN entry.effective_expiry_date WHEN NOT kept.is_gone THEN of_v1.expires END AS expires,
  CASE WHEN kept.is_v2 THEN coalesce(entry.grace_end_date, entry.effective_expiry_date) WHEN NOT kept.is_gone THEN of_v1.grace_ends END AS grace_ends,
  CASE WHEN kept.is_gone THEN 'released' WHEN NOT kept.is_v2 THEN of_v1.status WHEN entry.storage_id IS NULL THEN 'unregistered'
    WHEN rule.now < entry.effective_expiry_date THEN 'active' WHEN rule.now < entry.grace_end_date THEN 'expired' ELSE 'released' END AS status,
  CASE WHEN kept.is_v2 THEN entry.effective_owner WHEN NOT kept.is_gone THEN of_v1.owner END AS owner,
  CASE WHEN kept.is_v2 THEN entry.effective_owner WHEN NOT kept.is_gone THEN of_v1.manager END AS manager,
  CASE WHEN kept.is_v2 THEN entry.created_at ELSE lease.registration_date END AS registered,
  CASE WHEN kept.is_v2 THEN entry.holder ELSE ${lastHolder} END AS last_holder,
  NOT (kept.is_v2 OR kept.is_gone) AS has_v1_resolver, entry.effective_resolver AS v2_resolver, kept.is_v2, entry.registry,
  CASE WHEN home.place = 1 AND (entry.version IS NOT NULL OR kept.is_v2) THEN json_build_object('version', entry.version, 'isReserved', entry.reserved,
    'migrated', entry.migrated_at::text, 'path', entry.registry_path, 'isInForce', kept.is_v2, 'token', entry.token_id,
    'subregistry', nullif(entry.subregistry, '${zeroAddress}'), 'holder', nullif(entry.holder, '${zeroAddress}')) END AS v2,
  CASE WHEN kept.is_v2 THEN json_build_object('resolver', entry.effective_resolver, 'isProven', entry.is_proven, 'isOwn', entry.is_own_resolver,
    'implementation', entry.implementation, 'hasRecordIds', entry.has_record_ids, 'isUpgraded', entry.is_upgraded, 'labels', entry.label_path) END AS reading
  OFFSET 0) held`;

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
/** SQL of the time of the root chain's last indexed block: `$1` are the times of the places. */
export const indexTime = "(($1::bigint[])[1])::numeric";

// Of names that both have, the row of the first counts; what is in force is joined to it.
const ofFirst = (where = "true", from = "domain", more = "") =>
  `SELECT ${columns}, ${noText} AS registry${more} FROM ${from} WHERE ${where}`;
// A cheap look at the way up comes before the walk: anyone can have a million names in a registry that no name leads to.
const ofSecond = (v2: WalkContracts, where = "true", from = "v2_domains", more = "") => `
  SELECT v.id, v.name, v.label_name, v.labelhash, v.parent_id, v.owner_id, v.owner_id, ${noText}, v.resolver_id, ${noText}, v.created_at, true, ${noText}, NULL::integer, v.registry${more}
  FROM ${from} v ${reachedJoin("v", "m", v2, indexTime)}
  WHERE v.chain_id = ${v2.chainId} AND ${where} AND m.is_reached AND NOT EXISTS (SELECT FROM domain o WHERE o.id = v.id OFFSET 0)`;

/** The contracts of ENSv2 on the root chain; undefined where it is not indexed. */
export const secondGeneration = (places: readonly Place[]) => places[0]?.v2;

/** SQL of all names, as rows of `domain d`. */
export function allNames(places: readonly Place[]): string {
  const v2 = secondGeneration(places);
  return v2 === undefined ? "domain d" : `(${ofFirst()} UNION ALL ${ofSecond(v2)}) d`;
}

/** SQL that joins the name of a node, as a row of `domain d`. */
export function nameOfNode(places: readonly Place[], node: string): string {
  const v2 = secondGeneration(places);
  if (v2 === undefined) return `JOIN domain d ON d.id = ${node}`;
  return `CROSS JOIN LATERAL (${ofFirst(`id = ${node}`)} UNION ALL ${ofSecond(v2, `v.id = ${node}`)} OFFSET 0) d`;
}

/**
 * SQL that joins the name at a path, given as SQL of JSON with `name`, `node`, `labelhash` and `parent` beside what `pathWalkSql` needs,
 * as a row of `domain d`: of any entry in registries of known code that is found from the root, also where lists have too many
 * names of its registry.
 */
export const nameOfPath = (v2: WalkContracts, path: string) => `CROSS JOIN LATERAL (
  SELECT ${path}->>'node' AS id, ${path}->>'name' AS name, ${noText} AS label_name, ${path}->>'labelhash' AS labelhash, ${path}->>'parent' AS parent_id,
    coalesce(f.holder, '${zeroAddress}') AS owner_id, ${noText} AS registrant_id, ${noText} AS wrapped_owner_id, ${noText} AS resolver_id,
    ${noText} AS resolved_address_id, f.created_at, true AS is_migrated, ${noText} AS namespace, NULL::integer AS chain_id, f.registry, ${path} AS path
  FROM (${pathWalkSql(path, v2, indexTime)}) f WHERE f.storage_id IS NOT NULL AND f.is_proven OFFSET 0) d`;

/** Some rows of a table, as SQL, with further columns to sort by. */
export type SomeRows = { of: (table: string) => string; columns: readonly string[] };

/** The tables that have names, in the order of `partsOfNames`. */
export const tablesOfNames = ["domain", "v2_domains"] as const;

/** SQL of the same in parts, each of which an index can have in order; of all rows, or of some. */
export function partsOfNames(
  places: readonly Place[],
  { of, columns: further }: SomeRows = { of: (table) => table, columns: [] },
): string[] {
  const v2 = secondGeneration(places);
  if (v2 === undefined) return [`${of("domain")} d`];
  const more = (alias: string) => further.map((column) => `, ${alias}${column}`).join("");
  const first = ofFirst("true", `${of("domain")} domain`, more(""));
  const second = ofSecond(v2, "true", of("v2_domains"), more("v."));
  return [`(${first}) d`, `(SELECT * FROM (${second}) v (${columns}, registry${more("")})) d`];
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
export function namesHeldBy(places: readonly Place[], holder: string): Held[] {
  const [first = ""] = partsOfNames(places);
  const v2 = secondGeneration(places);
  const entries = entriesOf(places, "e");
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
  places: readonly Place[],
  alias: string,
): Pick<Held, "from" | "where" | "name" | "id"> | undefined {
  const v2 = secondGeneration(places);
  if (v2 === undefined) return undefined;
  // What is not reached is looked up no further.
  const reached = `CASE WHEN at_${alias}.is_reached THEN ${alias}.id END`;
  return {
    from: `v2_domains ${alias} ${reachedJoin(alias, `at_${alias}`, v2, indexTime)} ${nameOfNode(places, reached)}`,
    where: `${alias}.chain_id = ${v2.chainId} AND at_${alias}.is_reached`,
    name: `${alias}.name`,
    id: `${alias}.id`,
  };
}

/**
 * SQL condition that no entry of the .eth registry is in force for a node: most names that were brought over still have their
 * lease in the first generation, and need no walk.
 */
export const notInSecond = (v2: WalkContracts, node: string): string => `NOT EXISTS (SELECT FROM v2_domains n
    WHERE n.chain_id = ${v2.chainId} AND n.id = ${node} AND n.registry = '${v2.ethRegistry}' AND n.owner_id <> '${zeroAddress}'
      AND n.expiry_date > ${indexTime} AND ${ethAttachedSql(v2, indexTime)} OFFSET 0)`;

// A name's row on its way from the statement: a JSON list of the columns of `names`, which takes a third of the time of an object.

const rowColumns = [
  ...["node", "labelhash", "parent", "place", "now", "status", "owner", "manager", "registered", "created"],
  ...[
    "expires",
    "grace_ends",
    "is_lease",
    "is_managed",
    "is_wrapped",
    "is_lapsed",
    "fuses",
    "wrapper_expires",
  ],
  ...["was_wrapped", "last_holder", "is_held_through_wrapper", "is_migrated", "is_owned", "resolver"],
] as const;
type Column = (typeof rowColumns)[number];

/**
 * SQL of a row of `names` as the text of a JSON list: the name, what ENSv2 tells of it, and the columns as texts that need no quoting,
 * empty for null. `storedName` reads it.
 */
export const nameText: string = `concat('[', to_json(names.name)::text, ',', coalesce(names.v2::text, 'null'), ',"',
  ${rowColumns.map((column) => `names.${column}`).join(`, '","', `)}, '"]')`;

/** SQL of a list of texts of JSON, as the text of a JSON list; '[]' without any. */
export const jointText = (found: string, order = "") =>
  `'[' || coalesce(string_agg(${found}, ','${order}), '') || ']'`;

/** What `nameText` gives, parsed. */
export type NameList = readonly [name: string, v2: NonNullable<StoredName["v2"]> | null, ...texts: string[]];

const places = Object.fromEntries(rowColumns.map((column, at) => [column, at + 2])) as Record<Column, number>;

/** A name's row from the list that the statement gives. */
export function storedName(list: NameList): StoredName {
  const text = (column: Column) => (list[places[column]] as string) || null;
  const flag = (column: Column) => list[places[column]] === "t";
  const fuses = text("fuses");
  return {
    name: list[0],
    v2: list[1],
    node: text("node") as Hex,
    labelhash: text("labelhash") as Hex | null,
    parent: text("parent") as Hex | null,
    place: Number(text("place")),
    now: Number(text("now")),
    status: text("status") as StoredName["status"],
    owner: text("owner") as Hex | null,
    manager: text("manager") as Hex | null,
    since: text("registered"),
    created: text("created") ?? "0",
    expires: text("expires"),
    graceEnds: text("grace_ends"),
    isLease: flag("is_lease"),
    isManaged: flag("is_managed"),
    isWrapped: flag("is_wrapped"),
    isLapsed: flag("is_lapsed"),
    fuses: fuses === null ? null : Number(fuses),
    wrapperExpires: text("wrapper_expires"),
    wasWrapped: flag("was_wrapped"),
    holder: text("last_holder") as Hex | null,
    isHeldThroughWrapper: flag("is_held_through_wrapper"),
    isMigrated: flag("is_migrated"),
    isOwned: flag("is_owned"),
    resolver: text("resolver") as Hex | null,
  };
}

/** A name's row as the statement gives it. */
export type StoredName = {
  name: string;
  node: Hex;
  labelhash: Hex | null;
  parent: Hex | null;
  place: number;
  now: number;
  status: "active" | "expired" | "released" | "unregistered";
  owner: Hex | null;
  manager: Hex | null;
  since: string | null;
  created: string;
  expires: string | null;
  graceEnds: string | null;
  isLease: boolean;
  isManaged: boolean;
  isWrapped: boolean;
  isLapsed: boolean;
  fuses: number | null;
  wrapperExpires: string | null;
  wasWrapped: boolean;
  holder: Hex | null;
  isHeldThroughWrapper: boolean;
  isMigrated: boolean;
  isOwned: boolean;
  resolver: Hex | null;
  /** Where ENSv2 is indexed and knows the name. `isInForce`: the facts are those of its entry. */
  v2?: {
    version: "v1" | "v2" | null;
    isReserved: boolean;
    migrated: string | null;
    path: Hex[] | null;
    isInForce: boolean;
    token: Hex | null;
    subregistry: Hex | null;
    holder: Hex | null;
  } | null;
};

/** The resolver of a name, by its chain and address; undefined if it has none. */
export function resolverOf({ resolver }: StoredName, { chainId }: Place) {
  return resolver === null || resolver === zeroAddress ? undefined : { chain_id: chainId, address: resolver };
}
