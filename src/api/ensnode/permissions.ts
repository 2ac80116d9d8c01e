import { zeroAddress, zeroHash } from "viem";
import { z } from "zod/v4";
import { namehash, nameOfWire } from "../../ens/names.ts";
import { addressParameter, nameParameter } from "../../ens/parameters.ts";
import { roleNames } from "../../ens/roles.ts";
import { addressSchema, chainIdSchema, hashSchema, secondsSchema } from "../../ens/schemas.ts";
import { HttpError } from "../../http/error.ts";
import { readV2Names, storedLabel, type V2Name } from "../../read/names/v2-names.ts";
import { parseNamePath } from "../../read/names/v2-walk.ts";
import { type AskedPage, maxCounted, type PagedRole, readRolePage } from "../../read/roles/stored-roles.ts";
import { findSlowest } from "../../status/snapshot.ts";
import { endpoint } from "../kit/endpoint.ts";
import {
  type CursorList,
  cursorParameter,
  describePage,
  encodeCursor,
  pageContextSchema,
  pagedQuery,
  pagedRefusal,
  readCursor,
  readPaging,
} from "../kit/paging.ts";
import type { NameTokensContext } from "./name-tokens.ts";

type Context = Pick<NameTokensContext, "database" | "plugins" | "ensv2">;

const query = pagedQuery({
  name: nameParameter("name").optional().meta({ description: "A normalized name", example: "moonlamp.eth" }),
  registry: addressParameter("registry").optional().describe("A registry or a resolver"),
  account: addressParameter("account").optional().describe("Who has the roles"),
  isProven: z
    .enum(["true", "false"], { error: "isProven must be true or false" })
    .default("true")
    .describe(
      "Of an account: its roles in contracts of known code, or those in other contracts of the factory, which can claim anything",
    ),
  cursor: cursorParameter.describe("`pageContext.nextCursor` of a page: the list continues after it"),
}).refine(
  ({ name, registry, account }) => [name, registry, account].filter((one) => one !== undefined).length === 1,
  {
    error: "Give exactly one of name, registry and account",
    when: ({ issues }) => issues.length === 0,
  },
);

const recordKind = z.enum(["text", "data", "address", "argument"]);
const record = z
  .strictObject({ kind: recordKind, key: z.string() })
  .optional()
  .describe(
    "The one record that the roles are limited to: `argument` is the first argument of a setter, in hex",
  );

const permissionSchema = z.strictObject({
  contract: z.strictObject({ chainId: chainIdSchema, address: addressSchema }),
  kind: z.enum(["registry", "resolver"]),
  resource: hashSchema.describe("Zero for the whole contract"),
  label: z.string().optional().describe("Label of the registry entry that the resource stands for"),
  name: z
    .string()
    .optional()
    .describe(
      "Canonical name of the entry, or of the registry for the whole contract; of a resolver, the name that the roles are limited to",
    ),
  registryPath: z
    .array(addressSchema)
    .optional()
    .describe("Registries from the root to this one, if it has a place"),
  record,
  account: addressSchema,
  isProven: z
    .boolean()
    .describe("Whether the contract has known code. Others can claim anything about anybody"),
  roles: z.array(z.string()),
  bitmap: hashSchema,
});

const seconds = z.string().regex(/^\d+$/).describe("Unix seconds; may exceed the range of dates");

const nameSchema = z.strictObject({
  name: z.string(),
  node: hashSchema,
  version: z.enum(["v1", "v2"]).nullable().describe("Generation whose data is in force; null if neither is"),
  reserved: z.boolean().describe("Whether ENSv2 holds it for its owner in ENSv1"),
  migratedAt: secondsSchema.optional(),
  status: z.enum(["available", "reserved", "registered"]),
  isCanonical: z.boolean().describe("Whether each registry on the path to it claims its place"),
  isProven: z
    .boolean()
    .describe(
      "Whether each registry on the path has known code, whose events are complete. Otherwise only the chain knows the name for sure",
    ),
  registry: addressSchema.nullable().describe("Null if a name above it has no registry"),
  tokenId: hashSchema.optional(),
  owner: addressSchema.nullable().describe("Null if only the chain knows it"),
  expiry: seconds.optional(),
  resolver: addressSchema.describe("The one in use, of the name or its nearest ancestor; zero if none"),
  subregistry: addressSchema,
  registryPath: z
    .array(addressSchema)
    .nullable()
    .describe("Registries from the root to the one that would hold the name"),
  effective: z
    .strictObject({
      owner: addressSchema.nullable(),
      resolver: addressSchema.nullable(),
      expiry: seconds.nullable(),
      graceEnds: seconds.nullable(),
    })
    .describe(
      "According to the generation in force: in ENSv1, its own owner, resolver and expiry. If neither is, the expiry that passed. Null if none, or if only the chain knows",
    ),
});

/** GET /api/permissions. */
export const permissions = endpoint({
  path: "/api/permissions",
  tag: "Explore",
  summary: "Roles in ENSv2",
  description:
    "Current roles of accounts on names, registries and resolvers of ENSv2. Give exactly one of `name`, `registry` and `account`. " +
    "A name has the roles of its entry, those of the whole registry (resource zero), which apply to every entry, and on its resolver those of the whole contract, of the name, of its records, and of arguments that apply to every name.",
  query,
  needs: { plugins: ["ensv2"], index: "complete" },
  answers: {
    200: {
      description: "A page of roles, possibly empty",
      schema: z.strictObject({
        responseCode: z.literal("ok"),
        name: nameSchema.optional(),
        permissions: z.array(permissionSchema),
        pageContext: pageContextSchema.extend({
          nextCursor: z
            .string()
            .optional()
            .describe(`Start of the next page; totals and pages end at ${maxCounted} records`),
        }),
        accurateAsOf: secondsSchema,
      }),
    },
    400: pagedRefusal,
  },
  handle: async ({ query, current, request }, { database, plugins, ensv2 }: Context) => {
    if (ensv2 === undefined) throw new HttpError(503, "The namespace has no contracts of ENSv2.");
    const { signal } = request.raw;
    const time = current.snapshot.omnichainSnapshot.omnichainIndexingCursor;
    const asked = { paths: [parseNamePath(query.name ?? "")], time, hasV1: plugins.includes("subgraph") };
    const [name] = query.name === undefined ? [] : await readV2Names(database, ensv2, asked, signal);
    const cursors = buildCursors(query);
    const after = readCursor(query.cursor, cursors);
    const paging = readPaging(query);
    const limit = paging.recordsPerPage;
    const listed = { of: parseSubject(query, name), time, after, limit, offset: (paging.page - 1) * limit };
    const { roles, count } = await readRolePage(database, ensv2, listed, signal);
    const { pageContext, headers } = describePage(request.url, paging, Math.min(count, maxCounted));
    // A full page may be the last one.
    const last = roles.length === limit ? roles.at(-1) : undefined;
    const end = last && [last.address, last.resource, last.account];
    const body = {
      responseCode: "ok" as const,
      name: name && describe(query.name ?? "", name),
      permissions: roles.map((role) => formatPermission(role, ensv2.chainId)),
      pageContext: { ...pageContext, nextCursor: end && encodeCursor(cursors.list, end) },
      accurateAsOf: findSlowest(current.snapshot).time,
    };
    return { status: 200, headers, body };
  },
});

const buildCursors = ({ name, registry, account, isProven }: z.output<typeof query>): CursorList => ({
  list: ["permissions", name, registry, account, isProven],
  types: ["text", "text", "text"],
  refuse: (message) => {
    throw new HttpError(400, message);
  },
});

function parseSubject(
  { registry, account, isProven, name: given }: z.output<typeof query>,
  name: V2Name | undefined,
): AskedPage["of"] {
  if (account !== undefined) return { account, isProven: isProven === "true" };
  if (name === undefined) return { contract: registry ?? zeroAddress };
  const { entry, resolver } = name;
  const resource = entry && entry.status !== "available" ? entry.resource : zeroHash;
  return { registry: name.registry ?? zeroAddress, resource, resolver, node: namehash(given ?? "") };
}

function describe(name: string, { entry, ...found }: V2Name): z.output<typeof nameSchema> {
  const { authority, version, registry, owner, resolver, subregistry, isCanonical, isProven } = found;
  return {
    name,
    node: namehash(name),
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

function formatPermission(role: PagedRole, chainId: number): z.output<typeof permissionSchema> {
  const { address, kind, resource, label, path, account, isProven, roles } = role;
  return {
    contract: { chainId, address },
    kind: kind === "registry" ? kind : "resolver",
    resource,
    label: label === null ? undefined : storedLabel(label),
    name: formatName(role),
    registryPath: path ?? undefined,
    record: formatRecord(role),
    account,
    isProven,
    roles: roleNames(roles, kind),
    bitmap: roles,
  };
}

function formatName({ kind, label, labels, path, wire }: PagedRole): string | undefined {
  if (kind !== "registry") return wire === null ? undefined : (nameOfWire(wire) ?? "");
  if (path === null) return undefined;
  const above = labels === null ? [] : labels.split(" ");
  return [...(label === null ? [] : [label]), ...above].map(storedLabel).join(".");
}

function formatRecord({ record: stored, key }: PagedRole): z.output<typeof record> {
  const kind = recordKind.safeParse(stored).data;
  if (kind === undefined || key === null) return undefined;
  const isText = kind === "text" || kind === "data";
  return { kind, key: isText ? Buffer.from(key.slice(2), "hex").toString("utf8") : key };
}
