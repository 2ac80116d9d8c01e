import { z } from "zod/v4";
import { planOnce } from "../database/client.ts";
import { asOf, asOfWithToken, closedQuery, metaSchema, openPage, refuse } from "../names/contract.ts";
import {
  anywhereIn,
  type Binder,
  type Branch,
  beginsWith,
  binder,
  branchesFrom,
  byExpiry,
  byName,
  byNumber,
  choice,
  countSql,
  includeParameter,
  inNamespace,
  type LookupContext,
  listAnswer,
  listPage,
  nameIn,
  namespaceParameter,
  notFoundAnswer,
  ofLookup,
  readNameOfPath,
  type TextAnywhere,
  textParameter,
} from "../names/lists.ts";
import { readCount } from "../names/lookups.ts";
import { type Place, placeOfRow, timesOf } from "../names/places.ts";
import { detailRow, type Row, rowSchema, searchRow, subnameRow } from "../names/rows.ts";
import { readRelevant, relevanceTypes } from "../names/search.ts";
import { endpoint } from "../rest/endpoint.ts";
import { cursorParameters } from "../rest/pages.ts";
import type { CurrentStatus } from "../status/status-source.ts";

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
    "Who holds and who manages a name, until when, its wrapper state, resolver and records, as of the last indexed block.",
  hasTags: true,
  params: namePath,
  query: closedQuery({
    namespace: namespaceParameter,
    include: includeParameter(["counts"]),
    source: choice("source", ["indexed"]).optional(),
  }),
  answers: {
    200: { description: "The name", schema: z.strictObject({ data: rowSchema, meta: metaSchema }) },
    404: notFoundAnswer,
  },
  handle:
    ({ lookup }: LookupContext) =>
    async ({ params, query, current, request }) => {
      const { places, known, hashOf } = lookup;
      inNamespace(lookup, query.namespace);
      const { found, node } = await readNameOfPath(lookup, params.name, {
        current,
        request,
        withRecords: true,
      });
      if (query.namespace !== undefined && placeOfRow(places, found.row).namespace !== query.namespace)
        return refuse("not_found", "The index never saw this name");
      const row = detailRow(places, found, known);
      const data = query.include?.includes("counts")
        ? {
            ...row,
            ...countsOf(row),
            ...(await subnameCount({ lookup, current }, node, request.raw.signal)),
          }
        : row;
      const meta = { ...asOfWithToken(current, hashOf), source: "indexed" as const };
      return { status: 200, body: { data, meta }, isCached: true };
    },
});

function countsOf({ records }: Row) {
  if (records === undefined) return {};
  const { seen_addresses, seen_texts, seen_singletons } = records;
  return { record_count: seen_addresses.length + seen_texts.length + seen_singletons.length };
}

const mostCounted = 1_000;

// Of a name with more it is left out.
async function subnameCount(
  { lookup, current }: LookupContext & { current: CurrentStatus },
  node: string,
  signal: AbortSignal,
) {
  const statement = binder(timesOf(lookup.places, current));
  const branches = branchesFrom(lookup.places, `d.parent_id = ${statement.bind(node)}`, byName);
  const sql = planOnce(countSql(lookup.places, { branches, filters: [] }, mostCounted));
  const count = await readCount(lookup, { sql, values: statement.values }, mostCounted, signal);
  return count === null ? {} : { subname_count: count };
}

/** GET /v1/names/{name}/subnames. */
export const subnames = endpoint({
  ...ofLookup,
  path: "/v1/names/{name}/subnames",
  summary: "Direct subnames of a name",
  description: `\`total_count\` is exact up to ${mostCounted} subnames, else null. Orders other than that by name read all subnames: of a name with a million they may take too long.`,
  params: namePath,
  query: closedQuery({
    q: textParameter("q", 500).optional().meta({ description: "Text in the name" }),
    match: choice("match", ["prefix", "contains"]).default("prefix"),
    sort: choice("sort", ["name", "expires_at", "registered_at"]).default("name"),
    order: choice("order", ["asc", "desc"]).default("asc"),
    include_expired: choice("include_expired", ["true", "false"]).default("true"),
    ...cursorParameters,
  }),
  answers: { 200: listAnswer, 404: notFoundAnswer },
  handle: (context: LookupContext) => async (call) => {
    const { lookup } = context;
    const { q, match, sort, order, include_expired } = call.query;
    const { node } = await readNameOfPath(lookup, call.params.name, call);
    const sorted = {
      name: byName,
      expires_at: byExpiry,
      registered_at: byNumber("names.registered"),
    };
    return listPage(context, call, {
      list: ["subnames", node, q, match, sort, order, include_expired],
      isCommon: sort === "name" && order === "asc",
      isDescending: order === "desc",
      branches: (statement) => ({
        ...named(lookup.places, {
          where: `d.parent_id = ${statement.bind(node)}`,
          order: sorted[sort],
          text:
            q === undefined
              ? undefined
              : textOf(statement, q.toLowerCase(), { match, isFirst: sort === "name", isOfAll: false }),
        }),
        filters: include_expired === "true" ? [] : ["names.status = 'active'"],
      }),
      mostCounted,
      show: ({ row }) => subnameRow(lookup.places, row),
    });
  },
});

const searchQuery = closedQuery({
  q: textParameter("q", 500).meta({ example: "vita" }),
  match: choice("match", ["prefix", "contains"]).optional().meta({ description: "Default `prefix`" }),
  namespace: namespaceParameter,
  status: choice("status", ["active"]).optional().meta({ description: "Leaves out names that have ended" }),
  sort: choice("sort", ["name", "relevance"]).default("name"),
  ...cursorParameters,
});

type SearchCall = { query: z.output<typeof searchQuery>; current: CurrentStatus; request: { raw: Request } };

/** GET /v1/search. */
export const search = endpoint({
  ...ofLookup,
  path: "/v1/search",
  summary: "Names that begin with a text, contain it, or are nearest to it",
  description:
    "In the order of names, released ones included. A dot at the end of `q` is the end of a label; one at its begin, with `match=contains`, the start of one. `sort=relevance`: names whose label is the text, then those whose label begins with it, then those one typing error away.",
  query: searchQuery,
  answers: { 200: listAnswer, 404: notFoundAnswer },
  handle: (context: LookupContext) => async (call) => {
    if (call.query.sort === "relevance") return relevant(context, call);
    const { lookup } = context;
    const { q, match = "prefix", namespace, status } = call.query;
    const text = fragmentOf(q, match);
    const ofNamespace = inNamespace(lookup, namespace);
    return listPage(context, call, {
      list: ["search", text, match, namespace, status],
      isCommon: true,
      branches: (statement) => ({
        ...named(lookup.places, {
          where: "true",
          order: byName,
          text: textOf(statement, text, { match, isFirst: true, isOfAll: true }),
        }),
        rowFilters: ["octet_length(d.name) <= 2000"],
        filters: [...ofNamespace, ...(status === undefined ? [] : ["names.status = 'active'"])],
      }),
      show: ({ row }) => searchRow(lookup.places, row),
    });
  },
});

async function relevant({ lookup }: LookupContext, { query: asked, current, request }: SearchCall) {
  const { q, match, namespace, status } = asked;
  if (match !== undefined) refuse("invalid_input", "match has no meaning with sort=relevance");
  const text = fragmentOf(q, "prefix");
  const opened = openPage(asked, ["relevance", text, namespace, status], relevanceTypes);
  const rows = await readRelevant(
    lookup,
    {
      text,
      times: timesOf(lookup.places, current),
      filters: [
        ...inNamespace(lookup, namespace),
        ...(status === undefined ? [] : ["names.status = 'active'"]),
      ],
      after: opened.after,
      limit: opened.size + 1,
    },
    request.raw.signal,
  );
  const { shown, page } = opened.of(rows);
  const data = shown.map(({ row }) => searchRow(lookup.places, row));
  return { status: 200 as const, body: { data, page, meta: asOf(current, lookup.hashOf) } };
}

// A condition on the text of names. `isFirst`: one that may be anywhere in the name is looked for in the order of names first.
function textOf(
  { bind }: Binder,
  text: string,
  { match, isFirst, isOfAll }: { match: "prefix" | "contains"; isFirst: boolean; isOfAll: boolean },
): string | TextAnywhere {
  if (match === "prefix") return beginsWith(bind, text)();
  const anywhere = anywhereIn(bind, text, { isOfAll });
  return isFirst ? anywhere : anywhere.text;
}

/** Branches of names under a condition, and one on their text. */
function named(
  places: readonly Place[],
  { where, order, text }: { where: string; order: Branch["order"]; text?: string | TextAnywhere | undefined },
) {
  if (typeof text === "string") return { branches: branchesFrom(places, `${where} AND ${text}`, order) };
  return { branches: branchesFrom(places, where, order), ...(text ? { contains: text } : {}) };
}

// The text between the dots that stand for borders of labels, normalised.
function fragmentOf(q: string, match: "prefix" | "contains"): string {
  const start = match === "contains" && q.startsWith(".") ? "." : "";
  const end = q.length > 1 && q.endsWith(".") ? "." : "";
  const inner = q.slice(start.length, q.length - end.length);
  return `${start}${nameIn(inner).name}${end}`;
}
