import type { Hex } from "viem";
import { z } from "zod/v4";
import { labelhashOf } from "../../ens/labels.ts";
import { nodeOfName } from "../../ens/names.ts";
import { interpretedLabel } from "../../ens/normalization.ts";
import { type RoleHolder, roleNames } from "../../ens/roles.ts";
import type { Database } from "../database/client.ts";
import { pathOf, readV2Names, type V2Contracts, type V2Name } from "../resolution/v2-names.ts";
import { endpoint } from "../rest/endpoint.ts";
import { ApiError } from "../rest/errors.ts";
import { pageContextSchema, pagedRefusal, pageOf } from "../rest/page.ts";
import { type Paging, pagedQuery, pagingOf } from "../rest/paging.ts";
import {
  addressParameter,
  addressSchema,
  chainIdSchema,
  field,
  hashSchema,
  nameParameter,
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

const permission = readingOf({
  contract: { chainId: field("p.chain_id", chainIdSchema), address: field("p.address", addressSchema) },
  kind: field("p.kind", z.enum(["registry", "resolver"])),
  resource: field("p.resource", hashSchema.meta({ description: "Zero for the whole contract" })),
  label: field(
    "p.label",
    z.string().optional().meta({ description: "Label of the registry's entry that the resource is" }),
    labelOf,
  ),
  account: field("p.account", addressSchema),
  roles: field("p.kind || ' ' || p.roles", z.array(z.string()), rolesOf),
  bitmap: field("p.roles", hashSchema),
});

// Rows count for contracts that the deployment itself, or its factory, put on the chain; and for entries, while these are in
// force, those of their present resource.
const statement = (filter: string) => `
WITH found AS (
  SELECT p.*, e.labelhash || e.label AS label,
    CASE WHEN c.implementation = ANY ($4::text[]) THEN 'resolver' ELSE 'registry' END AS kind
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
)::text`;

const statements = {
  account: statement("p.account = $1"),
  registry: statement("p.address = $1"),
  name: statement(`p.address = $1 AND p.resource IN ('${none}', $8)`),
};

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
  registry: addressSchema.nullable().meta({ description: "Null where a name above it has no registry" }),
  tokenId: hashSchema.optional(),
  owner: addressSchema.nullable().meta({ description: "Null where only the chain knows it" }),
  expiry: z.string().regex(/^\d+$/).optional().meta({ description: "Unix seconds; may be beyond any date" }),
  resolver: addressSchema.meta({
    description: "The one that answers, of the name or the nearest above; zero: none",
  }),
  subregistry: addressSchema,
});

/** GET /api/permissions. */
export const permissions = endpoint({
  path: "/api/permissions",
  tag: "Explore",
  summary: "Roles in ENSv2",
  description:
    "Who may do what now: roles of accounts on names, registries and resolvers of ENSv2. Give exactly one of `name`, `registry` and `account`. " +
    "A name has the roles of its entry and those of the whole registry (resource zero), which count for every entry.",
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

function subjectOf({ registry, account }: z.output<typeof query>, name: V2Name | undefined): Subject {
  if (account !== undefined) return { by: "account", values: [account] };
  if (name === undefined) return { by: "registry", values: [registry ?? none] };
  const resource = name.entry && name.entry.status !== "available" ? name.entry.resource : none;
  return { by: "name", values: [name.registry ?? none, resource] };
}

function reader(
  database: Database,
  ensv2: V2Contracts,
  { time, paging: { page, recordsPerPage } }: { time: number; paging: Paging },
  signal: AbortSignal,
) {
  const { chainId, registries, resolvers } = ensv2;
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
        ...more,
      ];
      const [total, rows] = await database.row(statements[by], values, signal);
      return { total: Number(total), found: (JSON.parse(rows ?? "[]") as unknown[]).map(permission.read) };
    },
  };
}

function describe(name: string, { entry, ...found }: V2Name): z.output<typeof nameSchema> {
  const { authority, registry, owner, resolver, subregistry, isCanonical } = found;
  const isInV2 = authority === "v2" || (authority === null && entry !== null && entry.status !== "available");
  return {
    name,
    node: nodeOfName(name),
    version: isInV2 ? "v2" : authority === "reserved" || authority === "v1" ? "v1" : null,
    reserved: authority === "reserved",
    ...(entry?.migratedAt ? { migratedAt: Number(entry.migratedAt) } : {}),
    status: entry?.status ?? "available",
    isCanonical,
    registry,
    ...(entry === null ? {} : { tokenId: entry.tokenId, expiry: entry.expiry }),
    owner,
    resolver,
    subregistry,
  };
}

// Labelhash and label in hex, one after the other.
function labelOf(stored: string): string {
  const [labelhash, label] = [stored.slice(0, 66) as Hex, stored.slice(68)];
  return interpretedLabel(labelhash, Buffer.from(label, "hex").toString("utf8"));
}

function rolesOf(stored: string): string[] {
  const [kind, bitmap] = stored.split(" ");
  return roleNames(bitmap as Hex, kind as RoleHolder);
}
