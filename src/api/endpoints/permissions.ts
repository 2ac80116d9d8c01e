import type { Hex } from "viem";
import { z } from "zod/v4";
import { keccak256 } from "../../ens/keccak.ts";
import { labelhashOf } from "../../ens/labels.ts";
import { dnsLabels, nodeOfName } from "../../ens/names.ts";
import { interpretedLabel } from "../../ens/normalization.ts";
import { type RoleHolder, roleNames } from "../../ens/roles.ts";
import type { Database } from "../database/client.ts";
import { pathOf, readV2Names, storedLabel, type V2Contracts, type V2Name } from "../resolution/v2-names.ts";
import { endpoint } from "../rest/endpoint.ts";
import { ApiError } from "../rest/errors.ts";
import {
  addressParameter,
  addressSchema,
  chainIdSchema,
  field,
  hashSchema,
  nameParameter,
  type Paging,
  pageContextSchema,
  pagedQuery,
  pagedRefusal,
  pageOf,
  pagingOf,
  readingOf,
  secondsSchema,
} from "../rest/values.ts";

/** What the endpoint responds from; `ensv2` is undefined where the namespace has no contracts of ENSv2. */
export type PermissionsContext = {
  database: Database;
  plugins: readonly string[];
  ensv2: V2Contracts | undefined;
};

const none: Hex = `0x${"0".repeat(64)}`;
const mostLevels = 32;

// The way up from a registry (p.address) to the root ($8), labels as they are stored; circles end at a depth.
const placeSql = `
  WITH RECURSIVE up AS (
    SELECT p.address AS registry, ARRAY[p.address] AS path, NULL::text COLLATE "C" AS labels, 0 AS level
    UNION ALL
    SELECT e.registry, e.registry || up.path, concat_ws(' ', up.labels, e.labelhash || e.label), up.level + 1
    FROM up
    JOIN v2_contracts c ON c.chain_id = $2::int AND c.address = up.registry
    JOIN v2_entries e ON e.chain_id = $2::int AND e.subregistry = up.registry AND e.registry = c.parent
      AND e.label = c.parent_label AND e.expiry > $5::numeric
    WHERE up.registry <> $8 AND up.level < ${mostLevels}
  )
  SELECT up.path, up.labels FROM up WHERE up.registry = $8 LIMIT 1`;

const query = pagedQuery({
  name: nameParameter("name").optional().meta({ description: "A normalized name", example: "moonlamp.eth" }),
  registry: addressParameter("registry").optional().meta({ description: "A registry or a resolver" }),
  account: addressParameter("account").optional().meta({ description: "Who has the roles" }),
}).refine(
  ({ name, registry, account }) => [name, registry, account].filter((one) => one !== undefined).length === 1,
  {
    error: "Give exactly one of name, registry and account",
    when: ({ issues }) => issues.length === 0,
  },
);

const recordKind = z.enum(["text", "data", "address", "argument"]);
const record = z.strictObject({ kind: recordKind, key: z.string() }).optional().meta({
  description:
    "The one record that the roles are limited to: `argument` is the first argument of a setter, in hex",
});

const permission = readingOf({
  contract: { chainId: field("p.chain_id", chainIdSchema), address: field("p.address", addressSchema) },
  kind: field(
    "CASE p.kind WHEN 'registry' THEN 'registry' ELSE 'resolver' END",
    z.enum(["registry", "resolver"]),
  ),
  resource: field("p.resource", hashSchema.meta({ description: "Zero for the whole contract" })),
  label: field(
    "p.label",
    z.string().optional().meta({ description: "Label of the registry's entry that the resource is" }),
    storedLabel,
  ),
  name: field(
    "CASE WHEN p.kind <> 'registry' THEN 'dns ' || m.name WHEN t.path IS NOT NULL THEN concat_ws(' ', p.label, t.labels) END",
    z.string().optional().meta({
      description:
        "Canonical name of the entry, or of the registry for the whole contract; of a resolver, the name that the roles are limited to",
    }),
    nameOf,
  ),
  registryPath: field(
    "t.path",
    z
      .array(addressSchema)
      .optional()
      .meta({ description: "Registries from the root to this one, where it has a place" }),
  ),
  record: field("m.kind || ' ' || m.key", record, recordOf),
  account: field("p.account", addressSchema),
  roles: field("p.kind || ' ' || p.roles", z.array(z.string()), rolesOf),
  bitmap: field("p.roles", hashSchema),
});

// Rows count for contracts that the deployment itself, or its factory, put on the chain; and for entries, while these are in
// force, those of their present resource. The place of a registry is what it claims, if its parent points back.
const statement = (filter: string) => `
WITH found AS (
  SELECT p.*, e.labelhash || e.label AS label,
    CASE WHEN c.has_record_ids THEN 'recordResolver' WHEN c.implementation = ANY ($4::text[]) THEN 'resolver'
      ELSE 'registry' END AS kind
  FROM v2_roles p
  LEFT JOIN v2_contracts c ON c.chain_id = p.chain_id AND c.address = p.address
  LEFT JOIN v2_entries e
    ON e.chain_id = p.chain_id AND e.registry = p.address AND e.storage_id = left(p.resource, 58) || '00000000'
  WHERE ${filter} AND p.chain_id = $2::int AND p.roles <> '${none}'
    AND (p.address = ANY ($3::text[]) OR c.implementation IS NOT NULL)
    AND (e.storage_id IS NULL OR e.expiry > $5::numeric AND e.resource = p.resource)
)
SELECT (SELECT count(*) FROM found)::text, (
  SELECT coalesce(json_agg(${permission.sql} ORDER BY p.address, p.resource, p.account), '[]')
  FROM (SELECT * FROM found ORDER BY address, resource, account LIMIT $6::int OFFSET $7::bigint) p
  LEFT JOIN v2_resources m ON m.chain_id = p.chain_id AND m.resolver = p.address AND m.resource = p.resource AND p.kind <> 'registry'
  LEFT JOIN LATERAL (${placeSql}) t ON p.kind = 'registry'
)::text`;

const statements = {
  account: statement("p.account = $1"),
  registry: statement("p.address = $1"),
  name: statement(`(p.address = $1 AND p.resource IN ('${none}', $9)
    OR p.address = $10 AND (p.resource = '${none}' OR EXISTS (SELECT FROM v2_resources m WHERE m.chain_id = p.chain_id
      AND m.resolver = p.address AND m.resource = p.resource AND coalesce(m.node, $11) = $11)))`),
};

const seconds = z.string().regex(/^\d+$/).meta({ description: "Unix seconds; may be beyond any date" });

const nameSchema = z.strictObject({
  name: z.string(),
  node: hashSchema,
  version: z
    .enum(["v1", "v2"])
    .nullable()
    .meta({ description: "Generation whose data are in force; null: neither" }),
  reserved: z
    .boolean()
    .meta({ description: "Whether the second generation holds it for its owner in the first" }),
  migratedAt: secondsSchema.optional(),
  status: z.enum(["available", "reserved", "registered"]),
  isCanonical: z.boolean().meta({ description: "Whether each registry on the way to it claims its place" }),
  isProven: z.boolean().meta({
    description:
      "Whether each registry on the way is of known code, whose events tell all. Otherwise only the chain knows the name for sure",
  }),
  registry: addressSchema.nullable().meta({ description: "Null where a name above it has no registry" }),
  tokenId: hashSchema.optional(),
  owner: addressSchema.nullable().meta({ description: "Null where only the chain knows it" }),
  expiry: seconds.optional(),
  resolver: addressSchema.meta({
    description: "The one that answers, of the name or the nearest above; zero: none",
  }),
  subregistry: addressSchema,
  registryPath: z
    .array(addressSchema)
    .nullable()
    .meta({ description: "Registries from the root to the one that would hold the name" }),
  effective: z
    .strictObject({
      owner: addressSchema.nullable(),
      resolver: addressSchema.nullable(),
      expiry: seconds.nullable(),
      graceEnds: seconds.nullable(),
    })
    .meta({
      description:
        "What the generation in force says: in the first, its own owner, resolver and expiry. Where neither is, the expiry that passed. Null: none, or only the chain knows",
    }),
});

/** GET /api/permissions. */
export const permissions = endpoint({
  path: "/api/permissions",
  tag: "Explore",
  summary: "Roles in ENSv2",
  description:
    "Who may do what now: roles of accounts on names, registries and resolvers of ENSv2. Give exactly one of `name`, `registry` and `account`. " +
    "A name has the roles of its entry, those of the whole registry (resource zero), which count for every entry, and on its resolver those of the whole contract, of the name, of its records, and of arguments that count for every name.",
  query,
  needs: { plugins: ["ensv2"], index: "complete" },
  answers: {
    200: {
      description: "A page of roles, perhaps empty",
      schema: z.strictObject({
        responseCode: z.literal("ok"),
        name: nameSchema.optional(),
        permissions: z.array(permission.schema),
        pageContext: pageContextSchema,
        accurateAsOf: secondsSchema,
      }),
    },
    400: pagedRefusal,
  },
  handle:
    ({ database, plugins, ensv2 }: PermissionsContext) =>
    async ({ query, current, request }) => {
      if (ensv2 === undefined)
        throw new ApiError(503, { message: "The namespace has no contracts of ENSv2." });
      const time = current.snapshot.omnichainSnapshot.omnichainIndexingCursor;
      const paging = pagingOf(query);
      const read = reader(database, ensv2, { time, paging }, request.raw.signal);
      const name =
        query.name === undefined ? undefined : await read.name(query.name, plugins.includes("subgraph"));
      const { total, found } = await read.permissions(subjectOf(query, name));
      const { pageContext, headers } = pageOf(request.url, paging, total);
      const body = {
        responseCode: "ok" as const,
        ...(name === undefined || query.name === undefined ? {} : { name: describe(query.name, name) }),
        permissions: found,
        pageContext,
        accurateAsOf: time,
      };
      return { status: 200, headers, body };
    },
});

type Subject = { by: keyof typeof statements; values: Hex[] };

function subjectOf(
  { registry, account, name: given }: z.output<typeof query>,
  name: V2Name | undefined,
): Subject {
  if (account !== undefined) return { by: "account", values: [account] };
  if (name === undefined) return { by: "registry", values: [registry ?? none] };
  const { entry, resolver } = name;
  const resource = entry && entry.status !== "available" ? entry.resource : none;
  return { by: "name", values: [name.registry ?? none, resource, resolver, nodeOfName(given ?? "")] };
}

function reader(
  database: Database,
  ensv2: V2Contracts,
  { time, paging: { page, recordsPerPage } }: { time: number; paging: Paging },
  signal: AbortSignal,
) {
  const { chainId, registries, resolvers, root } = ensv2;
  return {
    async name(name: string, hasV1: boolean): Promise<V2Name | undefined> {
      const path = pathOf(name === "" ? [] : name.split(".").map(labelhashOf));
      const [found] = await readV2Names(database, ensv2, { paths: [path], time, hasV1 }, signal);
      return found;
    },
    async permissions({ by, values: [subject, ...more] }: Subject) {
      const values = [
        subject ?? none,
        String(chainId),
        `{${registries.join(",")}}`,
        `{${resolvers.join(",")}}`,
        String(time),
        String(recordsPerPage),
        String((page - 1) * recordsPerPage),
        root,
        ...more,
      ];
      const [total, rows] = await database.row(statements[by], values, signal);
      return { total: Number(total), found: (JSON.parse(rows ?? "[]") as unknown[]).map(permission.read) };
    },
  };
}

function describe(name: string, { entry, ...found }: V2Name): z.output<typeof nameSchema> {
  const { authority, version, registry, owner, resolver, subregistry, isCanonical, isProven } = found;
  return {
    name,
    node: nodeOfName(name),
    version,
    reserved: authority === "reserved",
    ...(entry?.migratedAt ? { migratedAt: Number(entry.migratedAt) } : {}),
    status: entry?.status ?? "available",
    isCanonical,
    isProven,
    registry,
    registryPath: found.registryPath,
    ...(entry === null ? {} : { tokenId: entry.tokenId, expiry: entry.expiry }),
    owner,
    resolver,
    subregistry,
    effective: found.effective,
  };
}

// Of `dns` and a name in DNS wire format, or of labels as they are stored, the first one first; the root has none.
function nameOf(stored: string): string {
  if (!stored.startsWith("dns ")) return stored === "" ? "" : stored.split(" ").map(storedLabel).join(".");
  const labels = dnsLabels(stored.slice(4) as Hex) ?? [];
  return labels.map((label) => interpretedLabel(keccak256(label), label.toString("utf8"))).join(".");
}

function recordOf(stored: string): z.output<typeof record> {
  const [kind, key = ""] = stored.split(" ");
  const known = recordKind.safeParse(kind).data;
  if (known === undefined) return undefined;
  const isText = known === "text" || known === "data";
  return { kind: known, key: isText ? Buffer.from(key.slice(2), "hex").toString("utf8") : key };
}

function rolesOf(stored: string): string[] {
  const [kind, bitmap] = stored.split(" ");
  return roleNames(bitmap as Hex, kind as RoleHolder);
}
