import { z } from "zod/v4";
import { isNode } from "../../ens/given-names.ts";
import { namehash } from "../../ens/names.ts";
import {
  anyCaseAddress,
  bytes32Parameter,
  choice,
  closedQuery,
  textParameter,
  timeParameter,
  wordsParameter,
} from "../../ens/parameters.ts";
import { formatFeedId, healedSchema, readFeed, revertedSchema } from "../../feed/read.ts";
import { type FeedContext, feedParameters, openPlace, parseFinality } from "../../feed/request.ts";
import { describePosition, metaSchema } from "../../read/as-of.ts";
import { entrySchema, type StoredEntry, toEntry } from "../../read/events/entries.ts";
import {
  buildValueConditions,
  given,
  inByteOrder,
  inNamespaceOf,
  onChain,
} from "../../read/events/entry-conditions.ts";
import {
  buildEntryFilter,
  buildFilteredParts,
  chooseKinds,
  entryParameters,
  entryWords,
  resolveNodes,
  scopes,
} from "../../read/events/entry-filters.ts";
import { type HistoryQuery, historyCountSql, historyOrder, historySql } from "../../read/events/history.ts";
import { partsOfChildren, partsOfEvents, partsOfName } from "../../read/events/parts.ts";
import {
  entriesOfHeldNames,
  type Holding,
  heldNamesSql,
  maxHeldNames,
  partsOfAddress,
} from "../../read/events/parts-of-address.ts";
import { addKeys, keyOfAll, keysOfAddress, keysOfName, subnamesKey } from "../../read/names/cache-keys.ts";
import { homeOfRow } from "../../read/names/indexed-namespaces.ts";
import { readNameOfPath } from "../../read/names/lookups.ts";
import { nameIn, namespaceParameter, namespacesIn } from "../../read/names/scopes.ts";
import {
  type Binder,
  type LookupContext,
  openStatement,
  type StatementCall,
} from "../../read/names/source.ts";
import { refuse } from "../../read/refusal.ts";
import { listSortTypes } from "../../read/sql/keyset.ts";
import { endpoint } from "../kit/endpoint.ts";
import { cursorPageSchema, cursorParameters } from "../kit/paging.ts";
import { errorSchema, listPosition, openPage } from "./contract.ts";
import { notFoundAnswer, ofLookup } from "./lists.ts";
import { includeParameter } from "./parameters.ts";

const time = (name: string) => timeParameter(name).optional().describe("Unix seconds or RFC 3339, inclusive");

const historyParameters = {
  ...entryWords,
  order: choice("order", ["desc", "asc"]).default("desc"),
  from_timestamp: time("from_timestamp"),
  to_timestamp: time("to_timestamp"),
  include: includeParameter(["data", "raw", "total_count"]).describe(
    "`data`: what each entry changed; `raw`: its event; `total_count`",
  ),
  ...listPosition,
  ...cursorParameters,
};

const ownParameters = {
  ...historyParameters,
  namespace: namespaceParameter,
  scope: choice("scope", scopes)
    .default("both")
    .describe("Entries of the name, of its registrations, or both"),
};

const nameQuery = closedQuery({
  ...ownParameters,
  include: includeParameter(["data", "raw", "total_count", "child_registrations"]).describe(
    "`data`: what each entry changed; `raw`: its event; `total_count`; `child_registrations`: also registrations of direct subnames in ENSv2, distinguished by `subject`; not for `eth` and other names below which a registrar registers names",
  ),
});

const holdings = ["owner", "manager", "role_holder"] as const satisfies readonly Holding[];

const addressQuery = closedQuery({
  ...ownParameters,
  relation: wordsParameter("relation", ["any", ...holdings])
    .refine((words) => words.length > 0, {
      error: "relation must name one of any, owner, manager, role_holder",
    })
    .transform((words) => holdings.filter((one) => words.includes("any") || words.includes(one)))
    .optional()
    .describe(
      `All entries of the names with this relation, of the newest ${maxHeldNames}; by default what it received itself. \`role_holder\` adds its roles on whole registries`,
    ),
});

const historyAnswer = {
  description: "A page of entries, possibly empty",
  schema: z.strictObject({ data: z.array(entrySchema), page: cursorPageSchema, meta: metaSchema }),
};

type HistoryCall = StatementCall & {
  query: Omit<z.output<z.ZodObject<typeof historyParameters>>, "include" | "finality"> & {
    scope?: (typeof scopes)[number];
    include?: readonly string[] | undefined;
  };
};

/** The subject of a history. `list`: what its cursors belong to besides the common parameters. */
type HistorySubject = {
  list: readonly unknown[];
  /** The parts with the requested kinds of events, and further conditions, with bound values. */
  find: (
    statement: Binder,
    kinds: HistoryQuery["kinds"],
  ) => Pick<HistoryQuery, "parts"> & Partial<HistoryQuery>;
  /** Whether entries are counted even without `include`. */
  isCounted?: boolean;
  /** Why entries that are asked for are left out, as one word. */
  lacks?: string | undefined;
  /** The name whose entries are told apart from those of its subnames. */
  parent?: string | undefined;
};

const maxCounted = 10_000;

async function readHistoryPage(
  { lookup }: LookupContext,
  call: HistoryCall,
  { list: subject, find, isCounted = false, lacks, parent }: HistorySubject,
) {
  const { query: asked, current } = call;
  const { order, include = [], type, exclude_type, kind, record_key, from_timestamp, to_timestamp } = asked;
  checkOrder({ from_timestamp, to_timestamp });
  const { scope = "both" } = asked;
  const filters = [type, exclude_type, kind, record_key, order, from_timestamp, to_timestamp, scope];
  const opened = openPage(asked, ["history", ...subject, ...filters], listSortTypes(historyOrder("p")));
  // Combinations of kinds are many; most requests ask for all kinds or for one type.
  const isCommon = [type?.[1], exclude_type, kind].every((one) => one === undefined);
  const statement = openStatement(lookup, call, { isCommon });
  const kinds = chooseKinds(asked);
  const { conditions = [], ...found } = find(statement, kinds);
  const history = { ...found, kinds, conditions: [...conditions, ...buildValueConditions(asked, statement)] };
  // A statement must use each of its values, and not every history uses the times.
  const timed = (sql: string) => `WITH times AS (SELECT $1::bigint[]) ${sql}`;
  const total =
    isCounted || include.includes("total_count")
      ? statement.count(timed(historyCountSql(history, maxCounted)), maxCounted)
      : null;
  const after = opened.after?.map(statement.bind);
  const slice = { after, isDescending: order === "desc", limit: opened.limit };
  const sql = timed(historySql(history, slice, lookup.namespaces));
  const { shown, page } = opened.of(...(await Promise.all([statement.rows<StoredEntry>(sql), total])));
  const members = { hasData: include.includes("data"), hasKind: include.includes("raw") };
  const subjectOf = ({ node }: StoredEntry) =>
    parent === undefined ? {} : { subject: node === parent ? ("name" as const) : ("child" as const) };
  const data = shown.map((entry) => ({ ...toEntry(entry, lookup.namespaces, members), ...subjectOf(entry) }));
  const partial = {
    completeness: "partial" as const,
    unsupported_fields: ["data"],
    unsupported_reason: lacks,
  };
  const meta = { ...describePosition(current, lookup.hashOf), ...(lacks === undefined ? {} : partial) };
  return { status: 200 as const, body: { data, page, meta } };
}

/** Refuses a start beyond the end. */
export function checkOrder(bounds: Readonly<Record<string, number | string | undefined>>) {
  const [[start, from] = [], [end, to] = []] = Object.entries(bounds);
  if (from !== undefined && to !== undefined && Number(from) > Number(to))
    refuse("invalid_input", `${start} must be less than or equal to ${end}`);
}

const baseNode = namehash("base.eth");

/** GET /v1/names/{name}/history. */
export const nameHistory = endpoint({
  ...ofLookup,
  path: "/v1/names/{name}/history",
  summary: "What happened to a name",
  description:
    "Registrations, renewals, releases, transfers, owners, resolvers and records, newest first. Releases follow from dates and have no transaction.",
  params: z.object({ name: z.string().meta({ example: "vitalik.eth" }) }),
  query: nameQuery,
  answers: { 200: historyAnswer, 404: notFoundAnswer },
  handle: async (call, context: LookupContext) => {
    const { lookup } = context;
    const { namespaces } = lookup;
    const { namespace, include } = call.query;
    namespacesIn(lookup, namespace);
    const { node, found } = await readNameOfPath(lookup, call.params.name, call);
    if (namespace !== undefined && homeOfRow(namespaces, found.row).namespace !== namespace)
      return refuse("not_found", "The index has never seen this name");
    const hasChildren = include?.includes("child_registrations") ?? false;
    if (hasChildren) addKeys(call, subnamesKey(node));
    if (hasChildren && (node === baseNode || namespaces.some(({ leases }) => leases === node)))
      return refuse("invalid_input", "include=child_registrations is not supported for this name");
    return readHistoryPage(context, call, {
      list: [node, hasChildren],
      parent: hasChildren ? node : undefined,
      find: ({ bind }) => {
        const bound = inByteOrder(bind(node));
        const children = hasChildren ? partsOfChildren(bound, namespaces) : [];
        return { parts: [...partsOfName(bound, namespaces), ...children] };
      },
      isCounted: true,
    });
  },
});

/** GET /v1/addresses/{address}/history. */
export const addressHistory = endpoint({
  ...ofLookup,
  path: "/v1/addresses/{address}/history",
  summary: "What an address received, and its primary names",
  description:
    "Names that it registered, names and roles that were transferred to it, and primary names that it set or cleared, newest first. With `relation`, all entries of those names.",
  params: z.object({ address: anyCaseAddress("address") }),
  query: addressQuery,
  answers: { 200: historyAnswer, 404: notFoundAnswer },
  handle: async (call, context: LookupContext) => {
    const { namespaces } = context.lookup;
    const { namespace, relation } = call.query;
    const { address } = call.params;
    namespacesIn(context.lookup, namespace);
    addKeys(call, ...keysOfAddress(namespaces, address));
    const held = relation && (await readHeldNames(context, call, { address, holdings: relation }));
    return readHistoryPage(context, call, {
      list: [address, namespace, relation],
      isCounted: true,
      lacks: held?.isCut ? "too_many_names" : undefined,
      find: ({ bind }, kinds) => {
        const bound = inByteOrder(bind(address));
        const hasRoots = relation?.includes("role_holder") ?? false;
        return {
          ...(held
            ? entriesOfHeldNames(
                { address: bound, nodes: bind(`{${held.nodes.join()}}`), hasRoots },
                namespaces,
              )
            : { parts: partsOfAddress(bound, namespaces, kinds) }),
          conditions: given(namespace, (one) => inNamespaceOf(one, namespaces)),
        };
      },
    });
  },
});

const blockPath = z.object({
  block: textParameter("block", 30)
    .regex(/^[1-9]\d{0,14}:\d{1,9}$/, { error: "block must be <chain id>:<number>" })
    .meta({ description: "`<chain id>:<number>`", example: "1:19000000" }),
});

const blockQuery = closedQuery({
  ...historyParameters,
  transaction_hash: bytes32Parameter("transaction_hash")
    .optional()
    .meta({ description: "Only entries of this transaction of the block" }),
});

/** GET /v1/blocks/{block}. */
export const blockHistory = endpoint({
  ...ofLookup,
  path: "/v1/blocks/{block}",
  summary: "Name events of a block or of one of its transactions",
  description:
    "Entries as in histories, without releases, which have no block. A transaction cannot be found by its hash alone, so its block is required.",
  params: blockPath,
  query: blockQuery,
  answers: { 200: historyAnswer, 404: notFoundAnswer },
  handle: async (call, context: LookupContext & { config: { isSubgraphCompatible: boolean } }) => {
    const { namespaces } = context.lookup;
    const [chain = "", block = ""] = call.params.block.split(":");
    const chains = namespaces.flatMap((home) => [home.chainId, ...home.reverseRegistrars.keys()]);
    if (!chains.includes(Number(chain))) refuse("not_found", `Chain ${chain} is not indexed`);
    addKeys(call, keyOfAll);
    const { transaction_hash } = call.query;
    // Ids of events begin with their place, so that the primary keys find them: `-` sorts before `.`.
    const start = `${context.config.isSubgraphCompatible ? "" : `${chain}-`}${Number(block)}`;
    const where = `e.id >= '${start}-' AND e.id < '${start}.'`;
    return readHistoryPage(context, call, {
      list: ["block", start, transaction_hash],
      isCounted: true,
      find: ({ bind }) => ({
        parts: partsOfEvents(namespaces, where, { isNamed: true }),
        conditions: given(transaction_hash, (one) => `transaction_id = ${bind(one)}`),
      }),
    });
  },
});

/** The names that an address holds or held. `isCut`: whether there may be more. */
async function readHeldNames(
  { lookup }: LookupContext,
  call: StatementCall,
  { address, holdings }: { address: string; holdings: readonly Holding[] },
) {
  const statement = openStatement(lookup, call, { isCommon: true });
  const sql = heldNamesSql(inByteOrder(statement.bind(address)), holdings, lookup.namespaces);
  const [found] = await statement.rows<{ max: number; nodes: string[] }>(sql);
  const { max = 0, nodes = [] } = found ?? {};
  return { nodes: nodes.slice(0, maxHeldNames), isCut: Math.max(max, nodes.length) > maxHeldNames };
}

const block = (name: string) =>
  textParameter(name, 20)
    .regex(/^\d{1,9}$/, { error: `${name} must be the number of a block` })
    .optional()
    .describe("Number of a block of one chain, inclusive");

const registrationParameter = textParameter("registration_id", 120)
  .regex(/^[1-9]\d{0,14}-0x[0-9a-f]{64}-(\d{1,10}|wrapper|registry)$/, {
    error: "registration_id must be one that a row of a name gave",
  })
  .transform((text) => {
    const [chain = "", node = "", since = ""] = text.split("-");
    const emitter = (["wrapper", "registry"] as const).find((one) => one === since);
    return { chainId: Number(chain), node, emitter, since };
  });

const eventsQuery = closedQuery({
  ...historyParameters,
  ...entryParameters,
  ...feedParameters,
  registration_id: registrationParameter.optional().describe("From a row of a name"),
  from_block: block("from_block"),
  to_block: block("to_block"),
});

type EventsQuery = z.output<typeof eventsQuery>;

const feedAnswer = {
  ...historyAnswer,
  schema: historyAnswer.schema.extend({
    data: z.array(
      entrySchema.extend({
        keys: z.array(z.string()).optional().describe("With `after`: docs/events.md"),
      }),
    ),
    reverted: z
      .array(revertedSchema)
      .optional()
      .describe("With `after`: entries that reorganizations reverted before these"),
    healed: z.array(healedSchema).optional().describe("With `after`: names whose labels have become known"),
  }),
};

const notBegunAnswer = { description: "The feed has not started", schema: errorSchema };

const withAfter = new Set(["after", "finality", "page_size", "include", ...Object.keys(entryParameters)]);

// A page of the feed. It ends before a reversal that follows an entry, so that all of its reversals come first.
async function readEventsAfter(
  id: string,
  call: StatementCall & { query: EventsQuery },
  context: FeedContext,
) {
  const { query, current, request } = call;
  const { lookup, feed } = context;
  for (const name of new URL(request.raw.url).searchParams.keys())
    if (!withAfter.has(name)) refuse("invalid_input", `${name} cannot be given with after`);
  const filter = buildEntryFilter(query, context);
  const { signal } = request.raw;
  const { state, place } = await openPlace(context, id, signal);
  if (place === undefined || place === "gone")
    return refuse("stale", "after: the event of this id is not in the index that is served now; begin anew");
  const asked = { state, filter, finality: parseFinality(query.finality), limit: query.page_size };
  const found = await readFeed(feed.source, place, asked, signal);
  const from = found.messages.findIndex(({ event }) => event === "event");
  const later = found.messages.findIndex(({ event }, at) => from !== -1 && at > from && event === "reverted");
  const shown = later === -1 ? found.messages : found.messages.slice(0, later);
  const next = later === -1 ? formatFeedId(found.end) : (shown.at(-1)?.id ?? id);
  const has_more = later !== -1 || !found.isAtEnd;
  const page = { cursor: id, next_cursor: next, page_size: query.page_size, total_count: null, has_more };
  const data = shown.flatMap((message) => (message.event === "event" ? [message.data] : []));
  const reverted = shown.flatMap((message) => (message.event === "reverted" ? [message.data] : []));
  const healed = shown.flatMap((message) => (message.event === "healed" ? [message.data] : []));
  const body = { data, reverted, healed, page, meta: describePosition(current, lookup.hashOf) };
  // A page that had no message yet would hold the next ones up.
  return { status: 200 as const, body, isCached: false };
}

/** GET /v1/events. */
export const events = endpoint({
  ...ofLookup,
  path: "/v1/events",
  summary: "Events of all names or of some",
  description:
    "Entries as in histories, newest first. Filters narrow each other. Blocks are of one chain, identified by `namespace`, `resolver` or `registration_id`. Releases are listed with `name` or `registration_id`. With `after`, entries are in the order of `/v1/events/stream`.",
  query: eventsQuery,
  answers: { 200: feedAnswer, 404: notFoundAnswer, 503: notBegunAnswer },
  handle: (call, context: FeedContext) => {
    if (call.query.after !== undefined) return readEventsAfter(call.query.after, call, context);
    if (call.query.finality !== "latest")
      refuse("invalid_input", "finality must be latest because collection routes read latest state");
    const { namespace, chain_id, registration_id, resolver, from_block, to_block, type } = call.query;
    const { namespaces } = context.lookup;
    const within = namespacesIn(context.lookup, namespace);
    const chains = [resolver?.chainId, registration_id?.chainId, chain_id].filter((one) => one !== undefined);
    const [chain, ...others] = new Set(chains.length > 0 ? chains : within.map(({ chainId }) => chainId));
    const hasBlocks = (from_block ?? to_block) !== undefined;
    if (hasBlocks && (chain === undefined || (chains.length === 0 && others.length > 0)))
      refuse("invalid_input", "from_block and to_block need chain_id, a namespace on one chain, or resolver");
    checkOrder({ from_block, to_block });
    const { node, parent } = resolveNodes(call.query, context);
    const isOfName = node !== undefined || registration_id !== undefined;
    if (!isOfName && type?.every((one) => one === "release"))
      refuse("invalid_input", "type=release needs name or registration_id; /v1/names lists ends of grace");
    const { name, address, contract_address } = call.query;
    // The response has the keys of its narrowest filter.
    if (name !== undefined) addKeys(call, ...(isNode(name) ? [keyOfAll] : keysOfName(nameIn(name).name)));
    else if (address !== undefined) addKeys(call, ...keysOfAddress(namespaces, address));
    else addKeys(call, parent === undefined ? keyOfAll : subnamesKey(parent));
    const filters = [namespace, chain_id, node, parent, address, resolver, registration_id, contract_address];
    return readHistoryPage(context, call, {
      list: ["events", ...filters, from_block, to_block],
      isCounted: isOfName || resolver !== undefined,
      lacks: resolver && "resolver_pointer_events_not_listed",
      find: (statement, kinds) => {
        const { conditions, ...found } = buildFilteredParts(
          { ...call.query, node, parent },
          { statement, kinds, namespaces },
        );
        const ofBlocks = [
          ...given(hasBlocks ? chain : undefined, (one) => onChain(one, namespaces)),
          ...given(from_block, (block) => `block_number >= ${statement.bind(block)}::int`),
          ...given(to_block, (block) => `block_number <= ${statement.bind(block)}::int`),
        ];
        return { ...found, conditions: [...conditions, ...ofBlocks] };
      },
    });
  },
});
