import { type Hex, zeroHash } from "viem";
import { z } from "zod/v4";
import { namehash, nameOfWire } from "../../ens/names.ts";
import { addressParameter, nameParameter } from "../../ens/parameters.ts";
import { maxLevels } from "../../ens/registrations.ts";
import { type RoleHolder, roleNames } from "../../ens/roles.ts";
import { addressSchema, chainIdSchema, hashSchema, secondsSchema } from "../../ens/schemas.ts";
import { HttpError } from "../../http/error.ts";
import { readV2Names, storedLabel, type V2Contracts, type V2Name } from "../../read/names/v2-names.ts";
import { pathOfName } from "../../read/names/v2-walk.ts";
import { field, readingOf } from "../../read/sql/fields.ts";
import { storageIdSql } from "../../schema/sql.ts";
import { slowestOf } from "../../status/snapshot.ts";
import { endpoint } from "../kit/endpoint.ts";
import {
  type CursorList,
  cursorOf,
  cursorParameter,
  pageContextSchema,
  pagedQuery,
  pagedRefusal,
  pageOf,
  pagingOf,
  readCursor,
} from "../kit/paging.ts";
import type { NameTokensContext } from "./name-tokens.ts";

type Context = Pick<NameTokensContext, "database" | "plugins" | "ensv2">;

// The registries above a registry (p.address) up to the root, as each claims its parent, with stored labels. The depth limit ends cycles.
const claimedPathSql = ({ chainId, root }: V2Contracts) => `
  WITH RECURSIVE up AS (
    SELECT p.address AS registry, ARRAY[p.address] AS path, NULL::text COLLATE "C" AS labels, 0 AS level
    UNION ALL
    SELECT e.registry, e.registry || up.path, concat_ws(' ', up.labels, e.labelhash || e.label), up.level + 1
    FROM up
    JOIN v2_contracts c ON c.chain_id = ${chainId} AND c.address = up.registry
    JOIN v2_entries e ON e.chain_id = ${chainId} AND e.subregistry = up.registry AND e.registry = c.parent
      AND e.label = c.parent_label AND e.expiry > $2::numeric
    WHERE up.registry <> '${root}' AND up.level < ${maxLevels}
  )
  SELECT up.path, up.labels FROM up WHERE up.registry = '${root}' LIMIT 1`;

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

const permission = readingOf({
  contract: { chainId: field("p.chain_id", chainIdSchema), address: field("p.address", addressSchema) },
  kind: field(
    "CASE p.kind WHEN 'registry' THEN 'registry' ELSE 'resolver' END",
    z.enum(["registry", "resolver"]),
  ),
  resource: field("p.resource", hashSchema.describe("Zero for the whole contract")),
  label: field(
    "p.label",
    z.string().optional().describe("Label of the registry entry that the resource stands for"),
    storedLabel,
  ),
  name: field(
    "CASE WHEN p.kind <> 'registry' THEN 'dns ' || m.name WHEN t.path IS NOT NULL THEN concat_ws(' ', p.label, t.labels) END",
    z
      .string()
      .optional()
      .describe(
        "Canonical name of the entry, or of the registry for the whole contract; of a resolver, the name that the roles are limited to",
      ),
    nameOf,
  ),
  registryPath: field(
    "t.path",
    z.array(addressSchema).optional().describe("Registries from the root to this one, if it has a place"),
  ),
  record: field("m.kind || ' ' || m.key", record, recordOf),
  account: field("p.account", addressSchema),
  isProven: field(
    "p.is_proven",
    z.boolean().describe("Whether the contract has known code. Others can claim anything about anybody"),
  ),
  roles: field("p.kind || ' ' || p.roles", z.array(z.string()), rolesOf),
  bitmap: field("p.roles", hashSchema),
});

/** Up to which number roles are counted and pages reach; cursors reach all. */
const maxCounted = 10_000;

// Roles count on contracts that the deployment or its factory deployed, and on entries in force for their present resource. Each contract's
// roles are read in the order of an index, no further than they are counted: anyone can give an account any number. CASE makes the planner
// take a condition for likely and follow the index. A registry's path is the one it claims, if its parents point back.
// $1: the subject, $2: the time, $3, $4: the page, $5: contract, resource and account to continue after, $6 and up: more of the subject.
function statementOf(by: AskedSubject["by"], contracts: V2Contracts): string {
  const { chainId, registries, resolvers, wrapperRegistries, userRegistries } = contracts;
  const list = (addresses: readonly Hex[]) => `'{${addresses.join(",")}}'::text[]`;
  const { among, filter } = subjects[by](chainId);
  return `
WITH RECURSIVE contracts (address) AS (${among}), known AS (
  SELECT a.address, CASE WHEN c.has_record_ids THEN 'recordResolver' WHEN c.implementation = ANY (${list(resolvers)}) THEN 'resolver'
      ELSE 'registry' END AS kind,
    ${userRegistries.length === 0} OR coalesce(a.address = ANY (${list(registries)})
      OR c.implementation = ANY (${list([...resolvers, ...wrapperRegistries, ...userRegistries])}), false) AS is_proven
  FROM (SELECT DISTINCT address FROM contracts WHERE address >= split_part($5, '-', 1)) a
  LEFT JOIN v2_contracts c ON c.chain_id = ${chainId} AND c.address = a.address
  WHERE a.address = ANY (${list(registries)}) OR c.implementation IS NOT NULL
), found AS MATERIALIZED (
  SELECT p.*, k.kind, k.is_proven FROM known k CROSS JOIN LATERAL (
    SELECT p.*, e.labelhash || e.label AS label FROM v2_roles p
    LEFT JOIN v2_entries e
      ON e.chain_id = p.chain_id AND e.registry = p.address AND e.storage_id = ${storageIdSql("p.resource")}
    WHERE p.address = k.address AND ${filter} AND p.chain_id = ${chainId} AND p.roles <> '${zeroHash}'
      AND CASE WHEN e.storage_id IS NULL OR e.expiry > $2::numeric AND e.resource = p.resource THEN true ELSE false END
      AND (p.address > split_part($5, '-', 1) OR (p.resource, p.account) > (split_part($5, '-', 2), split_part($5, '-', 3)))
    ORDER BY p.resource, p.account LIMIT ${maxCounted + 1}
  ) p
)
SELECT (SELECT count(*) FROM found)::text, (
  SELECT coalesce(json_agg(${permission.sql} ORDER BY p.address, p.resource, p.account), '[]')
  FROM (SELECT * FROM found ORDER BY address, resource, account LIMIT $3::int OFFSET $4::bigint) p
  LEFT JOIN v2_resources m ON m.chain_id = p.chain_id AND m.resolver = p.address AND m.resource = p.resource AND p.kind <> 'registry'
  LEFT JOIN LATERAL (${claimedPathSql(contracts)}) t ON p.kind = 'registry'
)::text`;
}

// The contracts on which an account has roles, found one after the other in the index by account. The sum keeps the planner from the
// primary key, which has the roles of all other accounts in between.
const ofAccount = (chainId: number, after: string) => `(SELECT p.address FROM v2_roles p
    WHERE p.account = $1 AND p.chain_id + 0 = ${chainId} AND p.address > ${after} ORDER BY p.address LIMIT 1)`;

const subjects = {
  account: (chainId: number) => ({
    among: `${ofAccount(chainId, "''")} UNION ALL SELECT ${ofAccount(chainId, "contracts.address")} FROM contracts WHERE contracts.address IS NOT NULL`,
    filter: "p.account = $1 AND k.is_proven::text = $6",
  }),
  registry: () => ({ among: "SELECT $1", filter: "true" }),
  name: () => ({
    among: "VALUES ($1), ($7)",
    filter: `(p.address = $1 AND p.resource IN ('${zeroHash}', $6)
    OR p.address = $7 AND (p.resource = '${zeroHash}' OR EXISTS (SELECT FROM v2_resources m WHERE m.chain_id = p.chain_id
      AND m.resolver = p.address AND m.resource = p.resource AND coalesce(m.node, $8) = $8)))`,
  }),
};

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
        permissions: z.array(permission.schema),
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
    const asked = { paths: [pathOfName(query.name ?? "")], time, hasV1: plugins.includes("subgraph") };
    const [name] = query.name === undefined ? [] : await readV2Names(database, ensv2, asked, signal);
    const { by, values } = subjectOf(query, name);
    const cursors = cursorsOf(query);
    const after = readCursor(query.cursor, cursors)?.join("-") ?? "";
    const paging = pagingOf(query);
    const { page, recordsPerPage } = paging;
    const [subject, ...more] = values;
    const limits = [time, recordsPerPage, (page - 1) * recordsPerPage].map(String);
    const all = [subject, ...limits, after, ...more];
    const [counted, rows] = await database.row(statementOf(by, ensv2), all, signal);
    const { pageContext, headers } = pageOf(request.url, paging, Math.min(Number(counted), maxCounted));
    const found = permission.rows(rows);
    // A full page may be the last one.
    const last = found.length === recordsPerPage ? found.at(-1) : undefined;
    const end = last && [last.contract.address, last.resource, last.account];
    const body = {
      responseCode: "ok" as const,
      name: name && describe(query.name ?? "", name),
      permissions: found,
      pageContext: { ...pageContext, nextCursor: end && cursorOf(cursors.list, end) },
      accurateAsOf: slowestOf(current.snapshot).time,
    };
    return { status: 200, headers, body };
  },
});

const cursorsOf = ({ name, registry, account, isProven }: z.output<typeof query>): CursorList => ({
  list: ["permissions", name, registry, account, isProven],
  types: ["text", "text", "text"],
  refuse: (message) => {
    throw new HttpError(400, message);
  },
});

type AskedSubject = { by: keyof typeof subjects; values: [Hex, ...string[]] };

function subjectOf(
  { registry, account, isProven, name: given }: z.output<typeof query>,
  name: V2Name | undefined,
): AskedSubject {
  if (account !== undefined) return { by: "account", values: [account, isProven] };
  if (name === undefined) return { by: "registry", values: [registry ?? zeroHash] };
  const { entry, resolver } = name;
  const resource = entry && entry.status !== "available" ? entry.resource : zeroHash;
  return { by: "name", values: [name.registry ?? zeroHash, resource, resolver, namehash(given ?? "")] };
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

// Stored as `dns` and a name in DNS wire format, or as stored labels from the first to the last; empty for the root.
function nameOf(stored: string): string {
  if (!stored.startsWith("dns ")) return stored === "" ? "" : stored.split(" ").map(storedLabel).join(".");
  return nameOfWire(stored.slice(4) as Hex) ?? "";
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
