import type { Hex } from "viem";
import { gracePeriod } from "../../ens/registrations.ts";
import { powersOf } from "../../ens/roles.ts";
import { storageIdSql } from "../../schema/sql.ts";
import { type Meta, withGaps } from "../as-of.ts";
import { type Grant, grantOf, type StoredRole, wholeContract } from "../names/grants.ts";
import { homeOfRow, type IndexedNamespace } from "../names/indexed-namespaces.ts";
import { type NameRow, registrationId, storedResolverOf, wrapperFacts } from "../names/rows.ts";
import { type Binder, type NamesSource, openStatement, type StatementCall } from "../names/source.ts";
import { indexTime, type StoredName, secondGeneration } from "../names/stored-name.ts";
import type { V2Contracts } from "../names/v2-names.ts";
import { reachedJoin } from "../names/v2-walk.ts";
import { refuse } from "../refusal.ts";

// Who has which powers over a name. Of the first generation its row tells them, of ENSv2 the roles on its entry and its resolver. Anyone can
// be given any number of roles and can give them on contracts of their own, so each read has a limit.

// Up to so many roles of an account are read for a page, those that do not count included.
const maxScanned = 1_000;
// Resources of a resolver that are limited to one name.
const maxResources = 200;
// Roles on one resource that decide which roles are locked.
const maxHolders = 1_000;

type Fuses = NonNullable<NonNullable<NameRow["wrapper"]>["wrapper_fuses"]>;

// The wrapper's own rule: its entries of .eth names end with the grace period.
const isInGrace = (row: StoredName, { is_dot_eth }: Fuses) =>
  is_dot_eth && BigInt(row.wrapperExpires ?? 0) - gracePeriod < BigInt(row.now);

// In the order of responses. Within the grace period of a .eth name only approvals are left.
function powersOfHolder(row: StoredName, fuses: Fuses): string[] {
  const powers: [power: string, isTaken: boolean][] = [
    ["registration_control", fuses.cannot_unwrap && fuses.parent_cannot_control],
    ["set_resolver", fuses.cannot_set_resolver],
    ["set_ttl", fuses.cannot_set_ttl],
    ["create_subnames", fuses.cannot_create_subdomain],
    ["transfer", fuses.cannot_transfer],
    ["unwrap", fuses.cannot_unwrap],
    ["burn_fuses", fuses.cannot_burn_fuses || !fuses.parent_cannot_control],
    ["approve", fuses.cannot_approve],
    ["extend_subname_expiry", false],
    ["extend_expiry", !fuses.can_extend_expiry],
  ];
  const isLate = isInGrace(row, fuses);
  return powers.flatMap(([power, isTaken]) => (isTaken || (isLate && power !== "approve") ? [] : power));
}

/** The grants that a name's row in the first generation tells; none while ENSv2 has it. */
export function grantsOfV1(row: StoredName, home: IndexedNamespace): Grant[] {
  const fuses = row.isWrapped ? wrapperFacts(row)?.wrapper_fuses : undefined;
  if (row.v2?.isInForce || (row.isWrapped && fuses === undefined)) return [];
  const resolver = storedResolverOf(row, home);
  const powers = fuses ? powersOfHolder(row, fuses) : ["registration_control"];
  const controller = fuses === undefined ? row.manager : row.owner;
  const isTaken = fuses && (fuses.cannot_set_resolver || isInGrace(row, fuses));
  const grants: Grant[] = [];
  if (row.owner && powers.length > 0)
    grants.push({ address: row.owner, grant_scope: { kind: "registration", detail: {} }, powers });
  const ofResolver = resolver && { kind: "resolver" as const, detail: { resolver } };
  if (controller && ofResolver && !isTaken)
    grants.push({ address: controller, grant_scope: ofResolver, powers: ["resolver_control"] });
  return grants;
}

/** Where else somebody may have powers over what was asked for. `registry_operators`, `wrapper_approvals`: not in ENS's own list. */
export const everySurface = [
  "ens_v2_registry_operators",
  "registrar_approvals",
  "registry_operators",
  "resolver_approvals",
  "wrapper_approvals",
  "wrapper_parent_control",
] as const;
type PermissionSurface = (typeof everySurface)[number];

/** The surfaces of a name's registration; undefined if it has none, or the index cannot tell. */
export function surfacesOf(row: StoredName): readonly PermissionSurface[] | undefined {
  if (row.status === "released" || row.status === "unregistered" || row.isLapsed) return undefined;
  // Only the chain knows the owner in a registry of unknown code.
  if (row.v2?.isInForce)
    return row.owner === undefined ? undefined : ["ens_v2_registry_operators", "resolver_approvals"];
  return row.isWrapped
    ? ["resolver_approvals", "wrapper_approvals", "wrapper_parent_control"]
    : ["registrar_approvals", "registry_operators", "resolver_approvals"];
}

/** The words of `meta` for surfaces that are not listed; undefined if it is not known which there are. */
export const partly = (surfaces: Iterable<PermissionSurface> | undefined): Meta =>
  surfaces === undefined
    ? { completeness: "partial", unsupported_reason: "permission_support_unknown" }
    : {
        completeness: "partial",
        unsupported_reason: "permissions_partially_listed",
        unlisted_permission_surfaces: [...new Set(surfaces)].sort(),
      };

/**
 * Roles that are asked for: of names, with those on their whole registry if `hasRoot`; of a resource of a contract; or all of an account.
 * `after`: account, contract and resource of the last one of the page before. Without `isSorted` in any order.
 */
export type AskedRoles = {
  of: { names: readonly StoredName[]; hasRoot: boolean } | { contract: Hex; resource: string } | undefined;
  account?: string | undefined;
  after?: readonly string[] | undefined;
  limit: number;
  isSorted?: boolean | undefined;
};

const text = (placeholder: string) => `${placeholder}::text COLLATE "C"`;

// Rows `q` of names whose state is an entry's: its registry and storage id, and the resolver.
function askedNames(names: readonly StoredName[], { bind }: Binder): string {
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

const entryOf = ({
  chainId,
}: V2Contracts) => `v2_entries e ON e.chain_id = ${chainId} AND e.registry = q.registry
    AND e.storage_id = q.storage AND e.expiry > ${indexTime}`;

function targetsOf(v2: V2Contracts, of: NonNullable<AskedRoles["of"]>, binder: Binder): string {
  if ("contract" in of)
    return `SELECT 0 AS at, ${text(binder.bind(of.contract))} AS address, ${text(binder.bind(of.resource))} AS resource`;
  const asked = askedNames(of.names, binder);
  const roots = ` UNION ALL SELECT q.at, q.registry, '${wholeContract}' FROM asked q WHERE q.registry IS NOT NULL`;
  return `WITH asked AS MATERIALIZED (SELECT * FROM ${asked})
    SELECT q.at, e.registry AS address, e.resource FROM asked q JOIN ${entryOf(v2)}${of.hasRoot ? roots : ""}
    UNION ALL SELECT q.at, m.resolver, m.resource FROM asked q CROSS JOIN LATERAL (SELECT m.resolver, m.resource FROM v2_resources m
      WHERE m.chain_id = ${v2.chainId} AND m.resolver = q.resolver AND m.node = q.node ORDER BY m.resource LIMIT ${maxResources}) m`;
}

// Joins to roles `p` the kind of contract, null for unknown code, which says what it likes, and what the resource is.
function toldSql(v2: V2Contracts): string {
  const { chainId, registries, resolvers, wrapperRegistries, userRegistries } = v2;
  const list = (addresses: readonly Hex[]) => `ANY ('{${addresses.join(",")}}'::text[])`;
  const isOther = userRegistries.length === 0 ? "c.implementation IS NOT NULL" : "false";
  // The limits have each row looked up by its key.
  return `LEFT JOIN LATERAL (SELECT * FROM v2_contracts c WHERE c.chain_id = ${chainId} AND c.address = p.address LIMIT 1) c ON true
  CROSS JOIN LATERAL (SELECT CASE WHEN c.implementation = ${list(resolvers)} THEN CASE WHEN c.has_record_ids THEN 'recordResolver' ELSE 'resolver' END
    WHEN p.address = ${list(registries)} OR c.implementation = ${list([...wrapperRegistries, ...userRegistries])} OR ${isOther} THEN 'registry' END AS kind) k
  LEFT JOIN LATERAL (SELECT * FROM v2_entries e WHERE k.kind = 'registry' AND e.chain_id = ${chainId} AND e.registry = p.address
    AND e.storage_id = ${storageIdSql("p.resource")} LIMIT 1) e ON true
  LEFT JOIN LATERAL (SELECT * FROM v2_resources m WHERE k.kind <> 'registry' AND m.chain_id = ${chainId} AND m.resolver = p.address
    AND m.resource = p.resource LIMIT 1) m ON true`;
}

// Roles on an entry count while it is in force, for its present resource. The key of a record may have any length.
const counts = `k.kind IS NOT NULL AND p.roles <> '${wholeContract}'
    AND (k.kind <> 'registry' OR p.resource = '${wholeContract}' OR e.resource = p.resource AND e.expiry > ${indexTime})`;
const keyLength = 4_096;

// The name of an entry in registries that names lead to.
const nodeOfEntry = (
  v2: V2Contracts,
) => `(SELECT v.id FROM v2_domains v ${reachedJoin("v", "at_v", v2, indexTime)}
    WHERE v.chain_id = ${v2.chainId} AND v.registry = p.address AND v.labelhash = e.labelhash AND at_v.is_reached ORDER BY v.id LIMIT 1)`;

/** SQL of `FoundRoles` as JSON, in a list. */
function rolesSql(v2: V2Contracts, asked: AskedRoles, binder: Binder): string {
  const { of, account, after, limit, isSorted = true } = asked;
  const start = after?.map((value) => text(binder.bind(value)));
  const ofAccount = account === undefined ? "" : ` AND p.account = ${text(binder.bind(account))}`;
  const beyond = start ? ` AND (p.account, p.address, p.resource) > (${start.join(", ")})` : "";
  const from = start ? ` AND p.account >= ${start[0]}` : "";
  // The sum keeps the planner from the primary key, which has the roles of all other accounts in between.
  const scanned =
    of === undefined
      ? `SELECT 0 AS at, p.* FROM v2_roles p WHERE p.chain_id + 0 = ${v2.chainId}${ofAccount}${beyond} ORDER BY p.address, p.resource LIMIT ${maxScanned}`
      : `SELECT t.at, p.* FROM (${targetsOf(v2, of, binder)}) t CROSS JOIN LATERAL (SELECT p.* FROM v2_roles p WHERE p.chain_id = ${v2.chainId}
      AND p.address = t.address AND p.resource = t.resource AND p.roles <> '${wholeContract}'${ofAccount}${from}${beyond} ORDER BY p.account LIMIT ${limit}) p`;
  const end = `SELECT json_build_array(p.account, p.address, p.resource) FROM scanned p ORDER BY p.address, p.resource OFFSET ${maxScanned - 1} LIMIT 1`;
  const found = `SELECT json_build_object('at', p.at, 'kind', k.kind, 'address', p.address, 'resource', p.resource, 'account', p.account, 'roles', p.roles,
    'node', coalesce(m.node, ${nodeOfEntry(v2)}), 'record', m.kind, 'key', CASE WHEN length(m.key) <= ${keyLength} THEN m.key END,
    'after', json_build_array(p.account, p.address, p.resource)) AS found
  FROM scanned p ${toldSql(v2)} WHERE ${counts}${isSorted ? " ORDER BY p.account, p.address, p.resource" : ""} LIMIT ${limit}`;
  return `WITH scanned AS (${scanned}) SELECT json_build_array(json_build_object('roles', (SELECT coalesce(json_agg(found), '[]') FROM (${found}) listed), 'end', ${of === undefined ? `(${end})` : "NULL"}))::text`;
}

/** `end`: the position after which there may be more of an account, where not all were read. */
type FoundRoles = { roles: StoredRole[]; end: string[] | null };

/** No roles. */
export const noRoles: FoundRoles = { roles: [], end: null };

/** Reads roles. */
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

// All roles on a resource together as bits, null if they are too many.
const bitsOf = (
  chainId: number,
  registry: string,
  resource: string,
) => `(SELECT CASE WHEN count(*) <= ${maxHolders}
    THEN coalesce(bit_or(('x' || substr(p.roles, 3))::bit(256)), 0::bit(256))::text END
  FROM (SELECT p.roles FROM v2_roles p WHERE p.chain_id = ${chainId} AND p.address = ${registry} AND p.resource = ${resource} LIMIT ${maxHolders + 1}) p)`;

/** SQL of the roles on each name's entry and on its whole registry, each together, as JSON. */
function bitsSql(v2: V2Contracts, names: readonly StoredName[], binder: Binder): string {
  return `WITH asked AS MATERIALIZED (SELECT * FROM ${askedNames(names, binder)}), roots AS MATERIALIZED (
    SELECT q.registry, ${bitsOf(v2.chainId, "q.registry", `'${wholeContract}'`)} AS bits FROM (SELECT DISTINCT registry FROM asked WHERE registry IS NOT NULL) q)
  SELECT coalesce(json_agg(json_build_object('own', ${bitsOf(v2.chainId, "e.registry", "e.resource")}, 'root', r.bits) ORDER BY q.at), '[]')::text
  FROM asked q LEFT JOIN roots r ON r.registry = q.registry LEFT JOIN ${entryOf(v2)}`;
}

type RoleBitmaps = Record<"own" | "root", string | null>;

const powersIn = (bits: string) => powersOf(`0x${BigInt(`0b${bits}`).toString(16)}`, "registry");
const lockable = ["unregister", "renew", "set_subregistry", "set_resolver"] as const;

// Only an admin can give and take a role. For transfers only one on the registration itself counts.
function lockedRoles({ own, root }: { own: string; root: string }) {
  const [ofEntry, ofRegistry] = [powersIn(own), powersIn(root)];
  const locked = lockable.filter((role) => ![...ofEntry, ...ofRegistry].includes(`admin_${role}`));
  return ofEntry.includes("can_transfer_admin") ? locked : [...locked, "transfer" as const];
}

/** Reads what binds the registrations of names; undefined for those without, `isKnown` false if one has too many roles to tell. */
export async function readRestrictions(
  source: NamesSource,
  call: StatementCall,
  names: readonly StoredName[],
): Promise<{ restrictions: NameRow["restrictions"][]; isKnown: boolean }> {
  const v2 = secondGeneration(source.namespaces);
  const statement = openStatement(source, call);
  const isAsked = v2 !== undefined && names.some((row) => row.v2?.isInForce);
  const bits = isAsked ? await statement.rows<RoleBitmaps>(bitsSql(v2, names, statement)) : [];
  let isKnown = true;
  const restrictions = names.map((row, at): NameRow["restrictions"] => {
    const registration_id = registrationId(row, homeOfRow(source.namespaces, row));
    if (registration_id === undefined || surfacesOf(row) === undefined) return undefined;
    if (!row.v2?.isInForce) {
      const facts = wrapperFacts(row);
      return facts?.wrapper_fuses && { kind: "ens_v1_wrapper", registration_id, ...facts };
    }
    const { own = null, root = null } = bits[at] ?? {};
    isKnown &&= own !== null && root !== null;
    if (own === null || root === null) return undefined;
    return { kind: "ens_v2_registry", registration_id, locked_roles: lockedRoles({ own, root }) };
  });
  return { restrictions, isKnown };
}

const maxGrants = 1_000;

/**
 * Adds to rows, given their names by node, who has which powers over each name and what binds its registration. Refuses too many grants
 * for a page.
 */
export async function withSummaries<T extends { data: NameRow[]; meta: Meta }>(
  source: NamesSource,
  call: StatementCall,
  page: T,
  byNode: ReadonlyMap<string, StoredName>,
): Promise<T> {
  const names = page.data.flatMap(({ namehash }) => byNode.get(namehash) ?? []);
  const [{ roles }, { restrictions, isKnown }] = await Promise.all([
    readRoles(source, call, { of: { names, hasRoot: false }, limit: maxGrants + 1, isSorted: false }),
    readRestrictions(source, call, names),
  ]);
  const grants = names.map((row) => grantsOfV1(row, homeOfRow(source.namespaces, row)));
  for (const role of roles) {
    const grant = grantOf(role, source.namespaces[0]?.chainId ?? 0);
    if (grant) grants[role.at]?.push(grant);
  }
  if (roles.length > maxGrants || grants.flat().length > maxGrants)
    refuse(
      "unsupported",
      `inline role_summary exceeds ${maxGrants} total grant rows; omit include, then paginate /v1/permissions?registration_id=<permission_resource_id> for each selected resource`,
    );
  const data = page.data.map((row, at) => ({
    ...row,
    role_summary: summaryOf(grants[at] ?? []),
    restrictions: restrictions[at],
  }));
  return { ...page, data, meta: withGaps(page.meta, metaOf(source, names, isKnown)) };
}

function summaryOf(grants: readonly Grant[]): NameRow["role_summary"] {
  const accounts = [...Map.groupBy(grants, ({ address }) => address)].sort(([a], [b]) => (a < b ? -1 : 1));
  return accounts.map(([address, all]) => ({
    address,
    grants: all.map(({ grant_scope, powers }) => ({ grant_scope, powers })),
  }));
}

// Names without a registration have nothing that could be left out.
function metaOf({ namespaces }: NamesSource, names: readonly StoredName[], isKnown: boolean) {
  const registered = names.filter((row) => registrationId(row, homeOfRow(namespaces, row)) !== undefined);
  if (registered.length === 0) return {};
  const surfaces = registered.map(surfacesOf);
  const isTold = surfaces.every((one) => one !== undefined);
  const unsupported_fields = ["role_summary", ...(isKnown ? [] : ["restrictions"])];
  return { unsupported_fields, ...partly(isTold ? surfaces.flat() : undefined) };
}
