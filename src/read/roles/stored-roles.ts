import type { Hex } from "viem";
import { maxLevels } from "../../ens/registrations.ts";
import { storageIdSql } from "../../schema/sql.ts";
import { type StoredRole, wholeContract } from "../names/grants.ts";
import { type Binder, binder, type NamesSource, openStatement, type StatementCall } from "../names/source.ts";
import { indexTime, type StoredName, secondGeneration } from "../names/stored-name.ts";
import type { V2Contracts } from "../names/v2-names.ts";
import { isKnownRegistry, reachedJoin, type WalkContracts } from "../names/v2-walk.ts";
import type { Database } from "../sql/client.ts";

// Roles of accounts on contracts of ENSv2: which there are, which count, and what they are for. Anyone can be given any
// number of roles and can give them on contracts of their own, so each read has a limit. In SQL a role is `p`.

// Up to so many roles of an account are read for a page, those that do not count included.
const maxScanned = 1_000;
// Resources of a resolver that are limited to one name.
const maxResources = 200;
// The key of a record may have any length.
const maxKeyLength = 4_096;

/** Up to which number roles are counted and numbered pages reach. */
export const maxCounted = 10_000;

const text = (placeholder: string) => `${placeholder}::text COLLATE "C"`;
const addressList = (addresses: readonly Hex[]) => `'{${addresses.join(",")}}'::text[]`;

/**
 * SQL of the roles of an account. The sum keeps the planner from the primary key, which has the roles of all other
 * accounts in between.
 */
export const rolesOfAccount = (account: string, chainId: number) =>
  `v2_roles p WHERE p.account = ${account} AND p.chain_id + 0 = ${chainId}`;

/** SQL of the roles on the registration in force of a label in a registry. */
export const rolesOfEntry = (chainId: number, registry: string, labelhash: string) =>
  `v2_entries o JOIN v2_roles p ON p.chain_id = o.chain_id AND p.address = o.registry AND p.resource = o.resource
    WHERE o.chain_id = ${chainId} AND o.registry = ${registry} AND o.storage_id = ${storageIdSql(labelhash)} AND o.expiry > ${indexTime}`;

/**
 * SQL of the roles that count on a registry of known code, on the whole of it and on its entries, in the order of an
 * index.
 */
export const rolesOfRegistry = ({ chainId }: WalkContracts, registry: Hex) =>
  `v2_roles p CROSS JOIN (SELECT 'registry' AS kind, true AS is_proven) k ${entryJoin(chainId)}
  WHERE p.chain_id = ${chainId} AND p.address = '${registry}' AND ${counts} ORDER BY p.resource, p.account`;

/** SQL condition that an entry under an alias is the one of a role. */
export const isEntryOfRole = (alias: string, chainId: number) =>
  `${alias}.chain_id = ${chainId} AND ${alias}.registry = p.address AND ${alias}.storage_id = ${storageIdSql("p.resource")}`;

/** SQL condition that the entry of a role, under an alias, is in force and the role is on its present resource. */
export const isOnPresent = (alias: string) =>
  `${alias}.resource = p.resource AND ${alias}.expiry > ${indexTime}`;

// A role counts that gives something, on an entry in force. `isElsewhere`: whether it counts without an entry.
const countsIf = (isElsewhere: string) =>
  `p.roles <> '${wholeContract}' AND coalesce(${isOnPresent("e")}, ${isElsewhere})`;
const counts = `k.is_proven AND ${countsIf(`k.kind <> 'registry' OR p.resource = '${wholeContract}'`)}`;

/**
 * SQL that joins to an address its contract and what that is: `k.kind`, and `k.is_proven`, whether its code is known,
 * which that of an upgraded resolver is not. Others say of themselves and of anybody what they like.
 */
export function contractJoin(v2: V2Contracts, address: string): string {
  const isResolver = `c.implementation = ANY (${addressList(v2.resolvers)})`;
  const isRegistry = isKnownRegistry(v2, address, "c");
  // The limits have each row looked up by its key.
  return `LEFT JOIN LATERAL (SELECT * FROM v2_contracts c WHERE c.chain_id = ${v2.chainId} AND c.address = ${address} LIMIT 1) c ON true
  CROSS JOIN LATERAL (SELECT CASE WHEN ${isRegistry} AND (${isResolver}) IS NOT TRUE THEN 'registry' WHEN c.has_record_ids THEN 'recordResolver'
    WHEN ${isResolver} THEN 'resolver' ELSE 'registry' END AS kind,
    CASE WHEN ${isResolver} THEN NOT c.is_upgraded ELSE ${isRegistry} END AS is_proven) k`;
}

// Resolvers of known code have no entries, nor has the whole of a contract. A plain join would let the planner compare
// all roles of a contract with all of its entries.
const entryJoin = (chainId: number) =>
  `LEFT JOIN LATERAL (SELECT * FROM v2_entries e WHERE (k.kind = 'registry' OR NOT k.is_proven) AND p.resource <> '${wholeContract}'
    AND ${isEntryOfRole("e", chainId)} LIMIT 1) e ON true`;

const resourceJoin = (chainId: number) =>
  `LEFT JOIN LATERAL (SELECT * FROM v2_resources m WHERE k.kind <> 'registry' AND m.chain_id = ${chainId} AND m.resolver = p.address
    AND m.resource = p.resource LIMIT 1) m ON true`;

type FoundSql = {
  /** Common table expressions, one of which has the roles that are `scanned`. */
  ctes: string;
  counts: string;
  order: string | undefined;
  limit: number;
  /** SQL of further members of each role, and what it reads. */
  members: Record<string, string>;
  joins?: string;
  /** SQL of further members beside the roles. */
  beside: Record<string, string>;
};

const buildJsonSql = (members: Record<string, string>) =>
  `json_build_object(${Object.entries(members).map(([name, sql]) => `'${name}', ${sql}`)})`;

/**
 * SQL of roles as JSON, in a list with one object: what was scanned, as far as it counts, with what each role is for.
 */
function foundSql(v2: V2Contracts, of: FoundSql): string {
  const { ctes, counts, order, limit, members, joins = "", beside } = of;
  const role = {
    ...{ at: "p.at", kind: "k.kind", address: "p.address", resource: "p.resource", account: "p.account" },
    ...{ roles: "p.roles", record: "m.kind", ...members },
  };
  const found = `SELECT ${buildJsonSql(role)} AS found FROM scanned p ${contractJoin(v2, "p.address")}
  ${entryJoin(v2.chainId)} ${resourceJoin(v2.chainId)} ${joins} WHERE ${counts}${order ? ` ORDER BY ${order}` : ""} LIMIT ${limit}`;
  const roles = `(SELECT coalesce(json_agg(found), '[]') FROM (${found}) listed)`;
  return `WITH RECURSIVE ${ctes} SELECT json_build_array(${buildJsonSql({ roles, ...beside })})::text`;
}

/**
 * Roles that are asked for: of names, with those on their whole registry if `hasRoot`; of a resource of a contract; or
 * all of an account. `after`: account, contract and resource of the last one of the page before. Without `isSorted` in
 * any order.
 */
export type AskedRoles = {
  of: { names: readonly StoredName[]; hasRoot: boolean } | { contract: Hex; resource: string } | undefined;
  account?: string | undefined;
  after?: readonly string[] | undefined;
  limit: number;
  isSorted?: boolean | undefined;
};

/** SQL of rows `q` of names whose state is an entry's: its registry and storage id, and the resolver. */
export function askedNames(names: readonly StoredName[], { bind }: Binder): string {
  const list = (value: (row: StoredName) => string | null | undefined) =>
    `${bind(`{${names.map((row) => (row.v2?.isInForce && value(row)) || "NULL").join(",")}}`)}::text[]`;
  const columns = [
    list(({ node }) => node),
    list(({ v2 }) => v2?.path?.at(-1)),
    list(({ labelhash }) => labelhash && `${labelhash.slice(0, 58)}00000000`),
    list(({ resolver }) => resolver),
  ];
  return `(SELECT q.at - 1 AS at, q.node COLLATE "C" AS node, q.registry COLLATE "C" AS registry, q.storage COLLATE "C" AS storage, q.resolver COLLATE "C" AS resolver
    FROM unnest(${columns.join(", ")}) WITH ORDINALITY q (node, registry, storage, resolver, at)) q`;
}

/** SQL of the entry in force of a row of `askedNames`. */
export const entryOfAsked = ({
  chainId,
}: WalkContracts) => `v2_entries e ON e.chain_id = ${chainId} AND e.registry = q.registry
    AND e.storage_id = q.storage AND e.expiry > ${indexTime}`;

function buildTargetsSql(v2: V2Contracts, of: NonNullable<AskedRoles["of"]>, binder: Binder): string {
  if ("contract" in of)
    return `SELECT 0 AS at, ${text(binder.bind(of.contract))} AS address, ${text(binder.bind(of.resource))} AS resource`;
  const asked = askedNames(of.names, binder);
  const roots = ` UNION ALL SELECT q.at, q.registry, '${wholeContract}' FROM asked q WHERE q.registry IS NOT NULL`;
  return `WITH asked AS MATERIALIZED (SELECT * FROM ${asked})
    SELECT q.at, e.registry AS address, e.resource FROM asked q JOIN ${entryOfAsked(v2)}${of.hasRoot ? roots : ""}
    UNION ALL SELECT q.at, m.resolver, m.resource FROM asked q CROSS JOIN LATERAL (SELECT m.resolver, m.resource FROM v2_resources m
      WHERE m.chain_id = ${v2.chainId} AND m.resolver = q.resolver AND m.node = q.node ORDER BY m.resource LIMIT ${maxResources}) m`;
}

// The name of an entry in registries that names lead to.
const nodeOfEntry = (
  v2: V2Contracts,
) => `(SELECT v.id FROM v2_domains v ${reachedJoin("v", "at_v", v2, indexTime)}
    WHERE v.chain_id = ${v2.chainId} AND v.registry = p.address AND v.labelhash = e.labelhash AND at_v.is_reached ORDER BY v.id LIMIT 1)`;

/** SQL of the key of a record, null if it is too long. */
export const keySql = `CASE WHEN length(m.key) <= ${maxKeyLength} THEN m.key END`;

function rolesSql(v2: V2Contracts, asked: AskedRoles, binder: Binder): string {
  const { of, account, after, limit, isSorted = true } = asked;
  const holder = account === undefined ? undefined : text(binder.bind(account));
  const start = after?.map((value) => text(binder.bind(value)));
  const beyond = start ? ` AND (p.account, p.address, p.resource) > (${start.join(", ")})` : "";
  const from = start ? ` AND p.account >= ${start[0]}` : "";
  const scanned =
    of === undefined
      ? `SELECT 0 AS at, p.* FROM ${rolesOfAccount(holder ?? "NULL", v2.chainId)}${beyond} ORDER BY p.address, p.resource LIMIT ${maxScanned}`
      : `SELECT t.at, p.* FROM (${buildTargetsSql(v2, of, binder)}) t CROSS JOIN LATERAL (SELECT p.* FROM v2_roles p WHERE p.chain_id = ${v2.chainId} AND p.address = t.address
      AND p.resource = t.resource AND p.roles <> '${wholeContract}'${holder ? ` AND p.account = ${holder}` : ""}${from}${beyond} ORDER BY p.account LIMIT ${limit}) p`;
  const position = "json_build_array(p.account, p.address, p.resource)";
  const end = `(SELECT ${position} FROM scanned p ORDER BY p.address, p.resource OFFSET ${maxScanned - 1} LIMIT 1)`;
  return foundSql(v2, {
    ctes: `scanned AS (${scanned})`,
    counts,
    order: isSorted ? "p.account, p.address, p.resource" : undefined,
    limit,
    members: { node: `coalesce(m.node, ${nodeOfEntry(v2)})`, key: keySql, after: position },
    beside: { end: of === undefined ? end : "NULL" },
  });
}

/** `end`: the position after which there may be more of an account, where not all were read. */
type FoundRoles = { roles: StoredRole[]; end: string[] | null };

/** No roles. */
export const noRoles: FoundRoles = { roles: [], end: null };

/** Reads roles on contracts of known code. */
export async function readRoles(
  source: NamesSource,
  call: StatementCall,
  asked: AskedRoles,
): Promise<FoundRoles> {
  const v2 = secondGeneration(source.namespaces);
  const isNone = asked.of && "names" in asked.of && !asked.of.names.some((row) => row.v2?.isInForce);
  if (v2 === undefined || isNone) return noRoles;
  const statement = openStatement(source, call);
  const [found = noRoles] = await statement.rows<FoundRoles>(rolesSql(v2, asked, statement));
  return found;
}

/**
 * A numbered page of roles: of an account in contracts of known or of unknown code; on a contract and all that it has;
 * or on a name in its registry, with the whole of it, and in its resolver. `after`: contract, resource and account that
 * the list continues after.
 */
export type AskedPage = {
  of:
    | { account: Hex; isProven: boolean }
    | { contract: Hex }
    | { registry: Hex; resource: Hex; resolver: Hex; node: Hex };
  /** Unix seconds. */
  time: number;
  after: readonly string[] | undefined;
  limit: number;
  offset: number;
};

/**
 * A role of such a page. `label` and `labels`: of the entry, and of the registries on `path` from the root, as stored
 * and the lowest first; `wire`: the name that a resolver's resource is limited to.
 */
export type PagedRole = Omit<StoredRole, "node" | "after"> & { isProven: boolean } & Record<
    "label" | "labels",
    string | null
  > & { path: Hex[] | null; wire: Hex | null };

// The registries above a role's up to the root, as each claims its parent, with stored labels. The depth limit ends
// cycles.
const claimedPathSql = ({ chainId, root }: WalkContracts) => `
  WITH RECURSIVE up AS (
    SELECT p.address AS registry, ARRAY[p.address] AS path, NULL::text COLLATE "C" AS labels, 0 AS level
    UNION ALL
    SELECT e.registry, e.registry || up.path, concat_ws(' ', up.labels, e.labelhash || e.label), up.level + 1
    FROM up
    JOIN v2_contracts c ON c.chain_id = ${chainId} AND c.address = up.registry
    JOIN v2_entries e ON e.chain_id = ${chainId} AND e.subregistry = up.registry AND e.registry = c.parent
      AND e.label = c.parent_label AND e.expiry > ${indexTime}
    WHERE up.registry <> '${root}' AND up.level < ${maxLevels}
  )
  SELECT up.path, up.labels FROM up WHERE up.registry = '${root}' LIMIT 1`;

// The contracts that may have the roles of a page, and which of their roles are asked for.
function buildPlacesSql({ chainId }: V2Contracts, of: AskedPage["of"], { bind }: Binder) {
  if ("contract" in of) return { contracts: `SELECT ${text(bind(of.contract))}`, isAsked: "true" };
  if ("account" in of) {
    const account = text(bind(of.account));
    // Found one after the other in the index by account.
    const next = (after: string) =>
      `(SELECT p.address FROM ${rolesOfAccount(account, chainId)} AND p.address > ${after} ORDER BY p.address LIMIT 1)`;
    return {
      contracts: `${next("''")} UNION ALL SELECT ${next("contracts.address")} FROM contracts WHERE contracts.address IS NOT NULL`,
      isAsked: `p.account = ${account} AND k.is_proven = ${of.isProven}`,
    };
  }
  const [registry, resolver] = [text(bind(of.registry)), text(bind(of.resolver))];
  const [resource, node] = [text(bind(of.resource)), text(bind(of.node))];
  return {
    contracts: `VALUES (${registry}), (${resolver})`,
    isAsked: `(p.address = ${registry} AND p.resource IN ('${wholeContract}', ${resource})
    OR p.address = ${resolver} AND (p.resource = '${wholeContract}' OR EXISTS (SELECT FROM v2_resources m WHERE m.chain_id = p.chain_id
      AND m.resolver = p.address AND m.resource = p.resource AND coalesce(m.node, ${node}) = ${node})))`,
  };
}

// Of contracts that the deployment or its factory deployed. Each contract's roles are read in the order of an index, no
// further than they are counted.
function pageSql(v2: V2Contracts, { of, after, limit, offset }: AskedPage, binder: Binder): string {
  const { contracts, isAsked } = buildPlacesSql(v2, of, binder);
  const start = after?.map((value) => text(binder.bind(value)));
  const from = start ? ` WHERE address >= ${start[0]}` : "";
  const beyond = start
    ? ` AND (p.address > ${start[0]} OR (p.resource, p.account) > (${start[1]}, ${start[2]}))`
    : "";
  const order = "p.address, p.resource, p.account";
  return foundSql(v2, {
    ctes: `contracts (address) AS (${contracts}), known AS MATERIALIZED (
  SELECT a.address, k.* FROM (SELECT DISTINCT address FROM contracts${from}) a ${contractJoin(v2, "a.address")}
  WHERE a.address = ANY (${addressList(v2.registries)}) OR c.implementation IS NOT NULL
), counted AS MATERIALIZED (
  SELECT p.* FROM known k CROSS JOIN LATERAL (
    SELECT p.* FROM v2_roles p ${entryJoin(v2.chainId)}
    WHERE p.chain_id = ${v2.chainId} AND p.address = k.address AND ${isAsked} AND ${countsIf("true")}${beyond}
    ORDER BY p.resource, p.account LIMIT ${maxCounted + 1}
  ) p
), scanned AS (SELECT 0 AS at, p.* FROM counted p ORDER BY ${order} LIMIT ${limit} OFFSET ${offset})`,
    counts: "true",
    order,
    limit,
    joins: `LEFT JOIN LATERAL (${claimedPathSql(v2)}) t ON k.kind = 'registry'`,
    members: {
      isProven: "k.is_proven",
      label: "e.labelhash || e.label",
      labels: "t.labels",
      path: "t.path",
      wire: "m.name",
      key: "m.key",
    },
    beside: { count: "(SELECT count(*) FROM counted)" },
  });
}

/** Reads a numbered page of roles, and their number up to the limit for each contract. */
export async function readRolePage(
  database: Database,
  v2: V2Contracts,
  asked: AskedPage,
  signal: AbortSignal,
): Promise<{ roles: PagedRole[]; count: number }> {
  const { bind, values } = binder([asked.time]);
  const [found] = await database.row(pageSql(v2, asked, { bind }), values, signal);
  return JSON.parse(found ?? "[]")[0];
}
