import { z } from "zod/v4";
import { planOnce } from "../database/client.ts";
import {
  asOf,
  closedQuery,
  lookupEnvelope,
  metaSchema,
  openPage,
  refuse,
  timeParameter,
} from "../names/contract.ts";
import {
  entryOf,
  entrySchema,
  entryType,
  eventKinds,
  type HistoryQuery,
  historyCountSql,
  historyOrderTypes,
  historySql,
  historyTypes,
  ofRecord,
  partsOfAddress,
  partsOfName,
  type StoredEntry,
} from "../names/history.ts";
import {
  type Binder,
  binder,
  choice,
  includeParameter,
  type LookupContext,
  needsNames,
  notFoundAnswer,
  readNameOfPath,
  textParameter,
  wordsParameter,
} from "../names/lists.ts";
import { timesOf } from "../names/places.ts";
import { endpoint } from "../rest/endpoint.ts";
import { cursorPageSchema, cursorParameters } from "../rest/pages.ts";
import { anyCaseAddress } from "../rest/values.ts";
import type { CurrentStatus } from "../status/status-source.ts";

/** The query parameters that all histories have. */
export const historyParameters = {
  type: wordsParameter("type", historyTypes).optional(),
  exclude_type: wordsParameter("exclude_type", historyTypes).optional(),
  kind: wordsParameter("kind", eventKinds as [string, ...string[]])
    .optional()
    .meta({ description: "Names of events" }),
  record_key: textParameter("record_key", 1_000)
    .optional()
    .meta({ description: "Writes of one record: `addr:60`, `text:url`, `contenthash`, `name` or `abi:1`" }),
  order: choice("order", ["desc", "asc"]).default("desc"),
  from_timestamp: timeParameter("from_timestamp")
    .optional()
    .meta({ description: "Unix seconds or RFC 3339, included" }),
  to_timestamp: timeParameter("to_timestamp")
    .optional()
    .meta({ description: "Unix seconds or RFC 3339, included" }),
  include: includeParameter(["data", "raw", "total_count"]).meta({
    description: "`data`: what each entry changed; `raw`: its event; `total_count`",
  }),
  ...cursorParameters,
};

const query = closedQuery({
  ...historyParameters,
  scope: choice("scope", ["both"])
    .optional()
    .meta({ description: "Entries of the name and of its registrations" }),
});

/** The response of a history. */
export const historyAnswer = {
  description: "A page of entries, perhaps empty",
  schema: z.strictObject({ data: z.array(entrySchema), page: cursorPageSchema, meta: metaSchema }),
};

/** A request for a history. */
export type HistoryCall = {
  query: z.output<typeof query>;
  current: CurrentStatus;
  request: { raw: Request };
};

/** What a history is of: what its cursors belong to besides the common parameters, its parts, and its own conditions. */
export type Subject = {
  list: readonly unknown[];
  /** The parts, which give the kinds of events asked for, and conditions, with values bound. */
  find: (statement: Binder, kinds: readonly string[]) => Omit<HistoryQuery, "kinds">;
  /** Whether entries are counted although `include` does not say so. */
  isCounted?: boolean;
};

const mostCounted = 10_000;

/** A page of history. */
export async function historyPage(
  { lookup }: LookupContext,
  { query: asked, current, request }: HistoryCall,
  { list: subject, find, isCounted = false }: Subject,
) {
  const { order, include = [] } = asked;
  const { type, exclude_type, kind, record_key, from_timestamp, to_timestamp } = asked;
  if (from_timestamp !== undefined && to_timestamp !== undefined && from_timestamp > to_timestamp)
    refuse("invalid_input", "from_timestamp must be less than or equal to to_timestamp");
  const filters = [type, exclude_type, kind, record_key, order, from_timestamp, to_timestamp];
  const opened = openPage(asked, ["history", ...subject, ...filters], historyOrderTypes);
  const statement = binder(timesOf(lookup.places, current));
  const kinds = kindsOf(asked);
  const { parts, conditions } = find(statement, kinds);
  const history = { parts, kinds, conditions: [...conditions, ...conditionsOf(asked, statement)] };
  // The times of the places serve only histories of names.
  const timed = (sql: string) => `WITH times AS (SELECT $1::bigint[]) ${sql}`;
  const counting =
    isCounted || include.includes("total_count")
      ? { sql: historyCountSql(history, mostCounted), values: [...statement.values] }
      : undefined;
  const after = opened.after?.map(statement.bind);
  const place = { after, isDescending: order === "desc", limit: opened.limit };
  const sql = historySql(history, place, lookup.places);
  // Kinds of events are many; most requests ask for all.
  const isCommon = [type, exclude_type, kind].every((one) => one === undefined);
  const plan = (text: string) => (isCommon ? planOnce(timed(text)) : timed(text));
  const { signal } = request.raw;
  const [[json], [count]] = await Promise.all([
    lookup.database.row(plan(sql), statement.values, signal),
    counting ? lookup.database.row(plan(counting.sql), counting.values, signal) : [],
  ]);
  const rows = JSON.parse(json ?? "[]") as StoredEntry[];
  const total = count == null || Number(count) > mostCounted ? null : Number(count);
  const { shown, page } = opened.of(rows, total);
  const members = { hasData: include.includes("data"), hasKind: include.includes("raw") };
  const data = shown.map((entry) => entryOf(entry, lookup.places, members));
  return { status: 200 as const, body: { data, page, meta: asOf(current, lookup.hashOf) } };
}

function kindsOf({ type, exclude_type = [], kind = eventKinds }: HistoryCall["query"]) {
  return kind.filter((one) => {
    const of = entryType(one);
    return (type === undefined || type.includes(of)) && !exclude_type.includes(of);
  });
}

function conditionsOf({ from_timestamp, to_timestamp, record_key }: HistoryCall["query"], { bind }: Binder) {
  const record = record_key === undefined ? undefined : ofRecord(record_key, bind);
  if (record_key !== undefined && record === undefined)
    refuse(
      "invalid_input",
      "record_key must be addr:<coin type>, text:<key>, contenthash, name or abi:<type>",
    );
  return [
    ...(record === undefined ? [] : [record]),
    ...(from_timestamp === undefined ? [] : [`timestamp >= ${bind(Math.ceil(from_timestamp))}::bigint`]),
    ...(to_timestamp === undefined ? [] : [`timestamp <= ${bind(Math.floor(to_timestamp))}::bigint`]),
  ];
}

/** The SQL of a bound text, which compares byte by byte as the columns do. */
export const inByteOrder = (bound: string) => `${bound}::text COLLATE "C"`;

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
  answers: { 200: historyAnswer, 404: notFoundAnswer },
  handle: (context: LookupContext) => async (call) => {
    const { lookup } = context;
    const { node } = await readNameOfPath(lookup, call.params.name, call);
    return historyPage(context, call, {
      list: [node],
      find: ({ bind }) => ({ parts: partsOfName(inByteOrder(bind(node)), lookup.places), conditions: [] }),
      isCounted: true,
    });
  },
});

/** GET /v1/addresses/{address}/history. */
export const addressHistory = endpoint({
  path: "/v1/addresses/{address}/history",
  tag: "Lookup",
  summary: "What an address received, and its primary names",
  description:
    "Names that it registered, names and roles that were transferred to it, and primary names that it set or cleared, newest first.",
  envelope: lookupEnvelope,
  params: z.object({ address: anyCaseAddress("address") }),
  query,
  needs: needsNames,
  answers: { 200: historyAnswer },
  handle: (context: LookupContext) => (call) =>
    historyPage(context, call, {
      list: [call.params.address],
      find: ({ bind }) => ({
        parts: partsOfAddress(inByteOrder(bind(call.params.address)), context.lookup.places),
        conditions: [],
      }),
    }),
});
