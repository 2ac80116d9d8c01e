import { z } from "zod/v4";
import { decodeRecord } from "../../ens/decoded-records.ts";
import { zeroAddress } from "../../ens/ids.ts";
import { isNormalizedName } from "../../ens/normalization.ts";
import { choice, closedQuery, readTime, textParameter } from "../../ens/parameters.ts";
import { agentKeys } from "../../ens/record-values.ts";
import { located } from "../../ens/schemas.ts";
import { asOfWithToken, describePosition } from "../../read/as-of.ts";
import { type DeadlineWindow, deadlineBranches, deadlineOrder } from "../../read/events/deadlines.ts";
import { addKeys, keyOfAll, subnamesKey, unkeyed } from "../../read/names/cache-keys.ts";
import { maxSubnames, withCounts } from "../../read/names/counts.ts";
import { homeOfRow, namespacesText } from "../../read/names/indexed-namespaces.ts";
import { namesLeftOut } from "../../read/names/left-out.ts";
import { branchesFrom, byName, listSql, sorts, withText } from "../../read/names/lists.ts";
import { readNameOfPath } from "../../read/names/lookups.ts";
import { namesByRecord, type RecordCondition } from "../../read/names/record-keys.ts";
import {
  detailRow,
  type FoundName,
  findDefaultAddress,
  findRecord,
  isAddressKey,
  isDataKey,
  isReadFromEvents,
  isTextRecordKey,
  labelRow,
  listRecordKeys,
  listRow,
  type NameRow,
  type RecordAnswer,
  recordSchema,
  rowSchema,
  searchRow,
  toDataKey,
  toTextKey,
} from "../../read/names/rows.ts";
import {
  inNamespace,
  nameIn,
  namesOfNamespaces,
  namespaceParameter,
  namespacesIn,
  ofAuthority,
} from "../../read/names/scopes.ts";
import { relevanceSql, relevanceTypes } from "../../read/names/search.ts";
import type { Records } from "../../read/names/selection.ts";
import { type LookupContext, openStatement, type StatementCall } from "../../read/names/source.ts";
import type { Listed } from "../../read/names/stored-name.ts";
import { refuse } from "../../read/refusal.ts";
import { resolveRecords } from "../../read/resolution/resolve.ts";
import { askChain, type LiveCall, type ResolveContext } from "../ensnode/resolve.ts";
import { endpoint } from "../kit/endpoint.ts";
import { chooseLimit, cursorParameters } from "../kit/paging.ts";
import {
  type FinalityWord,
  listPosition,
  openPage,
  requireLatest,
  snapshotParameters,
  windowEnd,
} from "./contract.ts";
import { checkOrder } from "./history.ts";
import { describeAnswers, listAnswers, listPage, ofLookup, pageShape, requireRecords } from "./lists.ts";
import { authorityParameter, includeParameter } from "./parameters.ts";

const namePath = z.object({
  name: z.string().meta({
    description: "A name; `[labelhash]` stands for an unknown label",
    example: "vitalik.eth",
  }),
});

/** GET /v1/names/{name}. */
export const nameDetail = endpoint({
  ...ofLookup,
  path: "/v1/names/{name}",
  summary: "A name",
  description:
    "Owner, manager, expiry, wrapper state, resolver and records of a name as of the last indexed block.",
  params: namePath,
  query: closedQuery({
    namespace: namespaceParameter,
    include: includeParameter(["counts"]).describe("`counts`: of subnames and records"),
    source: choice("source", ["indexed"]).optional(),
    ...snapshotParameters,
  }),
  answers: describeAnswers("The name", { data: rowSchema }, 404),
  handle: async (call, { lookup }: LookupContext) => {
    const { found, position } = await readNameInPath(lookup, call, "name");
    const data = detailRow(lookup.namespaces, found, lookup.known);
    const meta = { ...position, source: "indexed" as const };
    if (!call.query.include?.includes("counts")) return { status: 200, body: { data, meta } };
    addKeys(call, subnamesKey(found.row.node));
    const counted = await withCounts(lookup, call, { data: [data], meta });
    const row = { ...data, ...counted.data[0], record_count: data.records && listRecordKeys(data).length };
    return { status: 200, body: { data: row, meta: counted.meta } };
  },
});

type OneCall = StatementCall & {
  params: { name: string };
  query: { finality: FinalityWord; namespace?: string | undefined };
};

/** The namespace of a name. Refuses another one than was asked for. */
function requireHome(lookup: LookupContext["lookup"], row: { home: number }, asked: string | undefined) {
  const home = homeOfRow(lookup.namespaces, row);
  if (asked !== undefined && !namespacesIn(lookup, asked).includes(home))
    refuse("not_found", "The index has never seen this name");
  return home;
}

/**
 * Reads the name in the path with its records, at the position that is asked for. `what`: what is read of it, in words.
 */
export async function readNameInPath(lookup: LookupContext["lookup"], call: OneCall, what: string) {
  const { params, query, current } = call;
  const read = await readNameOfPath(lookup, params.name, { ...call, withRecords: true });
  const { row } = read.found;
  const home = requireHome(lookup, row, query.namespace);
  const position = asOfWithToken(current, lookup.hashOf);
  requireLatest(query.finality, { current, chainId: home.chainId, what });
  // Records under record ids and aliases of ENSv2 are no events of a name.
  if (row.v2?.isInForce) addKeys(call, unkeyed);
  return { ...read, position };
}

const maxKeys = 200;
const keyForm = /^(addr:\d{1,19}|(text|data):[^\s,]+|avatar|contenthash|name)$/;

// The limit of `/api/resolve/records` for each kind.
const maxLive = 50;

const inventorySchema = z.strictObject({
  known_keys: z.array(z.string()),
  unset_keys: z.array(z.string()),
  unsupported_keys: z.array(z.string()),
  abi_content_types: z.array(z.string()).nullable(),
  abi_unsupported_reason: z.string().optional(),
});

/** Parameters of reads of records. */
export const recordsParameters = {
  namespace: namespaceParameter,
  keys: textParameter("keys", 10_000)
    .transform((text) => text.split(",").map((key) => key.trim()))
    .refine((keys) => keys.length <= maxKeys, { error: `keys must not name more than ${maxKeys}` })
    .refine((keys) => new Set(keys).size === keys.length, {
      error: "keys must not contain duplicate record keys",
    })
    .refine((keys) => keys.every((key) => keyForm.test(key)), {
      error:
        "keys must be addr:<coin type>, text:<key>, data:<key>, avatar, contenthash or name, with commas between",
    })
    .optional()
    .describe("Such as `addr:60,text:url,data:<key>,avatar,contenthash,name`"),
  include: includeParameter(["inventory"]).describe(
    "`inventory`: the keys that were ever set, and the content types of ABIs",
  ),
  ...snapshotParameters,
};

/** The schema of records of a name. */
export const recordsOfNameSchema = z.strictObject({
  namespace: z.string(),
  resolver: located.nullable(),
  records: z.record(z.string(), recordSchema),
  inventory: inventorySchema.optional(),
});

/** GET /v1/names/{name}/records. */
export const nameRecords = endpoint({
  ...ofLookup,
  path: "/v1/names/{name}/records",
  summary: "Records of a name",
  description: `The requested keys, or all that were ever set, as indexed. \`source=verified\` queries the chain, including CCIP-Read, for up to ${maxLive} addresses and ${maxLive} texts; \`auto\` only for keys that the index cannot resolve. More kinds of records are at \`/api/resolve/records/{name}\`.`,
  params: z.object({ name: z.string().meta({ example: "vitalik.eth" }) }),
  query: closedQuery({
    ...recordsParameters,
    source: choice("source", ["indexed", "verified", "auto"]).default("indexed"),
  }),
  answers: describeAnswers("The records by key", { data: recordsOfNameSchema }, 404, 422),
  handle: async (call, context: LookupContext & ResolveContext) =>
    answerRecords(context, call, await readNameInPath(context.lookup, call, "name records")),
});

type RecordsCall = StatementCall &
  LiveCall & {
    query: { keys?: string[] | undefined; source: string; include?: string[] | undefined };
  };

/** The response with the records of a name that was read. */
export async function answerRecords(
  context: LookupContext & ResolveContext,
  call: RecordsCall,
  { found, name, position }: Awaited<ReturnType<typeof readNameInPath>>,
) {
  const { lookup } = context;
  const { keys, source, include = [] } = call.query;
  const row = detailRow(lookup.namespaces, found, lookup.known);
  const known = [...new Set(keys ?? listRecordKeys(row))].sort();
  const fallback = findDefaultAddress(lookup.namespaces, found, lookup.known);
  const indexed = new Map(known.map((key) => [key, findRecord(row, key, { found, fallback })]));
  // `auto` asks the chain for given keys that the index cannot answer: all of them if the resolver's code is unknown.
  const isProven = isReadFromEvents(lookup, found);
  const isMissing = ([, { status }]: [string, RecordAnswer]) => status === "unsupported" || !isProven;
  const asked = source === "auto" && keys ? [...indexed].filter(isMissing).map(([key]) => key) : [];
  const wanted = source === "verified" ? known : asked;
  const live = await readLiveRecords(context, call, { name, keys: wanted });
  const records = Object.fromEntries(
    known.map((key) => {
      const answer = live.get(key) ?? indexed.get(key) ?? unset;
      const decoded = answer.value && decodeRecord(row.name, key, answer.value);
      return [key, decoded ? { ...answer, decoded } : answer];
    }),
  );
  const inventory = include.includes("inventory") ? buildInventory(row, found) : undefined;
  const data = { namespace: row.namespace, resolver: row.resolver ?? null, records, inventory };
  const isVerified = source === "verified" || wanted.length > 0;
  if (isVerified) addKeys(call, unkeyed);
  const meta = {
    ...position,
    ...(inventory && !row.records && buildUnknownInventory(inventory.abi_unsupported_reason)),
    source: isVerified ? ("verified" as const) : ("indexed" as const),
  };
  return { status: 200 as const, body: { data, meta }, isCached: !isVerified };
}

const buildUnknownInventory = (unsupported_reason = "") => ({
  completeness: "unsupported" as const,
  unsupported_fields: ["inventory"],
  unsupported_reason,
});

/** The keys of a name's records, those that no request can ask for included. */
function buildInventory(row: NameRow, found: FoundName): z.output<typeof inventorySchema> {
  const { records, status, unresolvable_reason } = row;
  const abis = records?.seen_abis;
  const isUnsupported = (key: string) =>
    !keyForm.test(key) || findRecord(row, key, { found, fallback: undefined }).status === "unsupported";
  const others = [
    ...(abis ?? []).map((type) => `abi:${type}`),
    ...(found.records?.set?.pubkeyX ? ["pubkey"] : []),
  ];
  const known_keys = records === undefined ? [] : [...listRecordKeys(row), ...others].sort();
  const isNone = status === "released" || unresolvable_reason !== undefined;
  const unknown = isNone ? "inventory_not_available" : "inventory_not_authoritative";
  return {
    known_keys,
    unset_keys: [],
    unsupported_keys: known_keys.filter(isUnsupported),
    abi_content_types: abis ?? null,
    abi_unsupported_reason: records === undefined ? unknown : records.abi_unsupported_reason,
  };
}

const unset: RecordAnswer = { status: "not_found" };
const parseAddressKey = (key: string) => BigInt(key.slice("addr:".length));

/** The chain's records by key. Keys that it cannot be asked for are `unsupported` or `failed`. */
async function readLiveRecords(
  context: ResolveContext,
  call: LiveCall,
  { name, keys }: { name: string; keys: readonly string[] },
): Promise<Map<string, RecordAnswer>> {
  if (keys.length === 0) return new Map();
  const addresses = keys.filter(isAddressKey);
  const [texts, data] = [keys.filter(isTextRecordKey), keys.filter(isDataKey)];
  if (Math.max(addresses.length, texts.length, data.length) > maxLive)
    refuse(
      "unsupported",
      `The chain is asked for at most ${maxLive} addresses, ${maxLive} texts and ${maxLive} data records: name fewer keys`,
    );
  const all = (answer: RecordAnswer) => new Map(keys.map((key) => [key, answer]));
  if (!isNormalizedName(name))
    return all({ status: "unsupported", unsupported_reason: "verified_records_not_supported" });
  const selection = {
    addresses: addresses.map(parseAddressKey),
    texts: [...new Set(texts.map(toTextKey))],
    data: data.map(toDataKey),
    contenthash: keys.includes("contenthash"),
    name: keys.includes("name"),
  };
  const found = await askChain(context, call, async (resolution) => ({
    records: await resolveRecords(resolution, { name, selection }),
  }));
  if ("failure_reason" in found) return all({ status: "failed", failure_reason: found.failure_reason });
  return new Map(keys.map((key) => [key, pickAnswer(found.records, key)]));
}

function pickAnswer({ addresses, texts, data, ...others }: Records, key: string): RecordAnswer {
  const read = () => {
    if (isAddressKey(key)) return addresses?.[String(parseAddressKey(key))];
    if (isTextRecordKey(key)) return texts?.[toTextKey(key)];
    return isDataKey(key) ? data?.[toDataKey(key)] : others[key === "name" ? "name" : "contenthash"];
  };
  const value = read();
  return value ? { status: "ok", value } : unset;
}

// Each counted name is derived.
const maxFiltered = 1_000;

// The expiry of a wrapped name that its parent controls does not end it.
const unexpired = ["names.status = 'active'", "NOT coalesce(names.expires BETWEEN 1 AND names.now, false)"];

/** GET /v1/names/{name}/subnames. */
export const subnames = endpoint({
  ...ofLookup,
  path: "/v1/names/{name}/subnames",
  summary: "Direct subnames of a name",
  description: `\`total_count\` is exact up to ${maxSubnames} subnames, without those that have expired up to ${maxFiltered}, else null. Orders other than by name read all subnames, and may time out for a name with a million.`,
  params: namePath,
  query: closedQuery({
    namespace: namespaceParameter,
    q: textParameter("q", 500).optional().describe("Text that the name contains"),
    match: choice("match", ["prefix", "contains"]).default("prefix"),
    sort: choice("sort", ["name", "expires_at", "registered_at"]).default("name"),
    order: choice("order", ["asc", "desc"]).default("asc"),
    include_expired: choice("include_expired", ["true", "false"]).default("true"),
    include: includeParameter(["counts"]).describe("`counts`: of their own subnames"),
    ...listPosition,
    ...cursorParameters,
  }),
  answers: listAnswers,
  handle: async (call, context: LookupContext) => {
    const { lookup } = context;
    const { namespace, q, match, sort, order, include_expired, include = [] } = call.query;
    const { node, found } = await readNameOfPath(lookup, call.params.name, call);
    requireHome(lookup, found.row, namespace);
    // Counts also depend on deeper subnames, so the response has the key of all.
    addKeys(call, include.includes("counts") ? keyOfAll : subnamesKey(node));
    const listing = await listPage(context, call, {
      list: ["subnames", node, q, match, sort, order, include_expired],
      isCommon: sort === "name" && order === "asc",
      isDescending: order === "desc",
      branches: (statement) => ({
        ...withText(
          branchesFrom(lookup.namespaces, `domain.parent_id = ${statement.bind(node)}`, sorts[sort]),
          statement,
          { text: q?.toLowerCase(), match },
        ),
        filters: include_expired === "true" ? [] : unexpired,
      }),
      maxCounted: include_expired === "true" ? maxSubnames : maxFiltered,
      of: { registry: found.row.v2?.subregistry ?? zeroAddress },
      show: ({ row }) => labelRow(lookup.namespaces, row),
    });
    if (!include.includes("counts")) return listing;
    return { ...listing, body: await withCounts(lookup, call, listing.body) };
  },
});

const searchQuery = closedQuery({
  q: textParameter("q", 500).meta({ example: "vita" }),
  match: choice("match", ["prefix", "contains"]).optional().describe("Default `prefix`"),
  namespace: namespaceParameter,
  status: choice("status", ["active"]).optional().describe("Omits names that have ended"),
  sort: choice("sort", ["name", "relevance"]).default("name"),
  ...listPosition,
  ...cursorParameters,
});

/** GET /v1/search. */
export const search = endpoint({
  ...ofLookup,
  path: "/v1/search",
  summary: "Names that start with a text, contain it, or are most similar to it",
  description:
    "Ordered by name, including released names. A dot at the end of `q` marks the end of a label; with `match=contains`, one at its start marks the start of a label. `sort=relevance`: names whose label is the text, then those whose label starts with it, then those one typo away.",
  query: searchQuery,
  answers: listAnswers,
  handle: async (call, context: LookupContext) => {
    const { lookup } = context;
    const { q, match = "prefix", namespace, status, sort } = call.query;
    addKeys(call, keyOfAll);
    if (namespace !== undefined && lookup.namespaces.every((home) => home.namespace !== namespace))
      refuse("invalid_input", `namespace is invalid: indexed are ${namesOfNamespaces(lookup)}`);
    if (sort === "relevance" && call.query.match !== undefined)
      refuse("invalid_input", "match has no meaning with sort=relevance");
    const text = normalizeFragment(q, match);
    const filters = [
      ...inNamespace(lookup, namespace),
      ...(status === undefined ? [] : ["names.status = 'active'"]),
    ];
    if (sort === "relevance") return listRelevant(context, call, { text, filters });
    return listPage(context, call, {
      list: ["search", text, match, namespace, status],
      isCommon: true,
      branches: (statement) => ({
        ...withText(branchesFrom(lookup.namespaces, "true", byName), statement, {
          text,
          match,
          isOfAll: true,
        }),
        rowFilters: ["octet_length(domain.name) <= 2000"],
        filters,
      }),
      show: ({ row }) => searchRow(lookup.namespaces, row),
    });
  },
});

async function listRelevant(
  { lookup }: LookupContext,
  call: StatementCall & { query: z.output<typeof searchQuery> },
  { text, filters }: { text: string; filters: readonly string[] },
) {
  const { namespace, status } = call.query;
  const list = ["relevance", text, namespace, status];
  const opened = openPage(call.query, list, relevanceTypes);
  const { bind, rows } = openStatement(lookup, call, { isCommon: true });
  const search = { text, filters, after: opened.after, limit: opened.size + 1 };
  const { shown, page } = opened.of(await rows<Listed>(relevanceSql(lookup, search, bind)));
  const data = shown.map(({ row }) => searchRow(lookup.namespaces, row));
  const meta = { ...describePosition(call.current, lookup.hashOf), ...(await namesLeftOut(lookup, call)) };
  return { status: 200 as const, body: { data, page, meta } };
}

// Normalizes the text between leading and trailing dots, which mark label boundaries.
function normalizeFragment(q: string, match: "prefix" | "contains"): string {
  const start = match === "contains" && q.startsWith(".") ? "." : "";
  const end = q.length > 1 && q.endsWith(".") ? "." : "";
  const inner = q.slice(start.length, q.length - end.length);
  return `${start}${nameIn(inner).name}${end}`;
}

const maxWindows = 32;

// `home`: its number among the given ones.
type Window = DeadlineWindow & { home?: number };

const windows = (name: string) =>
  z
    .union([z.string(), z.array(z.string())])
    .transform((given, context): Window[] => {
      const read = [given].flat().map((text, index): Window => {
        const ends = text.split("..").map((one) => Math.ceil(readTime(one.trim()) ?? Number.NaN));
        const [from = Number.NaN, to = Number.NaN] = ends.length === 2 ? ends : [];
        return { from, to, home: index };
      });
      const sorted = [...read].sort((a, b) => (a.from ?? 0) - (b.from ?? 0));
      const isApart = ({ from, to }: Window, at: number) => {
        const next = sorted[at + 1]?.from;
        return Number(from) < Number(to) && (next === undefined || Number(to) <= next);
      };
      if (read.length <= maxWindows && sorted.every(isApart)) return sorted;
      context.addIssue(`${name} must be <from>..<to>, at most ${maxWindows} times, none within another`);
      return z.NEVER;
    })
    .optional()
    .describe(`\`<from>..<to>\`, the end exclusive; up to ${maxWindows} times`);

// Conditions on a label, in characters of Unicode and of ASCII; names whose label is unknown meet none of them.
const characterSets = { digits: "^[0-9]+$", letters: "^[a-z]+$", alphanumeric: "^[a-z0-9]+$" };

const lengthParameter = (name: string) =>
  textParameter(name, 3)
    .regex(/^[1-9]\d{0,2}$/, { error: `${name} must be a number of characters, from 1 to 999` })
    .transform(Number)
    .optional();

const labelFilters = {
  min_length: lengthParameter("min_length").describe("The fewest characters that the label has"),
  max_length: lengthParameter("max_length").describe("The most characters that the label has"),
  characters: choice("characters", ["digits", "letters", "alphanumeric"])
    .optional()
    .describe("All that the label consists of: 0 to 9, a to z, or both"),
  has_avatar: choice("has_avatar", ["true"])
    .optional()
    .describe("Only names that have the text record `avatar`, without those under record ids of ENSv2"),
};

type LabelFilters = Partial<Pick<DeadlinesQuery, keyof typeof labelFilters>>;

/** Conditions on the row, and on what is derived of it, for filters of labels and pictures. */
function buildLabelConditions({ lookup }: LookupContext, asked: LabelFilters) {
  const { min_length, max_length, characters, has_avatar } = asked;
  checkOrder({ min_length, max_length });
  if (has_avatar) requireRecords(lookup, "has_avatar");
  const length = "char_length(domain.label_name)";
  return {
    rowFilters: [
      ...(min_length === undefined ? [] : [`${length} >= ${min_length}`]),
      ...(max_length === undefined ? [] : [`${length} <= ${max_length}`]),
      ...(characters === undefined ? [] : [`domain.label_name ~ '${characterSets[characters]}'`]),
    ],
    filters: has_avatar
      ? [
          "EXISTS (SELECT FROM resolver_text_records t WHERE t.chain_id = names.chain AND t.address = names.resolver AND t.node = names.node AND t.key = 'avatar')",
        ]
      : [],
  };
}

const deadlinesQuery = closedQuery({
  ...labelFilters,
  namespace: textParameter("namespace", 60).describe(namespacesText),
  expires_after: windowEnd("expires_after", "inclusive"),
  expires_before: windowEnd("expires_before", "exclusive"),
  expires_window: windows("expires_window"),
  grace_ends_after: windowEnd("grace_ends_after", "inclusive"),
  grace_ends_before: windowEnd("grace_ends_before", "exclusive"),
  grace_ends_window: windows("grace_ends_window"),
  authority: authorityParameter,
  record_key_prefix: textParameter("record_key_prefix", 500)
    .refine((text) => text.startsWith(agentKeys), { error: `record_key_prefix must begin with ${agentKeys}` })
    .optional()
    .meta({
      description:
        "Instead of a window: names with a text record of an agent (ENSIP-25, ENSIP-26) whose key has this prefix, by name",
      example: "agent-endpoint[mcp]",
    }),
  class: textParameter("class", 100)
    .regex(/^[A-Za-z]+$/, { error: "class must be one word of the letters A to Z and a to z (ENSIP-27)" })
    .optional()
    .meta({
      description: "Instead of a window: names whose text record `class` is this word (ENSIP-27), by name",
      example: "Agent",
    }),
  parent: textParameter("parent", 500).optional().describe("Only its direct subnames"),
  sort: choice("sort", ["expires_at", "grace_ends_at", "name"])
    .optional()
    .describe("The deadline of the window; `name` with `record_key_prefix` and `class`"),
  order: choice("order", ["asc", "desc"]).default("asc"),
  ...listPosition,
  ...cursorParameters,
});

type DeadlinesQuery = z.output<typeof deadlinesQuery>;

const notOneWindow = "Give expires_after or expires_before, or expires_window, or the same of grace_ends";

// Exactly one kind of deadline, as a range or as windows.
function listWindows(asked: DeadlinesQuery) {
  const families = (["expires", "grace_ends"] as const).flatMap((kind) => {
    const { [`${kind}_after` as const]: from, [`${kind}_before` as const]: to } = asked;
    checkOrder({ [`${kind}_after`]: from, [`${kind}_before`]: to });
    const range: Window = { from, to };
    const windows = asked[`${kind}_window`];
    return [
      ...(from === undefined && to === undefined ? [] : [{ kind, windows: [range] }]),
      ...(windows ? [{ kind, windows, member: `${kind}_window_index` as const }] : []),
    ];
  });
  const [family] = families;
  if (family === undefined || families.length > 1) return refuse("invalid_input", notOneWindow);
  if (asked.sort !== undefined && asked.sort !== `${family.kind}_at`)
    refuse("invalid_input", "sort must be the deadline that the window is of");
  return { ...family, isGrace: family.kind === "grace_ends" };
}

function listNamesByRecord(
  context: LookupContext,
  call: StatementCall & { query: DeadlinesQuery },
  condition: RecordCondition,
) {
  const { lookup } = context;
  const { namespace, parent, authority, order, sort = "name", ...others } = call.query;
  const parameter = "prefix" in condition ? "record_key_prefix" : "class";
  const isNarrowed = Object.entries(others).some(
    ([key, value]) =>
      (/^(expires|grace_ends)_/.test(key) || Object.hasOwn(labelFilters, key)) && value !== undefined,
  );
  if (isNarrowed || sort !== "name")
    refuse("invalid_input", `${parameter} goes without a window or filters of labels, and sorts by name`);
  requireRecords(lookup, parameter);
  addKeys(call, keyOfAll);
  const namespaces = lookup.namespaces.filter((home) => home.namespace === namespace);
  const node = parent === undefined ? undefined : nameIn(parent).node;
  return listPage(context, call, {
    list: [
      "prefix" in condition ? "agents" : "class",
      namespace,
      parent,
      authority,
      order,
      ...Object.values(condition),
    ],
    isCommon: false,
    isDescending: order === "desc",
    branches: (statement) => ({
      branches: [namesByRecord(lookup.namespaces, statement, condition)],
      filters: [...inNamespace(lookup, namespace), ...ofAuthority(authority, namespaces)],
      rowFilters: node === undefined ? [] : [`domain.parent_id = ${statement.bind(node)}`],
    }),
    show: ({ row }) => listRow(lookup.namespaces, row),
  });
}

/** GET /v1/names: deadlines. */
export const deadlineNames = endpoint({
  ...ofLookup,
  path: "/v1/names",
  summary: "Names whose expiry or grace period ends in a window, or names with agent records or of a class",
  description:
    "Ordered by deadline. Give a window of expiries or of ends of grace, or up to 32 of one kind. Names that have ended are included; names without a date are not. Filters of labels and pictures read names in order until the page is full, and may time out where few names match. Or give `record_key_prefix` or `class`.",
  query: deadlinesQuery,
  answers: describeAnswers("A page of names, possibly empty", pageShape(rowSchema), 404, 422),
  handle: async (call, context: LookupContext) => {
    const { lookup } = context;
    const { query: asked, current } = call;
    const { namespace, parent, authority, order, min_length, max_length, characters, has_avatar } = asked;
    const byLabel = { min_length, max_length, characters, has_avatar };
    const isByLabel = Object.values(byLabel).some((one) => one !== undefined);
    const conditions = buildLabelConditions(context, byLabel);
    const { record_key_prefix: prefix, class: kind } = asked;
    if (prefix !== undefined && kind !== undefined)
      refuse("invalid_input", "Give record_key_prefix or class, not both");
    if (prefix !== undefined) return listNamesByRecord(context, call, { prefix });
    if (kind !== undefined) return listNamesByRecord(context, call, { class: kind });
    const { isGrace, windows, member } = listWindows(asked);
    addKeys(call, keyOfAll);
    const list = [
      "deadlines",
      namespace,
      parent,
      authority,
      order,
      isGrace,
      windows,
      ...(isByLabel ? [byLabel] : []),
    ];
    const types = deadlineOrder(0).map(({ type }) => type);
    const opened = openPage(asked, list, types);
    const ofNamespace = inNamespace(lookup, namespace);
    const namespaces = lookup.namespaces.filter((home) => home.namespace === namespace);
    const node = parent === undefined ? undefined : nameIn(parent).node;
    const isDescending = order === "desc";
    const of = { namespace, isGrace, isDescending, only: { parent: node } };
    const found: (Listed & { home: number | undefined })[] = [];
    // Windows do not overlap, so the names of each follow those of the one before.
    for (const window of isDescending ? [...windows].reverse() : windows) {
      if (found.length > opened.size) break;
      const isCommon = !isDescending && authority === undefined && !isByLabel;
      const statement = openStatement(lookup, call, { isCommon });
      const sql = listSql(lookup.namespaces, {
        branches: deadlineBranches(lookup.namespaces, statement, { ...of, window }),
        filters: [...ofNamespace, ...ofAuthority(authority, namespaces), ...conditions.filters],
        rowFilters: [
          ...(node === undefined ? [] : [`domain.parent_id = ${statement.bind(node)}`]),
          ...conditions.rowFilters,
        ],
        after: opened.after?.map(statement.bind),
        isDescending,
        limit: chooseLimit(opened.size - found.length),
      });
      const rows = await statement.rows<Listed>(sql);
      found.push(...rows.map((row) => ({ ...row, home: window.home })));
    }
    const { shown, page } = opened.of(found);
    const data = shown.map(({ row, home: index }) => ({
      ...listRow(lookup.namespaces, row),
      ...(member === undefined ? {} : { [member]: index }),
    }));
    const meta = { ...describePosition(current, lookup.hashOf), ...(await namesLeftOut(lookup, call)) };
    return { status: 200, body: { data, page, meta } };
  },
});
