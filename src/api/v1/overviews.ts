import type { Hex } from "viem";
import { z } from "zod/v4";
import { ethName } from "../../deployments/ensv2.ts";
import { rootNode, zeroAddress } from "../../ens/ids.ts";
import { nameOfWire } from "../../ens/names.ts";
import {
  anyCaseAddress,
  chainIdParameter,
  choice,
  closedQuery,
  textParameter,
} from "../../ens/parameters.ts";
import { hasPowerSql } from "../../ens/roles.ts";
import { hexSchema, located } from "../../ens/schemas.ts";
import { asOfWithToken, describePosition, type Meta } from "../../read/as-of.ts";
import { unkeyed } from "../../read/names/cache-keys.ts";
import { withCounts } from "../../read/names/counts.ts";
import { type StoredRole, wholeContract } from "../../read/names/grants.ts";
import { readNameOfPath, readRows } from "../../read/names/lookups.ts";
import { identity, labelRow, profileRow, rowSchema } from "../../read/names/rows.ts";
import { type LookupContext, openStatement, type StatementCall } from "../../read/names/source.ts";
import { indexTime, listText } from "../../read/names/stored-name.ts";
import { kindOfResolver, type ResolverFacts, type V2Contracts } from "../../read/names/v2-names.ts";
import { readV2Records } from "../../read/names/v2-records.ts";
import { ethAttachedSql, reachedJoin } from "../../read/names/v2-walk.ts";
import { refuse } from "../../read/refusal.ts";
import { contractJoin, keySql, rolesOfEntry, rolesOfRegistry } from "../../read/roles/stored-roles.ts";
import {
  beyondSql,
  listSortTypes,
  orderBySql,
  rowPositionSql,
  type SortType,
} from "../../read/sql/keyset.ts";
import { hexOf } from "../../schema/sql.ts";
import type { ResolveContext } from "../ensnode/resolve.ts";
import { endpoint } from "../kit/endpoint.ts";
import { type CursorQuery, cursorParameters } from "../kit/paging.ts";
import { type FinalityWord, listPosition, openPage, requireLatest, snapshotParameters } from "./contract.ts";
import { describeAnswers, ofLookup, pageShape } from "./lists.ts";
import { answerRecords, recordsOfNameSchema, recordsParameters } from "./names.ts";
import { includeParameter } from "./parameters.ts";
import { permissionSchema, readRoleRows } from "./permissions.ts";

// Reads of a contract, a resolver or a registry, under `/v1`. Its address is checked to be one, so that SQL may hold
// it.

const params = z.object({ chain_id: chainIdParameter("chain_id"), address: anyCaseAddress("address") });

type OverviewSource = LookupContext["lookup"];
type OverviewCall = StatementCall & {
  params: z.output<typeof params>;
  query: CursorQuery & { finality?: FinalityWord | undefined };
};

const ofContract = { ...ofLookup, params } as const;
const pageQuery = closedQuery({ ...snapshotParameters, ...cursorParameters });
const positionSchema = z.strictObject({
  block_number: z.int(),
  timestamp: z.string(),
  transaction_hash: hexSchema(64),
  log_index: z.int(),
});
const positionSql = (
  event: string,
) => `json_build_object('block_number', ${event}.block_number, 'timestamp', ${event}.timestamp::text,
    'transaction_hash', ${hexOf(`${event}.transaction_hash`)}, 'log_index', ${event}.log_index)`;
type Placed = z.output<typeof positionSchema>;
const nameSchema = rowSchema.pick({ name: true, display_name: true, namespace: true, namehash: true });

/**
 * The namespaces on a contract's chain whose links to resolvers are indexed, and `meta`. Refuses another chain or
 * position.
 */
function openContract(
  { namespaces, hashOf }: OverviewSource,
  { params, query, current, keys }: OverviewCall,
  what: string,
) {
  // Not all that changes a contract is an event of a name.
  keys.add(unkeyed);
  const { chain_id: chainId } = params;
  const homes = namespaces.filter((one) => one.chainId === chainId && (one.isRoot || one.linker));
  const [home] = homes;
  if (home === undefined) return refuse("invalid_input", "chain_id must be that of a chain of indexed names");
  const meta = asOfWithToken(current, hashOf);
  requireLatest(query.finality ?? "latest", { current, chainId, what });
  return { home, homes, meta };
}

const refuseContract = (
  kind: "resolver" | "registry",
  { params: { chain_id, address } }: OverviewCall,
): never => refuse("not_found", `${kind} ${address} was not found on chain ${chain_id}`);

// Up to how many rows of a contract are counted.
const max = 10_000;

// SQL of the number of rows, null beyond a limit. `from`: their FROM clause and conditions.
const countUpTo = (limit: number, from: string) =>
  `(SELECT nullif(count(*), ${limit + 1})::int FROM (SELECT FROM ${from} LIMIT ${limit + 1}) c)`;

/**
 * Rows, each part in the order of an index. `list`: name and filters; `from`: FROM clauses and conditions; `row`: SQL
 * of a row as JSON.
 */
type RowsSql = { list: unknown[]; from: string | string[]; order: Record<string, SortType>; row: string };

/** A page of a list of a contract, with its total up to the limit if `isCounted`. */
async function readPage<T>(
  lookup: OverviewSource,
  call: OverviewCall,
  { list, from, order, row }: RowsSql,
  isCounted = true,
) {
  const keys = Object.entries(order).map(([sql, type]) => ({ sql, type }));
  const all = [from].flat();
  const opened = openPage(call.query, [...list, call.params], listSortTypes(keys));
  const { bind, rows, count } = openStatement(lookup, call);
  const sorted = ` AND $1::bigint[] IS NOT NULL ${orderBySql(keys, false)}`;
  const total = isCounted ? count(`SELECT ${countUpTo(max, `${all[0]}${sorted}`)}::text`, max) : null;
  const beyond = opened.after ? ` AND ${beyondSql(keys, opened.after.map(bind), false)}` : "";
  const after = rowPositionSql(keys.map(({ sql }) => sql));
  const columns = `json_build_object('row', ${row}, 'after', ${after})::text AS found, ${keys.map(({ sql }, at) => `${sql} AS k${at}`).join(", ")}`;
  const parts = all.map((part) => `(SELECT ${columns} FROM ${part}${beyond}${sorted} LIMIT ${opened.limit})`);
  const page = `SELECT found FROM (${parts.join(" UNION ALL ")}) f ${orderBySql(keys, false, "k")} LIMIT ${opened.limit}`;
  const found = opened.of(...(await Promise.all([rows<{ row: T; after: string[] }>(listText(page)), total])));
  return { rows: found.shown.map((one) => one.row), page: found.page };
}

// SQL conditions on ids of resolvers, each of one name: all of a contract's, in the order of nodes. In subgraph mode
// they have no chain.
const buildIdConditions = (id: string, { params: { chain_id, address } }: OverviewCall) =>
  [`${chain_id}-${address}-`, `${address}-`].map((start) => `${id} > '${start}' AND ${id} < '${start}~'`);

/**
 * Reads what is known of a resolver. Refuses one that no event named. `kind`: how one of ENSv2 keeps records;
 * `isKnown`: its code is known.
 */
async function readResolver(lookup: OverviewSource, call: OverviewCall, what = "resolver") {
  const { chain_id, address } = call.params;
  const opened = openContract(lookup, call, what);
  const seen = buildIdConditions("s.id", call).map((ids) => `EXISTS (SELECT FROM resolver s WHERE ${ids})`);
  const sql = `SELECT json_build_object('isSeen', ${seen.join(" OR ")}, 'implementation', c.implementation,
    'hasRecordIds', c.has_record_ids, 'isUpgraded', c.is_upgraded)::text
  FROM (SELECT) one LEFT JOIN v2_contracts c ON c.chain_id = ${chain_id} AND c.address = '${address}'`;
  const [text] = await lookup.database.row(sql, [], call.request.raw.signal);
  const { isSeen, ...facts } = JSON.parse(text ?? "{}") as ResolverFacts & { isSeen: boolean };
  const kind = opened.home.v2 ? kindOfResolver(address, facts, opened.home.v2) : "unknown";
  const isKnown = kind !== "unknown" || lookup.known.staticResolverOf(chain_id, address) !== undefined;
  if (kind === "none" || !(isSeen || isKnown)) refuseContract("resolver", call);
  return { ...opened, facts, kind, isKnown };
}

// The response without rows where the index cannot tell which there are.
function answerNotListed(meta: Meta, { query }: OverviewCall, reason = "resolver_enumeration_not_supported") {
  const gap = { completeness: "unsupported" as const, unsupported_reason: reason };
  const { page } = openPage(query, [], []).of([]);
  return { status: 200 as const, body: { data: [], page, meta: { ...meta, ...gap } } };
}

const resolverSchema = located.extend({
  mirror: z.strictObject({ kind: z.literal("ensv1_registry"), registry: located }).optional(),
  bound_names: z.strictObject(pageShape(rowSchema)),
});

const resolverOverview = endpoint({
  ...ofContract,
  path: "/v1/resolvers/{chain_id}/{address}",
  summary: "A resolver and the names that use it",
  description:
    "Names whose registration in force has it as its own resolver, ordered by node; names without a registration are omitted. A page may have fewer names than its size. `mirror`: the registry that it answers from.",
  query: pageQuery,
  answers: describeAnswers("The resolver", { data: resolverSchema }, 404),
  handle: async (call, { lookup }: LookupContext) => {
    const { home, kind, meta } = await readResolver(lookup, call);
    const registry = kind === "v1" && home.registry && { ...call.params, address: home.registry };
    const mirror = registry ? { kind: "ensv1_registry" as const, registry } : undefined;
    const data = { ...call.params, mirror, bound_names: await boundNames(lookup, call, home) };
    return { status: 200, body: { data, meta } };
  },
});

// On the root chain names and entries of ENSv2 have an id of their resolver, on others only the resolver's own row has
// it. Any of them may be out of date: what is in force decides.
async function boundNames(
  lookup: OverviewSource,
  call: OverviewCall,
  { chainId, isRoot, v2 }: OverviewSource["namespaces"][number],
) {
  const { address } = call.params;
  const id = isRoot ? "o.resolver_id" : "o.id";
  const inForce = (entry: string) =>
    `${entry}.chain_id = ${chainId} AND ${entry}.owner_id <> '${zeroAddress}' AND ${entry}.expiry_date > ${indexTime}`;
  const hasEntry = `EXISTS (SELECT FROM v2_domains v WHERE v.id = o.id AND v.resolver_id = ${id} AND ${inForce("v")} OFFSET 0)`;
  const first = `${isRoot ? "domain" : "resolver"} o, (VALUES (false)) e (is_entry) WHERE ${v2 ? `NOT ${hasEntry}` : "true"}`;
  const second = `v2_domains o, (VALUES (true)) e (is_entry) WHERE ${inForce("o")}`;
  const found = {
    list: ["bound_names"],
    from: [first, ...(v2 ? [second] : [])].flatMap((part) =>
      buildIdConditions(id, call).map((ofContract) => `${part} AND ${ofContract}`),
    ),
    order: { [id]: "text" as const },
    row: `json_build_object('node', right(${id}, 66), 'isEntry', e.is_entry)`,
  };
  const { rows, page } = await readPage<{ node: Hex; isEntry: boolean }>(lookup, call, found, false);
  // A name may be under several paths of a registry.
  const nodes = new Map(rows.map((one) => [one.node, one])).values();
  const data = (await readRows(lookup, call, [...nodes]))
    .filter(({ row, isEntry }) => row.status !== "unregistered" && (isEntry || !row.v2?.isInForce))
    .map(({ row }) => profileRow(lookup.namespaces, row))
    .filter(({ resolver }) => resolver?.address === address && resolver.chain_id === chainId);
  return { data, page };
}

const linkSchema = nameSchema
  .partial({ name: true, display_name: true, namespace: true })
  .extend({ record_id: z.string().regex(/^\d+$/), default: z.boolean(), link_event: positionSchema });

type Link = { id: string; node: Hex; wire: Hex | null; event: Placed };

const resolverLinks = endpoint({
  ...ofContract,
  path: "/v1/resolvers/{chain_id}/{address}/links",
  summary: "Names that share the records of a record id of a resolver",
  description:
    "For ENSv2 resolvers with record ids: ordered by record id, then by node. The root node's link is the default.",
  query: pageQuery,
  answers: describeAnswers("A page of links, possibly empty", pageShape(linkSchema), 404),
  handle: async (call, { lookup }: LookupContext) => {
    const { chain_id, address } = call.params;
    const { home, kind, isKnown, meta } = await readResolver(lookup, call);
    if (kind !== "records")
      return answerNotListed(meta, call, isKnown ? "record_links_not_applicable" : undefined);
    const { rows, page } = await readPage<Link>(lookup, call, {
      list: ["links"],
      from: `v2_record_links l WHERE l.chain_id = ${chain_id} AND l.resolver = '${address}' AND l.record_id > 0`,
      order: { "l.record_id": "numeric", "l.node": "text" },
      // Anybody can emit a name of any length.
      row: `json_build_object('id', l.record_id::text, 'node', l.node, 'wire', CASE WHEN length(l.name) <= 4096 THEN l.name END, 'event', ${positionSql("l")})`,
    });
    const data = rows.map(({ id, node, wire, event }) => {
      const name = wire && nameOfWire(wire);
      const link = { record_id: id, namehash: node, default: node === rootNode, link_event: event };
      return name ? { ...identity({ name, node }, home), ...link } : link;
    });
    return { status: 200, body: { data, page, meta } };
  },
});

const roleSchema = permissionSchema.extend({ grant_event: positionSchema.optional() });

const resolverRoles = endpoint({
  ...ofContract,
  path: "/v1/resolvers/{chain_id}/{address}/roles",
  summary: "Who has which powers over a resolver and its names",
  description:
    "For ENSv2 resolvers with known code: ordered by account, then by `eac_resource`, 0 for the whole resolver. `registration_id` is that of the name that uses the resolver, else one of the resource.",
  query: pageQuery,
  answers: describeAnswers("A page of roles, possibly empty", pageShape(roleSchema), 404),
  handle: async (call, { lookup }: LookupContext) => {
    const { chain_id, address } = call.params;
    const { kind, meta } = await readResolver(lookup, call);
    if (kind !== "records" && kind !== "nodes") return answerNotListed(meta, call);
    const holder = kind === "records" ? "recordResolver" : "resolver";
    const { rows, page } = await readPage<StoredRole & { granted: Placed | null }>(lookup, call, {
      list: ["roles"],
      from: `v2_roles p LEFT JOIN v2_resources m ON m.chain_id = p.chain_id AND m.resolver = p.address AND m.resource = p.resource
  WHERE p.chain_id = ${chain_id} AND p.address = '${address}' AND ${hasPowerSql("p.roles", holder)}`,
      order: { "p.account": "text", "p.resource": "text" },
      row: `json_build_object('kind', '${holder}', 'address', p.address, 'resource', p.resource, 'account', p.account, 'roles', p.roles,
    'node', m.node, 'record', m.kind, 'key', ${keySql}, 'after', '[]'::json,
    'granted', (SELECT ${positionSql("e")} FROM v2_events e WHERE e.registry = p.address AND e.resource = p.resource AND e.holder = p.account
      ORDER BY e.timestamp DESC, e.log_index DESC LIMIT 1))`,
    });
    const data = (await readRoleRows(lookup, call, rows)).flatMap(({ row }, at) =>
      row ? { ...row, grant_event: rows[at]?.granted ?? undefined } : [],
    );
    return { status: 200, body: { data, page, meta } };
  },
});

const noEntry = {
  ...{ version: null, isReserved: false, migrated: null },
  ...{ path: null, token: null, subregistry: null, holder: null },
};

const resolverRecords = endpoint({
  ...ofContract,
  path: "/v1/resolvers/{chain_id}/{address}/records",
  summary: "Records of a name in a resolver",
  description:
    "The requested keys, or all that were ever set, as this resolver has them for the name, whether or not it is the name's resolver.",
  query: closedQuery({
    name: textParameter("name", 2_000),
    ...recordsParameters,
    source: choice("source", ["indexed"]).default("indexed"),
  }),
  answers: describeAnswers("The records by key", { data: recordsOfNameSchema }, 404),
  handle: async (call, context: LookupContext & ResolveContext) => {
    const { lookup } = context;
    const { chain_id, address } = call.params;
    const { namespace } = call.query;
    const { homes, facts, kind, meta } = await readResolver(lookup, call, "name records");
    const known = homes.map((one) => one.namespace).join(" or ");
    const home =
      homes.find((one) => (namespace ?? one.namespace) === one.namespace) ??
      refuse("invalid_input", `namespace must be ${known} for a resolver on chain ${chain_id}`);
    const read = await readNameOfPath(lookup, call.query.name, call);
    const isInForce = home.v2 !== undefined && (kind !== "unknown" || facts.implementation !== null);
    // As if the name had this resolver. One of the first generation keeps records by node, as the public one of ENSv2
    // does.
    const v2 = { ...noEntry, isInForce };
    const at = { home: lookup.namespaces.indexOf(home) + 1, status: "active" as const };
    const row = { ...read.found.row, ...at, resolver: address, v2 };
    const ofV1 = { chainId: chain_id, v1Resolver: zeroAddress, publicResolver: address, resolvers: [] };
    const contracts = (isInForce && home.v2) || ofV1;
    const inV2 = { ...facts, resolver: address, isProven: kind !== "v1", isOwn: true, labels: [] };
    const asked = { contracts, hasRecords: lookup.hasRecords, asked: [{ row, records: null, inV2 }] };
    const [records = null] = await readV2Records(lookup.database, asked, call.request.raw.signal);
    return answerRecords(context, call, { ...read, found: { row, records }, position: meta });
  },
});

// The earliest name that still leads to the registry. The root registry has none.
function placeSql(v2: V2Contracts, address: Hex): string {
  if (address === v2.ethRegistry)
    return `(SELECT json_build_object('node', '${ethName.node}', 'name', '${ethName.name}', 'parent', '${v2.root}', 'path', 0)
    WHERE ${ethAttachedSql(v2, indexTime)})`;
  return `(SELECT json_build_object('node', p.node, 'name', p.name, 'parent', p.parent, 'path', p.path)
    FROM v2_registry_paths p ${reachedJoin("p", "m", v2, indexTime)}
    WHERE p.chain_id = ${v2.chainId} AND p.registry = '${address}' AND m.is_reached ORDER BY p.path LIMIT 1)`;
}

type PathPlace = { node: Hex; name: string; parent: Hex; path: number };

/**
 * Reads what is known of a registry of ENSv2. Refuses one that no event named. `isProven`: whether its code is known.
 */
async function readRegistry(lookup: OverviewSource, call: OverviewCall) {
  const { address } = call.params;
  const { home, meta } = openContract(lookup, call, "registry");
  const { v2 } = home;
  if (v2 === undefined || address === zeroAddress) return refuseContract("registry", call);
  const stored = `json_build_object('place', ${placeSql(v2, address)},
  'proxy', (SELECT json_build_object('block', c.block_number, 'time', c.timestamp::text, 'transaction', ${hexOf("c.transaction_hash")})
    FROM v2_contracts c WHERE c.chain_id = ${v2.chainId} AND c.address = '${address}'),
  'isReferenced', EXISTS (SELECT FROM v2_entries e WHERE e.chain_id = ${v2.chainId} AND e.subregistry = '${address}'),
  'isProven', (SELECT k.is_proven AND k.kind = 'registry' FROM (SELECT) one ${contractJoin(v2, `'${address}'`)}))`;
  const sql = `SELECT json_build_array(${stored})::text WHERE $1::bigint[] IS NOT NULL`;
  type Found = { place: PathPlace | null; proxy: Proxy | null; isReferenced: boolean; isProven: boolean };
  const [found] = await openStatement(lookup, call).rows<Found>(sql);
  const { place = null, proxy = null, isReferenced = false, isProven = false } = found ?? {};
  if (!isProven && !isReferenced) refuseContract("registry", call);
  return { home, meta, v2, address, place, proxy, isProven };
}

type Proxy = { block: number | null; time: string | null; transaction: Hex | null };
type FoundRegistry = Awaited<ReturnType<typeof readRegistry>>;

const unsupported_reason = "registry_enumeration_not_supported";
const byName = { "left(e.name, 256)": "text", "e.id": "text" } as const;
const count = z.int().nullable();
const countsSchema = z.strictObject({ labels: count, roles: count.optional() });
type RegistryCounts = z.output<typeof countsSchema>;

const registrySchema = located.extend({
  name: nameSchema.nullable(),
  parent_registry: located.nullable(),
  created_block_number: z.int().nullable(),
  created_at: z.string().nullable(),
  created_transaction_hash: hexSchema(64).nullable(),
  created_basis: z.enum(["registry_created", "declared"]),
  counts: countsSchema,
  referenced_by: z.strictObject(pageShape(nameSchema)),
});

const registryOverview = endpoint({
  ...ofContract,
  path: "/v1/registries/{chain_id}/{address}",
  summary: "An ENSv2 registry and the names that lead to it",
  description: `\`name\` is the earliest that still leads to it. \`include=counts\` adds the number of roles in force and the total of \`referenced_by\`. Numbers are exact up to ${max}, else null. \`created_basis\`: \`declared\` for registries of the deployment, whose creation is not indexed.`,
  query: closedQuery({
    include: includeParameter(["counts"]).describe("`counts`: of roles and of names that lead to it"),
    ...snapshotParameters,
    ...cursorParameters,
  }),
  answers: describeAnswers("The registry", { data: registrySchema }, 404),
  handle: async (call, { lookup }: LookupContext) => {
    const registry = await readRegistry(lookup, call);
    const { home, address, place, v2, proxy, isProven } = registry;
    const isCounted = call.query.include?.includes("counts") ?? false;
    const references = {
      list: ["referenced_by"],
      from: `v2_domains e ${reachedJoin("e", "m", v2, indexTime)}
  WHERE e.chain_id = ${v2.chainId} AND e.subregistry = '${address}' AND e.expiry_date > ${indexTime} AND m.is_reached`,
      order: byName,
      row: "json_build_object('name', e.name, 'node', e.id)",
    };
    const { rows, page } = await readPage<PathPlace>(lookup, call, references, isCounted);
    const roles = isCounted ? `, 'roles', ${countUpTo(max, rolesOfRegistry(v2, address))}` : "";
    const counts = `json_build_object('labels', ${countUpTo(max, `${buildLabelsSql(registry)} ${inOrder}`)}${roles})`;
    const sql = `SELECT json_build_array(${counts})::text WHERE $1::bigint[] IS NOT NULL`;
    const [counted] = isProven ? await openStatement(lookup, call).rows<RegistryCounts>(sql) : [];
    const data = {
      ...call.params,
      name: place && identity(place, home),
      parent_registry: place && { ...call.params, address: place.parent },
      created_block_number: proxy?.block ?? null,
      created_at: proxy?.time ?? null,
      created_transaction_hash: proxy?.transaction ?? null,
      created_basis: v2.registries.includes(address) ? ("declared" as const) : ("registry_created" as const),
      counts: counted ?? { labels: null },
      referenced_by: { data: rows.map((row) => identity(row, home)), page },
    };
    const gap = { completeness: "partial" as const, unsupported_fields: ["counts"], unsupported_reason };
    return { status: 200, body: { data, meta: { ...registry.meta, ...(isProven ? {} : gap) } } };
  },
});

// Rows `e` of `v2_domains` for the labels under the registry's name. An unregistered one has neither an owner nor a
// date to come.
const buildLabelsSql = ({ v2, place, address }: FoundRegistry) => `v2_domains e
  WHERE ${place ? `e.path = ${place.path} AND e.parent_id = '${place.node}'` : "false"} AND e.chain_id = ${v2.chainId}
    AND e.registry = '${address}' AND (e.owner_id <> '${zeroAddress}' OR e.expiry_date > ${indexTime})`;
const inOrder = `ORDER BY ${Object.keys(byName).join(", ")}`;

// Up to which number accounts with roles are counted for each label.
const maxHolders = 1_000;
const holdersSql = ({ chainId }: V2Contracts) =>
  countUpTo(
    maxHolders,
    `${rolesOfEntry(chainId, "e.registry", "e.labelhash")} AND p.roles <> '${wholeContract}'`,
  );

type LabelOfRegistry = { node: Hex; owner: Hex | null; holders: number | null };

const registryLabels = endpoint({
  ...ofContract,
  path: "/v1/registries/{chain_id}/{address}/labels",
  summary: "Labels of an ENSv2 registry",
  description: `Under the name of the registry, ordered by name; \`owner\` is the latest holder, expired or not. \`total_count\` is exact up to ${max}, else null. \`include=counts\` adds \`subname_count\`, and \`role_holder_count\` up to ${maxHolders}, else absent.`,
  query: closedQuery({
    include: includeParameter(["counts"]).describe("`counts`: of subnames and of role holders"),
    owner: anyCaseAddress("owner").optional().describe("The latest holder"),
    exclude_owner: anyCaseAddress("exclude_owner").optional(),
    ...listPosition,
    ...cursorParameters,
  }),
  answers: describeAnswers("A page of labels, possibly empty", pageShape(rowSchema), 404),
  handle: async (call, { lookup }: LookupContext) => {
    const { owner, exclude_owner, include } = call.query;
    if (owner && exclude_owner) refuse("invalid_input", "owner and exclude_owner must not be given together");
    const registry = await readRegistry(lookup, call);
    const { isProven } = registry;
    const ofOwner = owner ? ` AND e.owner_id = '${owner}'` : "";
    const ofOthers = exclude_owner ? ` AND e.owner_id <> '${exclude_owner}'` : "";
    const counted = include?.includes("counts") ? `, 'holders', ${holdersSql(registry.v2)}` : "";
    const list = {
      list: ["labels", owner, exclude_owner],
      from: `${buildLabelsSql(registry)}${ofOwner}${ofOthers}`,
      order: byName,
      row: `json_build_object('node', e.id, 'owner', nullif(e.owner_id, '${zeroAddress}')${counted})`,
    };
    const { rows, page } = await readPage<LabelOfRegistry>(lookup, call, list, isProven);
    const data = (await readRows(lookup, call, rows)).map(({ row, owner, holders }) => ({
      ...labelRow(lookup.namespaces, row),
      owner: owner ?? undefined,
      role_holder_count: holders ?? undefined,
    }));
    const gap = { completeness: "unsupported" as const, unsupported_reason };
    const meta = { ...describePosition(call.current, lookup.hashOf), ...(isProven ? {} : gap) };
    const body = { data, page, meta };
    return { status: 200, body: counted ? await withCounts(lookup, call, body) : body };
  },
});

/** The endpoints for resolvers and registries. */
export const overviews = [
  ...[resolverOverview, resolverLinks, resolverRoles, resolverRecords],
  ...[registryOverview, registryLabels],
];
