import { gracePeriod } from "../../ens/registrations.ts";
import { listPowers } from "../../ens/roles.ts";
import { type Meta, withGaps } from "../as-of.ts";
import { type Grant, toGrant, wholeContract } from "../names/grants.ts";
import { homeOfRow, type IndexedNamespace } from "../names/indexed-namespaces.ts";
import { type NameRow, readStoredResolver, registrationId, wrapperFacts } from "../names/rows.ts";
import { type Binder, type NamesSource, openStatement, type StatementCall } from "../names/source.ts";
import { type StoredName, secondGeneration } from "../names/stored-name.ts";
import type { V2Contracts } from "../names/v2-names.ts";
import { refuse } from "../refusal.ts";
import { askedNames, entryOfAsked, readRoles } from "./stored-roles.ts";

// Who has which powers over a name. Of the first generation its row tells them, of ENSv2 the roles on its entry and its
// resolver.

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
  const resolver = readStoredResolver(row, home);
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

/**
 * Where else somebody may have powers over what was asked for. `registry_operators`, `wrapper_approvals`: not in ENS's
 * own list.
 */
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
export function listSurfaces(row: StoredName): readonly PermissionSurface[] | undefined {
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

// All roles on a resource together as bits, null if they are too many.
const buildBitsSql = (
  chainId: number,
  registry: string,
  resource: string,
) => `(SELECT CASE WHEN count(*) <= ${maxHolders}
    THEN coalesce(bit_or(('x' || substr(p.roles, 3))::bit(256)), 0::bit(256))::text END
  FROM (SELECT p.roles FROM v2_roles p WHERE p.chain_id = ${chainId} AND p.address = ${registry} AND p.resource = ${resource} LIMIT ${maxHolders + 1}) p)`;

/** SQL of the roles on each name's entry and on its whole registry, each together, as JSON. */
function bitsSql(v2: V2Contracts, names: readonly StoredName[], binder: Binder): string {
  return `WITH asked AS MATERIALIZED (SELECT * FROM ${askedNames(names, binder)}), roots AS MATERIALIZED (
    SELECT q.registry, ${buildBitsSql(v2.chainId, "q.registry", `'${wholeContract}'`)} AS bits FROM (SELECT DISTINCT registry FROM asked WHERE registry IS NOT NULL) q)
  SELECT coalesce(json_agg(json_build_object('own', ${buildBitsSql(v2.chainId, "e.registry", "e.resource")}, 'root', r.bits) ORDER BY q.at), '[]')::text
  FROM asked q LEFT JOIN roots r ON r.registry = q.registry LEFT JOIN ${entryOfAsked(v2)}`;
}

type RoleBitmaps = Record<"own" | "root", string | null>;

const powersIn = (bits: string) => listPowers(`0x${BigInt(`0b${bits}`).toString(16)}`, "registry");
const lockable = ["unregister", "renew", "set_subregistry", "set_resolver"] as const;

// Only an admin can give and take a role. For transfers only one on the registration itself counts.
function lockedRoles({ own, root }: { own: string; root: string }) {
  const [ofEntry, ofRegistry] = [powersIn(own), powersIn(root)];
  const locked = lockable.filter((role) => ![...ofEntry, ...ofRegistry].includes(`admin_${role}`));
  return ofEntry.includes("can_transfer_admin") ? locked : [...locked, "transfer" as const];
}

/**
 * Reads what binds the registrations of names; undefined for those without, `isKnown` false if one has too many roles
 * to tell.
 */
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
    if (registration_id === undefined || listSurfaces(row) === undefined) return undefined;
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
 * Adds to rows, given their names by node, who has which powers over each name and what binds its registration. Refuses
 * too many grants for a page.
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
    const grant = toGrant(role, source.namespaces[0]?.chainId ?? 0);
    if (grant) grants[role.at]?.push(grant);
  }
  if (roles.length > maxGrants || grants.flat().length > maxGrants)
    refuse(
      "unsupported",
      `inline role_summary exceeds ${maxGrants} total grant rows; omit include, then paginate /v1/permissions?registration_id=<permission_resource_id> for each selected resource`,
    );
  const data = page.data.map((row, at) => ({
    ...row,
    role_summary: summarizeGrants(grants[at] ?? []),
    restrictions: restrictions[at],
  }));
  return { ...page, data, meta: withGaps(page.meta, buildMeta(source, names, isKnown)) };
}

function summarizeGrants(grants: readonly Grant[]): NameRow["role_summary"] {
  const accounts = [...Map.groupBy(grants, ({ address }) => address)].sort(([a], [b]) => (a < b ? -1 : 1));
  return accounts.map(([address, all]) => ({
    address,
    grants: all.map(({ grant_scope, powers }) => ({ grant_scope, powers })),
  }));
}

// Names without a registration have nothing that could be left out.
function buildMeta({ namespaces }: NamesSource, names: readonly StoredName[], isKnown: boolean) {
  const registered = names.filter((row) => registrationId(row, homeOfRow(namespaces, row)) !== undefined);
  if (registered.length === 0) return {};
  const surfaces = registered.map(listSurfaces);
  const isTold = surfaces.every((one) => one !== undefined);
  const unsupported_fields = ["role_summary", ...(isKnown ? [] : ["restrictions"])];
  return { unsupported_fields, ...partly(isTold ? surfaces.flat() : undefined) };
}
