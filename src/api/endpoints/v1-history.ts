import { z } from "zod/v4";
import {
  asOf,
  closedQuery,
  cursorOf,
  cursorParameter,
  lookupEnvelope,
  metaSchema,
  paged,
  pageSchema,
  pageSize,
  readCursor,
  refuse,
} from "../lookup/contract.ts";
import {
  entryOf,
  entrySchema,
  type HistoryType,
  historyOrderTypes,
  historySql,
  historyTypes,
  partsOfAddress,
  partsOfName,
  type StoredEntry,
} from "../lookup/history.ts";
import {
  choice,
  type LookupContext,
  nameIn,
  needsNames,
  notFoundAnswer,
  textParameter,
} from "../lookup/lists.ts";
import { binder, readNames } from "../lookup/names-query.ts";
import { timesOf } from "../lookup/places.ts";
import { endpoint } from "../rest/endpoint.ts";
import { addressParameter, timestampParameter } from "../rest/values.ts";
import type { CurrentStatus } from "../status/status-source.ts";

const types = (name: string) =>
  textParameter(name, 300)
    .transform((text) => text.split(","))
    .pipe(
      z.array(
        z.enum(historyTypes, {
          error: `${name} must be some of ${historyTypes.join(", ")} with commas between`,
        }),
      ),
    )
    .optional();

const query = closedQuery({
  type: types("type"),
  exclude_type: types("exclude_type"),
  order: choice("order", ["desc", "asc"]).default("desc"),
  from_timestamp: timestampParameter("from_timestamp")
    .optional()
    .meta({ description: "Unix seconds, included" }),
  to_timestamp: timestampParameter("to_timestamp").optional().meta({ description: "Unix seconds, included" }),
  include: choice("include", ["data"]).optional().meta({ description: "`data`: what each entry changed" }),
  cursor: cursorParameter,
  page_size: pageSize,
});

const answer = {
  description: "A page of entries, perhaps empty",
  schema: z.strictObject({ data: z.array(entrySchema), page: pageSchema, meta: metaSchema }),
};

type Call = { query: z.output<typeof query>; current: CurrentStatus; request: { raw: Request } };

/** A page of history from parts of SQL, which use the bound subject. */
async function historyPage(
  { lookup }: LookupContext,
  { query: asked, current, request }: Call,
  { subject, parts }: { subject: string; parts: (bound: string) => string[] },
) {
  const {
    type = [...historyTypes],
    exclude_type = [],
    order,
    from_timestamp,
    to_timestamp,
    include,
    cursor,
    page_size: size,
  } = asked;
  const list = JSON.stringify(["history", subject, type, exclude_type, order, from_timestamp, to_timestamp]);
  const start = readCursor(cursor, list, historyOrderTypes);
  const { bind, values } = binder(timesOf(lookup.places, current));
  const sql = historySql({
    parts: parts(`${bind(subject)}::text COLLATE "C"`),
    types: type.filter((one: HistoryType) => !exclude_type.includes(one)),
    from: from_timestamp === undefined ? undefined : bind(from_timestamp),
    to: to_timestamp === undefined ? undefined : bind(to_timestamp),
    after: start?.map(bind),
    isDescending: order === "desc",
    limit: size + 1,
  });
  // The times of the places serve only histories of names.
  const timed = `WITH times AS (SELECT $1::bigint[]) ${sql}`;
  const [json] = await lookup.database.row(timed, values, request.raw.signal);
  const rows = JSON.parse(json ?? "[]") as StoredEntry[];
  const { shown, page } = paged(rows, { cursor, size, next: (last) => cursorOf(list, last.after) });
  const data = shown.map((entry) => entryOf(entry, include === "data"));
  return { status: 200 as const, body: { data, page, meta: asOf(current, lookup.hashOf) } };
}

/** GET /v1/names/{name}/history. */
export const nameHistory = endpoint({
  path: "/v1/names/{name}/history",
  tag: "Lookup",
  summary: "What happened to a name",
  description:
    "Registrations, renewals, releases, transfers, owners, resolvers and records, newest first. Releases follow from the dates: they have no transaction.",
  envelope: lookupEnvelope,
  params: z.object({ name: z.string().meta({ example: "vitalik.eth" }) }),
  query,
  needs: needsNames,
  answers: { 200: answer, 404: notFoundAnswer },
  handle: (context: LookupContext) => async (call) => {
    const { lookup } = context;
    const { node } = nameIn(call.params.name);
    const asked = { nodes: [node], times: timesOf(lookup.places, call.current), withRecords: false };
    const [found] = await readNames(lookup, asked, call.request.raw.signal);
    if (!found) return refuse("not_found", "The index never saw this name");
    return historyPage(context, call, {
      subject: node,
      parts: (bound) => partsOfName(bound, lookup.places),
    });
  },
});

/** GET /v1/addresses/{address}/history. */
export const addressHistory = endpoint({
  path: "/v1/addresses/{address}/history",
  tag: "Lookup",
  summary: "What an address received",
  description: "Names that it registered, and names and roles that were transferred to it, newest first.",
  envelope: lookupEnvelope,
  params: z.object({ address: addressParameter("address") }),
  query,
  needs: needsNames,
  answers: { 200: answer },
  handle: (context: LookupContext) => (call) =>
    historyPage(context, call, {
      subject: call.params.address,
      parts: partsOfAddress,
    }),
});
