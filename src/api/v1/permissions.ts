import type { Hex } from "viem";
import { z } from "zod/v4";
import { zeroAddress } from "../../ens/ids.ts";
import { anyCaseAddress, closedQuery, contractParameter, textParameter } from "../../ens/parameters.ts";
import { addressSchema } from "../../ens/schemas.ts";
import { describePosition, type Meta, metaSchema } from "../../read/as-of.ts";
import {
  type Grant,
  grantSchema,
  recordResourceSchema,
  type StoredRole,
  toGrant,
  wholeContract,
} from "../../read/names/grants.ts";
import { homeOfRow, isCustodian } from "../../read/names/indexed-namespaces.ts";
import { listSql, sortedByName } from "../../read/names/lists.ts";
import { readGivenNames, readRows } from "../../read/names/lookups.ts";
import { registrationId, restrictionsSchema, wrapperFacts, wrapperShape } from "../../read/names/rows.ts";
import { inNamespace, nameIn, namespaceParameter, namespacesIn } from "../../read/names/scopes.ts";
import { type LookupContext, openStatement, type StatementCall } from "../../read/names/source.ts";
import { type Listed, namesHeldBy, type StoredName } from "../../read/names/stored-name.ts";
import { refuse } from "../../read/refusal.ts";
import {
  everySurface,
  grantsOfV1,
  listSurfaces,
  partly,
  readRestrictions,
} from "../../read/roles/permissions.ts";
import { noRoles, readRoles } from "../../read/roles/stored-roles.ts";
import { endpoint } from "../kit/endpoint.ts";
import { cursorParameters, encodeCursor } from "../kit/paging.ts";
import { listPosition, openPage } from "./contract.ts";
import { describeAnswers, ofLookup, pageShape } from "./lists.ts";
import { includeParameter } from "./parameters.ts";

const registrationForm =
  /^[1-9]\d{0,14}-(0x[0-9a-f]{64}-(\d{1,10}|wrapper|registry)|0x[0-9a-f]{40}-(root|0x[0-9a-f]{64}))$/;

const query = closedQuery({
  name: textParameter("name", 2_000).optional(),
  registration_id: textParameter("registration_id", 130)
    .regex(registrationForm, { error: "registration_id must be one that a row gave" })
    .optional()
    .describe("From a row of a name or of this list"),
  address: anyCaseAddress("address").optional().describe("Who has the powers"),
  registry: contractParameter("registry")
    .optional()
    .describe("`<chain id>:<address>` of a registry of ENSv2: powers over the whole registry"),
  namespace: namespaceParameter,
  include: includeParameter(["lineage"]).describe("`lineage`: the kind of fact that grants the powers"),
  ...listPosition,
  ...cursorParameters,
});

const lineage = z.strictObject({
  grant: z.strictObject({
    kind: z.enum(["event", "registration_authority", "ens_v1_authority"]),
    relation: z.literal("holder").optional(),
  }),
});

/** The schema of what an account may do. */
export const permissionSchema = z.strictObject({
  address: addressSchema,
  ...grantSchema.shape,
  registration_id: z.string(),
  eac_resource: z.string().optional().describe("The resource of a resolver's roles in decimal digits"),
  record_resource: recordResourceSchema.optional().describe("The one record that the powers are limited to"),
  name: z.string().optional(),
  authority_context: z.enum(["current_for_name", "resource_audit"]),
  wrapper_state: wrapperShape.wrapper_state,
  wrapper_fuses: wrapperShape.wrapper_fuses,
  lineage: lineage.optional(),
});

type Permission = z.output<typeof permissionSchema>;
type PermissionsCall = StatementCall & { query: z.output<typeof query> };
type PermissionsSource = LookupContext["lookup"];

/** A row with its position; undefined for a role without known powers. */
type Positioned = { after: string[]; row: Permission | undefined };

/** What is listed. `end`: the position after which more is to be read, if not all was. */
type FoundRows = {
  rows: Positioned[];
  meta?: Meta;
  restrictions?: z.output<typeof restrictionsSchema> | undefined;
  end?: string[] | null;
};

type PageRequest = {
  lookup: PermissionsSource;
  call: PermissionsCall;
  after: readonly string[] | undefined;
  limit: number;
};

/** GET /v1/permissions. */
export const lookupPermissions = endpoint({
  ...ofLookup,
  path: "/v1/permissions",
  summary: "Who has which powers over a name or a registry, or what an account may do",
  description:
    "Filtered by at least one of `name`, `registration_id`, `address` and `registry`, which narrow each other. Ordered by account, then by contract and resource. " +
    "A page may have fewer rows than its size. `meta` says which powers are not listed.",
  query,
  answers: describeAnswers(
    "A page of powers, possibly empty",
    { ...pageShape(permissionSchema), meta: metaSchema, restrictions: restrictionsSchema.optional() },
    404,
  ),
  handle: async (call, { lookup }: LookupContext) => {
    const { name, registration_id, address, registry, namespace, include = [] } = call.query;
    const subjects = [name, registration_id, address, registry && `${registry.chainId}:${registry.address}`];
    if (subjects.every((one) => one === undefined))
      refuse("invalid_input", "name, registration_id, address or registry is required");
    namespacesIn(lookup, namespace);
    const list = ["permissions", name && nameIn(name).node, ...subjects.slice(1), namespace];
    const opened = openPage(call.query, list, ["text", "text", "text", "text"]);
    const { rows, meta, restrictions, end } = await find({ lookup, call, ...opened });
    const { shown, page } = opened.of(rows);
    const more = end && !page.has_more ? { has_more: true, next_cursor: encodeCursor(list, end) } : {};
    const isAsked = include.includes("lineage");
    const data = shown.flatMap(({ row }) => row ?? []);
    return {
      status: 200,
      body: {
        data: isAsked ? data.map((row) => ({ ...row, lineage: deriveLineage(row) })) : data,
        page: { ...page, ...more },
        meta: { ...describePosition(call.current, lookup.hashOf), ...meta },
        restrictions,
      },
    };
  },
});

function deriveLineage({ grant_scope, eac_resource, wrapper_state }: Permission): Permission["lineage"] {
  if (grant_scope.kind === "root" || grant_scope.kind === "registry" || eac_resource !== undefined)
    return { grant: { kind: "event" } };
  if (wrapper_state !== undefined) return { grant: { kind: "ens_v1_authority", relation: "holder" } };
  return { grant: { kind: "registration_authority" } };
}

function find(asked: PageRequest): Promise<FoundRows> {
  const { name, registration_id, registry } = asked.call.query;
  const root = registry && buildHandle(registry.chainId, { ...registry, resource: wholeContract });
  const handle = registration_id ?? root;
  if (name !== undefined || handle?.split("-")[1]?.length === 66) return readNamePermissions(asked);
  if (handle === undefined) return readAddressPermissions(asked);
  return readContractPermissions(asked, handle, (root ?? handle) !== handle);
}

/** Id of what roles on a resource of a contract are for, unless that is a name's registration. */
const buildHandle = (chainId: number, { address, resource }: Record<"address" | "resource", string>) =>
  `${chainId}-${address}-${resource === wholeContract ? "root" : resource}`;

type PermissionSubject = Pick<Permission, "registration_id" | "name" | "authority_context">;

// Cursor of a role: account, contract, resource. Cursor of a name held in the first generation: name, node, and what
// the grant is for.
const [byRoles, byNames] = ["0", "1"] as const;

/** Reads rows of roles: each for the registration in force that has the registry or resolver, else for the resource. */
export async function readRoleRows(
  source: PermissionsSource,
  call: StatementCall,
  roles: readonly StoredRole[],
) {
  const [root] = source.namespaces;
  const chainId = root?.chainId ?? 0;
  const named = roles.flatMap(({ node }) => (node === null ? [] : [{ node }]));
  const rows = await readRows(source, call, named);
  const names = new Map(rows.map(({ node, row }) => [node, row]));
  return roles.map((role) => {
    const row = role.node === null ? undefined : names.get(role.node);
    const holder = role.kind === "registry" ? row?.v2?.path?.at(-1) : row?.resolver;
    const id = row?.v2?.isInForce && holder === role.address && root ? registrationId(row, root) : undefined;
    return toRolePermission(role, chainId, {
      registration_id: id ?? buildHandle(chainId, role),
      name: row?.name,
      authority_context: "resource_audit",
    });
  });
}

function toRolePermission(role: StoredRole, chainId: number, subject: PermissionSubject): Positioned {
  const grant = toGrant(role, chainId);
  return { after: [byRoles, ...role.after], row: grant && { ...grant, ...subject } };
}

function toGrantPermission(grant: Grant, row: StoredName, subject: PermissionSubject): Permission {
  const { wrapper_state, wrapper_fuses } = wrapperFacts(row) ?? {};
  return { ...grant, ...subject, ...(wrapper_fuses && { wrapper_state, wrapper_fuses }) };
}

async function readNamePermissions({ lookup, call, after, limit }: PageRequest): Promise<FoundRows> {
  const { name, registration_id, address, registry, namespace } = call.query;
  const given = [name ?? registration_id?.split("-")[1] ?? ""];
  const [one] = await readGivenNames(lookup, call, { given });
  const row = one?.found?.row;
  const home = row && homeOfRow(lookup.namespaces, row);
  const id = row && home && registrationId(row, home);
  const surfaces = row && listSurfaces(row);
  const isOther = (registration_id ?? id) !== id;
  const isElsewhere = (namespace ?? home?.namespace) !== home?.namespace;
  if (!row || !home || id === undefined || isOther || isElsewhere || surfaces === undefined)
    return { rows: [], meta: partly(undefined) };
  const context = name === undefined ? ("resource_audit" as const) : ("current_for_name" as const);
  const own: PermissionSubject = { registration_id: id, name: row.name, authority_context: context };
  const of = { names: [row], hasRoot: true };
  const [{ roles }, { restrictions, isKnown }] = await Promise.all([
    readRoles(lookup, call, { of, account: address, after: after?.slice(1), limit }),
    readRestrictions(lookup, call, [row]),
  ]);
  const ofWhole = ({ kind, resource }: StoredRole) => kind === "registry" && resource === wholeContract;
  const subjectOf = (role: StoredRole) =>
    ofWhole(role) ? { registration_id: buildHandle(home.chainId, role), authority_context: context } : own;
  const isAsked = (role: StoredRole) => !registry || (ofWhole(role) && role.address === registry.address);
  const rows = [
    ...roles.map((role) => {
      const one = toRolePermission(role, home.chainId, subjectOf(role));
      // A row that was read keeps its position.
      return isAsked(role) ? one : { ...one, row: undefined };
    }),
    ...(registry === undefined ? grantsOfV1(row, home) : [])
      .filter((grant) => address === undefined || grant.address === address)
      .map((grant) => ({
        after: [byNames, grant.address, grant.grant_scope.kind, ""],
        row: toGrantPermission(grant, row, own),
      }))
      .sort((a, b) => (String(a.after) < String(b.after) ? -1 : 1))
      .filter((one) => after === undefined || String(one.after) > String(after)),
  ];
  const unsupported_fields = isKnown ? undefined : ["restrictions"];
  return { rows, restrictions: restrictions[0], meta: { unsupported_fields, ...partly(surfaces) } };
}

// `isOther`: another contract than the registry that is asked for too.
async function readContractPermissions(
  asked: PageRequest,
  handle: string,
  isOther: boolean,
): Promise<FoundRows> {
  const { lookup, call, after, limit } = asked;
  const { address: account, registry, namespace } = call.query;
  const [chain, contract, resource] = handle.split("-") as [string, Hex, string];
  const [root] = lookup.namespaces;
  const isElsewhere = root?.v2?.chainId !== Number(chain) || (namespace ?? root.namespace) !== root.namespace;
  const isWhole = resource === "root";
  const meta = partly(["ens_v2_registry_operators", ...(isWhole ? [] : ["resolver_approvals" as const])]);
  if (isElsewhere || isOther) return { rows: [], meta };
  const of = { contract, resource: isWhole ? wholeContract : resource };
  const { roles } = await readRoles(lookup, call, { of, account, after: after?.slice(1), limit });
  // The contract is a registry, or all of its roles are a resolver's.
  const counted = roles.filter(({ kind }) => registry === undefined || kind === "registry");
  const subject = { registration_id: handle, authority_context: "resource_audit" as const };
  return { rows: counted.map((role) => toRolePermission(role, Number(chain), subject)), meta };
}

async function readAddressPermissions({ lookup, call, after, limit }: PageRequest): Promise<FoundRows> {
  const { address: account = zeroAddress, namespace } = call.query;
  const isLater = after?.[0] === byNames;
  const root = lookup.namespaces[0]?.namespace;
  const isSkipped = isLater || (namespace ?? root) !== root;
  const asked = { of: undefined, account, after: after?.slice(1), limit };
  const { roles, end } = isSkipped ? noRoles : await readRoles(lookup, call, asked);
  const rows = await readRoleRows(lookup, call, roles);
  const isFull = end !== null || roles.length === limit;
  const start = isLater ? after?.slice(1) : undefined;
  const held = isFull ? [] : await readHolderPermissions({ lookup, call, after: start, limit }, account);
  return { rows: [...rows, ...held], meta: partly(everySurface), end: end && [byRoles, ...end] };
}

// Grants of the names that an address holds in the first generation: over the registration and at its resolver, by
// name.
async function readHolderPermissions(
  { lookup, call, after, limit }: PageRequest,
  account: Hex,
): Promise<Positioned[]> {
  const { namespaces } = lookup;
  if (isCustodian(namespaces, account)) return [];
  const statement = openStatement(lookup, call);
  const holder = statement.bind(account);
  const branches = namesHeldBy(namespaces, holder).flatMap((found) =>
    (["owner", "manager"] as const).map((by, at) => ({
      ...found,
      derived: [`names.${by} = ${holder}`],
      order: [...sortedByName(found), { sql: `'${at}'::text`, type: "text" as const }],
    })),
  );
  const filters = ["NOT names.is_v2", ...inNamespace(lookup, call.query.namespace)];
  const bound = after?.map(statement.bind);
  const found = await statement.rows<Listed>(
    listSql(namespaces, { branches, filters, after: bound, isDescending: false, limit }),
  );
  return found.map(({ row, after }) => {
    const home = homeOfRow(namespaces, row);
    const grant = grantsOfV1(row, home).find(
      (one) => one.address === account && (one.grant_scope.kind === "resolver") === (after[2] === "1"),
    );
    const id = registrationId(row, home) ?? "";
    const subject: PermissionSubject = {
      registration_id: id,
      name: row.name,
      authority_context: "resource_audit",
    };
    return { after: [byNames, ...after], row: grant && toGrantPermission(grant, row, subject) };
  });
}
