import type { Hex } from "viem";
import { rootNode, subnode, zeroAddress } from "../../ens/ids.ts";
import { keccak256 } from "../../ens/keccak.ts";
import { gracePeriod, parentCannotControl } from "../../ens/registrations.ts";
import {
  askedByPath,
  askedByRow,
  ethAttachedSql,
  reachedJoin,
  type WalkContracts,
  walkSql,
  wrapperExpiry,
} from "./v2-walk.ts";

// The current state of a name (docs/names.md), derived only here: from its rows in the first generation and its entry
// in ENSv2.

/**
 * A namespace as the derivation needs it: where its names live and when they end. The first namespace is the root
 * chain's.
 */
export type NamespaceRules = {
  namespace: string;
  chainId: number;
  /** Parent of the names that a registrar leases. */
  leases: Hex | undefined;
  nameWrapper: Hex | undefined;
  /**
   * The contract whose resolvers of names are rows of their own; undefined on the root chain, and if these are not
   * indexed.
   */
  linker: Hex | undefined;
  /** Seconds after the expiry of a lease in which it can still be renewed and nobody else can register the name. */
  grace: number;
  v2?: WalkContracts | undefined;
};

/** SQL of the timestamp of the root chain's last indexed block. `$1` holds the timestamp of each namespace. */
export const indexTime = "(($1::bigint[])[1])::numeric";

/** The contracts of ENSv2 on the root chain; undefined if ENSv2 is not indexed. */
export const secondGeneration = <T extends NamespaceRules>(namespaces: readonly T[]): T["v2"] =>
  namespaces[0]?.v2;

const nobody = `'${zeroAddress}'`;
const ethNode = subnode(rootNode, keccak256("eth"));

/**
 * SQL of the address in a resolver id (`…0x<address>-0x<node>`) or of a bare address. A regular expression takes 20
 * times as long.
 */
export const addressOfResolver = (id: string) => `left(right(${id}, 109), 42)`;

/** SQL of the address of the resolver in the root chain's first-generation registry. */
export const ownResolver = addressOfResolver("domain.resolver_id");

// SQL. `isManaged`: whether a registrar leases the name below its parent; `isWrapper`: whether an address is the name's
// name wrapper.
type FirstGenerationInputs = {
  now: string;
  grace: string;
  isManaged: string;
  isWrapper: (address: string) => string;
};

// Joins `lease` (the registration), `wrapped` (the wrapper entry with its effective expiry) and `of_v1` to `domain`,
// whose columns may all be null. `OFFSET 0` computes each step once per row: otherwise the planner inlines it at each
// use. A name without a registrant has no registration, and one without a wrapped owner has no wrapper entry: neither
// is looked up.
function firstGenerationJoins({ now, grace, isManaged, isWrapper }: FirstGenerationInputs): string {
  return `
LEFT JOIN LATERAL (SELECT registration_date, expiry_date, registrant_id FROM registration WHERE domain_id = domain.id AND domain.registrant_id IS NOT NULL LIMIT 1) lease ON true
LEFT JOIN LATERAL (SELECT id, fuses, owner_id, ${wrapperExpiry("w")} AS expiry_date
  FROM wrapped_domain w WHERE id = domain.id AND domain.wrapped_owner_id IS NOT NULL LIMIT 1) wrapped ON true
CROSS JOIN LATERAL (SELECT lease.expiry_date IS NOT NULL AS is_lease,
  coalesce(wrapped.id IS NOT NULL AND ${isWrapper("domain.owner_id")} AND (NOT ${isManaged} OR ${isWrapper("domain.registrant_id")}), false) AS is_wrapped,
  coalesce((wrapped.fuses & ${parentCannotControl}) <> 0, false) AS is_emancipated OFFSET 0) kind
CROSS JOIN LATERAL (SELECT kind.is_wrapped AND kind.is_emancipated AND wrapped.expiry_date < ${now} AS is_lapsed,
  CASE WHEN kind.is_lease THEN lease.expiry_date WHEN kind.is_wrapped THEN wrapped.expiry_date END AS expires,
  CASE WHEN kind.is_lease THEN lease.expiry_date + ${grace} WHEN kind.is_wrapped THEN wrapped.expiry_date END AS grace_ends,
  CASE WHEN kind.is_lease THEN CASE WHEN ${now} < lease.expiry_date THEN 'active'
      WHEN ${grace} > 0 AND ${now} <= lease.expiry_date + ${grace} THEN 'expired' ELSE 'released' END
    WHEN kind.is_wrapped THEN CASE WHEN kind.is_emancipated AND ${now} > wrapped.expiry_date THEN 'released' ELSE 'active' END
    WHEN domain.owner_id <> ${nobody} THEN 'active' ELSE 'unregistered' END AS status OFFSET 0) life
CROSS JOIN LATERAL (SELECT kind.*, life.*,
  CASE WHEN life.status = 'released' OR life.is_lapsed THEN NULL WHEN kind.is_wrapped THEN wrapped.owner_id
    WHEN kind.is_lease AND ${isManaged} THEN CASE WHEN ${isWrapper("domain.registrant_id")} THEN NULL ELSE nullif(domain.registrant_id, ${nobody}) END
    ELSE nullif(domain.owner_id, ${nobody}) END AS owner,
  CASE WHEN life.status = 'released' OR life.is_lapsed OR (kind.is_wrapped AND kind.is_lease AND life.status = 'expired') THEN NULL
    WHEN kind.is_wrapped THEN wrapped.owner_id ELSE nullif(domain.owner_id, ${nobody}) END AS manager OFFSET 0) of_v1`;
}

// Joins `in_force`, the state by the generation in force, to `entry` (a row of `walkSql`) and `of_v1`. If neither is in
// force, an entry that was registered counts. A lease held by the Graveyard has no end, nor has a wrapped name that its
// parent controls.
const inForceJoin = ({ graveyard }: WalkContracts) => `
CROSS JOIN LATERAL (SELECT coalesce(entry.version = 'v2' OR entry.version IS NULL AND (entry.was_registered OR NOT of_v1.is_lease), false) AS is_entry,
  of_v1.is_lease AND lease.registrant_id IS DISTINCT FROM '${graveyard}' AS is_leased OFFSET 0) whose
CROSS JOIN LATERAL (SELECT whose.is_entry,
  CASE entry.version WHEN 'v2' THEN nullif(entry.owner, ${nobody}) WHEN 'v1' THEN of_v1.owner END AS owner,
  CASE entry.version WHEN 'v2' THEN nullif(entry.resolver, ${nobody}) WHEN 'v1' THEN nullif(${ownResolver}, ${nobody}) END AS resolver,
  CASE WHEN whose.is_entry THEN entry.expiry WHEN whose.is_leased OR NOT of_v1.is_lease AND of_v1.is_emancipated THEN of_v1.expires END AS expires,
  CASE WHEN whose.is_entry THEN entry.grace_ends WHEN whose.is_leased THEN of_v1.grace_ends END AS grace_ends) in_force`;

/**
 * FROM clause of names of the root chain: `entry`, the row of `walkSql(asked)` at a time (SQL), and `in_force`, with
 * owner, resolver, expires and grace_ends by the generation in force. These are null if the first generation is not
 * indexed.
 */
export function walkedNames(
  asked: string,
  contracts: WalkContracts,
  { time, hasV1 }: { time: string; hasV1: boolean },
): string {
  const walk = `(${walkSql(asked, contracts, { time, hasV1 })}) entry`;
  if (!hasV1)
    return `${walk} CROSS JOIN (SELECT NULL AS owner, NULL AS resolver, NULL AS expires, NULL AS grace_ends) in_force`;
  const ofV1 = firstGenerationJoins({
    now: time,
    grace: String(gracePeriod),
    isManaged: `coalesce(domain.parent_id = '${ethNode}', false)`,
    isWrapper: (address) =>
      `${address} IN (${contracts.wrappers.map((one) => `'${one}'`).join(", ") || "NULL"})`,
  });
  return `${walk} LEFT JOIN domain ON domain.id = entry.node${ofV1}${inForceJoin(contracts)}`;
}

// The resolvers of names are rows of their own on all chains but the root chain.
function ofResolver(
  namespaces: readonly NamespaceRules[],
  onRoot: string,
  elsewhere: (chainId: number) => string,
) {
  const others = namespaces.flatMap(({ chainId, linker }, at) => {
    if (linker === undefined) return [];
    return `WHEN ${at + 1} THEN (SELECT ${elsewhere(chainId)} FROM domain_resolver_relations l
    WHERE l.chain_id = ${chainId} AND l.address = '${linker}' AND l.domain_id = domain.id)`;
  });
  return others.length === 0 ? onRoot : `CASE home.index ${others.join(" ")} ELSE ${onRoot} END`;
}

/**
 * Joins `names`, the current state of each name, to `domain`: `home` (from 1), chain, status, owner, manager, dates,
 * and its lease, wrapper and ENSv2 data. `$1` holds the timestamp of each namespace. Unread columns cost nothing.
 * `path`: SQL of the path for `askedByPath`, if rows have one. ENSv2 rows that no registry leads to are left out.
 */
export function namesJoins(namespaces: readonly NamespaceRules[], path?: string): string {
  const v2 = secondGeneration(namespaces);
  const managed = namespaces.flatMap(({ leases }) => (leases === undefined ? [] : [`'${leases}'`]));
  const ofHome = (value: (home: NamespaceRules) => string | number, type: string) =>
    `(ARRAY[${namespaces.map(value).join(", ")}]::${type}[])[home.index]`;
  const first = firstGenerationJoins({
    now: "rule.now",
    grace: "rule.grace",
    isManaged: "rule.is_managed",
    isWrapper: (address) => `${address} = rule.wrapper`,
  });
  // Names that only ENSv2 has carry no namespace: they are on the root chain.
  const isAt = ({ namespace, chainId }: NamespaceRules, at: number) =>
    `WHEN domain.chain_id = ${chainId} AND domain.namespace = '${namespace}' THEN ${at + 1}`;
  return `
CROSS JOIN LATERAL (SELECT CASE ${namespaces.map(isAt).join(" ")} WHEN true THEN 1 END AS index OFFSET 0) home
CROSS JOIN LATERAL (SELECT ($1::bigint[])[home.index] AS now, ${ofHome(({ nameWrapper }) => (nameWrapper ? `'${nameWrapper}'` : "NULL"), "text")} AS wrapper,
  ${ofHome(({ grace }) => grace, "bigint")} AS grace, domain.parent_id IN (${[...managed, "'none'"].join(", ")}) AS is_managed OFFSET 0) rule${first}${v2 ? bothGenerations(v2, path) : firstAlone}
CROSS JOIN LATERAL (SELECT domain.id AS node, domain.name, domain.labelhash, domain.parent_id AS parent, domain.created_at AS created, home.index AS home, rule.now,
  ${ofHome(({ chainId }) => chainId, "int")} AS chain, held.status, held.owner, held.manager, held.started, held.registered, held.expires, held.grace_ends,
  held.is_lease, rule.is_managed, held.is_wrapped, held.is_lapsed, of_v1.is_emancipated, wrapped.fuses, wrapped.expiry_date AS wrapper_expires,
  wrapped.id IS NOT NULL OR (SELECT true FROM domain_event e WHERE e.domain_id = domain.id AND e.type = 'NameWrapped' LIMIT 1) IS NOT NULL AS was_wrapped,
  held.last_holder, lease.registrant_id = rule.wrapper AS is_held_through_wrapper, domain.is_migrated, domain.owner_id <> ${nobody} AS is_owned,
  CASE WHEN held.has_v1_resolver THEN ${ofResolver(namespaces, ownResolver, () => "l.resolver")} ELSE held.v2_resolver END AS resolver,
  ${ofResolver(namespaces, "domain.resolver_id", (chainId) => `'${chainId}-' || l.resolver || '-' || domain.id`)} AS resolver_row,
  held.is_unresolvable, held.is_v2, held.registry, held.v2, held.reading) names`;
}

const lastHolder =
  "CASE WHEN of_v1.is_wrapped THEN wrapped.owner_id WHEN lease.registrant_id IS DISTINCT FROM rule.wrapper THEN lease.registrant_id END";

const firstAlone = `
CROSS JOIN LATERAL (SELECT of_v1.*, lease.registration_date AS started, lease.registration_date AS registered, ${lastHolder} AS last_holder, true AS has_v1_resolver,
  NULL::text AS v2_resolver, false AS is_unresolvable, false AS is_v2, NULL::text AS registry, NULL::json AS v2, NULL::json AS reading) held`;

// A lease that came over keeps its date; `started` is that of the registration in force. `kept.is_v2`: the ENSv2 entry
// gives the state. `kept.is_gone`: the Graveyard holds the lease. `reading`: how to read the ENSv2 resolver.
// `is_unresolvable`: of the first generation under .eth, and no entry leads to its resolvers.
const bothGenerations = (v2: WalkContracts, path?: string) => `
CROSS JOIN LATERAL (SELECT CASE WHEN home.index = 1 THEN domain.id END AS id OFFSET 0) walked
LEFT JOIN LATERAL (${walkSql(path === undefined ? askedByRow("walked", v2.chainId) : askedByPath(path), v2, { time: indexTime, hasV1: true })} OFFSET 0) entry ON true${inForceJoin(v2)}
JOIN LATERAL (SELECT coalesce(entry.version = 'v2' OR entry.authority = 'none' AND in_force.is_entry AND entry.storage_id IS NOT NULL, false) AS is_v2,
  coalesce(entry.authority = 'none' AND lease.registrant_id = '${v2.graveyard}' AND NOT in_force.is_entry, false) AS is_gone
  WHERE domain.registry IS NULL OR domain.registry = entry.registry OFFSET 0) kept ON true
CROSS JOIN LATERAL (SELECT of_v1.is_wrapped AND NOT kept.is_v2 AS is_wrapped, of_v1.is_lapsed AND NOT kept.is_v2 AS is_lapsed,
  CASE WHEN kept.is_v2 THEN entry.storage_id IS NOT NULL ELSE of_v1.is_lease END AS is_lease,
  CASE WHEN kept.is_v2 THEN in_force.expires WHEN NOT kept.is_gone THEN of_v1.expires END AS expires,
  CASE WHEN kept.is_v2 THEN coalesce(in_force.grace_ends, in_force.expires) WHEN NOT kept.is_gone THEN of_v1.grace_ends END AS grace_ends,
  CASE WHEN kept.is_gone THEN 'released' WHEN NOT kept.is_v2 THEN of_v1.status WHEN entry.storage_id IS NULL THEN 'unregistered'
    WHEN rule.now < entry.expiry THEN 'active' WHEN rule.now < entry.grace_ends THEN 'expired' ELSE 'released' END AS status,
  CASE WHEN kept.is_v2 THEN in_force.owner WHEN NOT kept.is_gone THEN of_v1.owner END AS owner,
  CASE WHEN kept.is_v2 THEN in_force.owner WHEN NOT kept.is_gone THEN of_v1.manager END AS manager,
  CASE WHEN kept.is_v2 THEN entry.created_at ELSE lease.registration_date END AS started,
  CASE WHEN kept.is_v2 AND entry.migrated_at IS NULL THEN entry.created_at WHEN kept.is_v2 THEN least(lease.registration_date, entry.created_at)
    ELSE lease.registration_date END AS registered,
  CASE WHEN kept.is_v2 THEN entry.holder ELSE ${lastHolder} END AS last_holder,
  NOT (kept.is_v2 OR kept.is_gone) AS has_v1_resolver, in_force.resolver AS v2_resolver, kept.is_v2, entry.registry,
  ${v2.isInForce} AND NOT kept.is_v2 AND coalesce(entry.authority IS NOT NULL AND entry.resolver = ${nobody}, false) AS is_unresolvable,
  CASE WHEN home.index = 1 AND (entry.version IS NOT NULL OR kept.is_v2) THEN json_build_object('version', entry.version, 'isReserved', coalesce(entry.authority = 'reserved', false),
    'migrated', entry.migrated_at::text, 'path', entry.registry_path, 'isInForce', kept.is_v2, 'token', entry.token_id,
    'subregistry', nullif(entry.subregistry, ${nobody}), 'holder', nullif(entry.holder, ${nobody})) END AS v2,
  CASE WHEN kept.is_v2 THEN json_build_object('resolver', in_force.resolver, 'isProven', entry.is_proven, 'isOwn', entry.resolver_level = entry.depth,
    'implementation', entry.implementation, 'hasRecordIds', entry.has_record_ids, 'isUpgraded', entry.is_upgraded, 'labels', entry.label_path) END AS reading
  OFFSET 0) held`;

/** The expiry of what never ends: the maximum of a uint64. */
export const noExpiry = "18446744073709551615";

/**
 * SQL of a condition on derived values, in CASE: the planner takes the bare one for rare, and would sort all rows for a
 * page.
 */
export const hideFromPlanner = (filter: string) => `CASE WHEN ${filter} THEN true ELSE false END`;

/** SQL condition that holds for every name but the root, which has none. */
export const hasName = "domain.name <> ''";

/** Columns of `domain`. */
export const columns =
  "id, name, label_name, labelhash, parent_id, owner_id, registrant_id, wrapped_owner_id, resolver_id, resolved_address_id, created_at, is_migrated, namespace, chain_id";
const noText = 'NULL::text COLLATE "C"';

// If both generations have a name, the first generation's row counts; `namesJoins` adds what is in force.
const ofFirst = (where = "true") => `SELECT ${columns}, ${noText} AS registry FROM domain WHERE ${where}`;
// The cheap check of the way up comes before the walk: anyone can create a million names in a registry that no name
// leads to.
const ofSecond = (v2: WalkContracts, where = "true") => `
  SELECT v.id, v.name, v.label_name, v.labelhash, v.parent_id, v.owner_id, v.owner_id AS registrant_id, ${noText} AS wrapped_owner_id, v.resolver_id,
    ${noText} AS resolved_address_id, v.created_at, true AS is_migrated, ${noText} AS namespace, NULL::integer AS chain_id, v.registry
  FROM v2_domains v ${reachedJoin("v", "m", v2, indexTime)}
  WHERE v.chain_id = ${v2.chainId} AND ${where} AND m.is_reached AND NOT EXISTS (SELECT FROM domain o WHERE o.id = v.id OFFSET 0)`;

/** SQL of all names, as rows of `domain`. */
export function allNames(namespaces: readonly NamespaceRules[]): string {
  const v2 = secondGeneration(namespaces);
  return v2 === undefined ? "domain" : `(${ofFirst()} UNION ALL ${ofSecond(v2)}) domain`;
}

/** SQL that joins the name of a node, as a row of `domain`. */
export function nameOfNode(namespaces: readonly NamespaceRules[], node: string): string {
  const v2 = secondGeneration(namespaces);
  if (v2 === undefined) return `JOIN domain ON domain.id = ${node}`;
  return `CROSS JOIN LATERAL (${ofFirst(`id = ${node}`)} UNION ALL ${ofSecond(v2, `v.id = ${node}`)} OFFSET 0) domain`;
}

/**
 * SQL that joins the name at a path as a row of `domain`: any entry below the root in registries of known code, even if
 * lists leave it out since its registry has too many names. `path`: SQL of JSON with `name`, `node`, `labelhash`,
 * `parent` and what `askedByPath` needs.
 */
export const nameOfPath = (v2: WalkContracts, path: string) => `CROSS JOIN LATERAL (
  SELECT ${path}->>'node' AS id, ${path}->>'name' AS name, ${noText} AS label_name, ${path}->>'labelhash' AS labelhash, ${path}->>'parent' AS parent_id,
    coalesce(f.holder, '${zeroAddress}') AS owner_id, ${noText} AS registrant_id, ${noText} AS wrapped_owner_id, ${noText} AS resolver_id,
    ${noText} AS resolved_address_id, f.created_at, true AS is_migrated, ${noText} AS namespace, NULL::integer AS chain_id, f.registry, ${path} AS path
  FROM (${walkSql(askedByPath(path), v2, { time: indexTime, hasV1: false })}) f WHERE f.storage_id IS NOT NULL AND f.is_proven OFFSET 0) domain`;

/** The tables of names, in the order of `partsOfNames`. */
export const tablesOfNames = ["domain", "v2_domains"] as const;

/** SQL of all names in parts, each of which an index can return in order. */
export function partsOfNames(namespaces: readonly NamespaceRules[]): string[] {
  const v2 = secondGeneration(namespaces);
  return v2 === undefined ? ["domain"] : [`(${ofFirst()}) domain`, `(${ofSecond(v2)}) domain`];
}

/**
 * A way to find names as rows of `domain`: `by` the column that has their holder, with SQL of the name and node to sort
 * by.
 */
export type Held = {
  by: "registrant_id" | "wrapped_owner_id" | "owner_id" | "entry";
  from: string;
  where: string;
  name: string;
  id: string;
};

/**
 * The ways to find the names that an address holds, in each registry of one generation. Some names may have another
 * owner now.
 */
export function namesHeldBy(namespaces: readonly NamespaceRules[], holder: string): Held[] {
  const [first = ""] = partsOfNames(namespaces);
  const v2 = secondGeneration(namespaces);
  const entries = buildEntriesOfName(namespaces, "e");
  const others = v2
    ? ` AND NOT EXISTS (SELECT FROM v2_domains e ${reachedJoin("e", "m", v2, indexTime)}
    WHERE e.chain_id = ${v2.chainId} AND e.id = domain.id AND e.owner_id = ${holder} AND m.is_reached OFFSET 0)`
    : "";
  const held = (["registrant_id", "wrapped_owner_id", "owner_id"] as const).map((by) => ({
    by,
    from: first,
    where: `domain.${by} = ${holder}${others}`,
    name: "domain.name",
    id: "domain.id",
  }));
  if (entries === undefined) return held;
  const { from, where, name, id } = entries;
  return [...held, { by: "entry", from, where: `${where} AND e.owner_id = ${holder}`, name, id }];
}

/**
 * Names by their rows of `v2_domains` under an alias, in registries that names lead to; undefined if ENSv2 is not
 * indexed.
 */
export function buildEntriesOfName(
  namespaces: readonly NamespaceRules[],
  alias: string,
): Pick<Held, "from" | "where" | "name" | "id"> | undefined {
  const v2 = secondGeneration(namespaces);
  if (v2 === undefined) return undefined;
  // Rows that are not reached need no further lookup.
  const reached = `CASE WHEN at_${alias}.is_reached THEN ${alias}.id END`;
  return {
    from: `v2_domains ${alias} ${reachedJoin(alias, `at_${alias}`, v2, indexTime)} ${nameOfNode(namespaces, reached)}`,
    where: `${alias}.chain_id = ${v2.chainId} AND at_${alias}.is_reached`,
    name: `${alias}.name`,
    id: `${alias}.id`,
  };
}

/**
 * SQL condition that a node has no entry in force in the .eth registry. Most migrated names still have a lease in the
 * first generation; the condition leaves them out without a walk.
 */
export const notInSecond = (v2: WalkContracts, node: string): string => `NOT EXISTS (SELECT FROM v2_domains n
    WHERE n.chain_id = ${v2.chainId} AND n.id = ${node} AND n.registry = '${v2.ethRegistry}' AND n.owner_id <> '${zeroAddress}'
      AND n.expiry_date > ${indexTime} AND ${ethAttachedSql(v2, indexTime)} OFFSET 0)`;

// A member of a row of `names` as JSON, null without a value. `ofText`: text without characters to escape; `ofJson`:
// numbers and JSON.
type Member<T> = { sql: (member: string) => string; type?: T };
const ofText = <T extends string = Hex>(column: string): Member<T> => ({
  sql: (member) => `',"${member}":"' || names.${column} || '"'`,
});
const bare = (member: string, sql: string) => `',"${member}":' || (${sql})::text`;
const ofJson = <T>(sql: string): Member<T> => ({ sql: (member) => bare(member, sql) });
const ifTrue = (column: string): Member<true> => ({
  sql: (member) => `CASE WHEN names.${column} THEN ',"${member}":true' END`,
});

// Seconds are strings: they have up to 64 bits.
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
  registered: ofText<string>("registered"),
  since: ofText<string>("started"),
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
  isUnresolvable: ifTrue("is_unresolvable"),
  v2: ofJson<EntryOfName>("names.v2"),
};

/** The entry of a name that ENSv2 knows. `isInForce`: whether the name's state is that of the entry. */
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

/** A row of `names`. Members that are null or false in SQL are absent. */
export type StoredName = { home: number } & MembersOf<typeof always> & Partial<MembersOf<typeof perhaps>>;

/** SQL of a row of `names` as JSON text, a `StoredName`. Postgres takes longer to convert a record to JSON. */
export const nameText: string = `concat('{"home":', names.home, ${Object.entries({ ...always, ...perhaps })
  .map(([member, { sql }]) => sql(member))
  .join(", ")}, '}')`;

/** Further members of a row of a list. */
export type Extra = {
  relations: ("owner" | "manager" | "role_holder" | "resolves_to" | "former_owner" | "owned_account")[];
  isPrimary: boolean;
  forward: (boolean | null)[] | null;
  /** Coin types whose record is the address. */
  coins: number[];
};

/** A row with its sort values as text, after which the next page begins. */
export type Listed = { row: StoredName; after: string[] } & { [K in keyof Extra]?: Extra[K] | undefined };

/** SQL of the text of a JSON object, from the SQL of its members' JSON; null members are left out. */
export const objectText = (row: string, members: Readonly<Record<string, string>>): string =>
  `concat('{"row":', ${row}${Object.entries(members)
    .map(([member, sql]) => `, ${bare(member, sql)}`)
    .join("")}, '}')`;

/** SQL of the text of a JSON list, from rows with a text `found`. */
export const listText = (rows: string): string =>
  `SELECT '[' || coalesce(string_agg(found, ','), '') || ']' FROM (${rows}) listed`;
