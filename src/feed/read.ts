import { z } from "zod/v4";
import { hashSchema } from "../ens/schemas.ts";
import { parsedJson } from "../log/json-log.ts";
import { stateSql, stateTable } from "../ponder/state.ts";
import { entryId, type StoredEntry, toEntry } from "../read/events/entries.ts";
import type { EntryFilter } from "../read/events/entry-filters.ts";
import { entriesOfIdsSql, type HealedName, healedNamesSql, historySql } from "../read/events/history.ts";
import { type EventKind, hasNoNode } from "../read/events/kinds.ts";
import type { IndexedNamespace } from "../read/names/indexed-namespaces.ts";
import { binder } from "../read/names/source.ts";
import type { Database } from "../read/sql/client.ts";
import { planOnce } from "../read/sql/prepared.ts";
import { type FeedState, feedTable, healedType, stands } from "./log.ts";

/** `finalized`: events that no reorganization can revert. */
export type Finality = "latest" | "finalized";

/** A row of the log. `isReverted`: whether a later row reverts it. */
export type LogRow = {
  seq: number;
  reverts: number | null;
  chain: number;
  block: number;
  time: number;
  log: number;
  type: EventKind | typeof healedType;
  event: string;
  transaction: string;
  node: string | null;
  /** Of what the event changed. */
  keys: string[];
  isReverted: boolean;
};

/**
 * A row of the log with the entry of its event; without one for rows that revert others, or are reverted. `names`: of a
 * row of healed names. `message`: once a reader got it.
 */
export type LogItem = {
  row: LogRow;
  entry?: StoredEntry | undefined;
  names?: HealedName[];
  message?: Message;
};

/**
 * A place between two messages. `seq`: the last row of the log before it; null before the log, in the tables of events.
 */
export type FeedPosition = {
  index: string;
  seq: number | null;
  /** The event before it: time (Unix seconds), block, log index, id; and the first digits of its transaction. */
  key: readonly [time: number, block: number, log: number, event: string];
  transaction: string;
};

/** What a message of the feed reverts. */
export const revertedSchema = z.strictObject({
  chain_id: z.int(),
  last_valid_block: z.int(),
  ids: z.array(z.string()).describe("`id` of entries, the newest first"),
  keys: z.array(z.string()).describe("The cache keys of their messages"),
});

/** What a message of healed names says. */
export const healedSchema = z.strictObject({
  names: z.array(z.strictObject({ namehash: hashSchema, name: z.string().optional() })),
  keys: z.array(z.string()).describe("Their cache keys"),
});

/** A message of the feed; `id`: resume after this message. */
export type Message =
  | { event: "event"; id: string; data: ReturnType<typeof toEntry> & { keys?: string[] } }
  | { event: "reverted"; id: string; data: z.output<typeof revertedSchema> }
  | { event: "healed"; id: string; data: z.output<typeof healedSchema> };

/** What the feed reads from. `times`: of the last indexed block of each namespace, in Unix seconds. */
export type FeedSource = {
  database: Database;
  namespaces: readonly IndexedNamespace[];
  times: () => readonly number[];
};

const idSchema = z.tuple([
  z.string().regex(/^[0-9a-f]{12}$/),
  z.int().min(0).nullable(),
  z.int().min(0).max(2_147_483_647),
  z.int().min(-1).max(2_147_483_647),
  z.int().min(-1).max(2_147_483_647),
  z.string().max(200),
  z.string().regex(/^[0-9a-f]{0,16}$/),
]);

/** The id of a position: opaque for clients. */
export const formatFeedId = ({ index, seq, key, transaction }: FeedPosition) =>
  Buffer.from(JSON.stringify([index, seq, ...key, transaction])).toString("base64url");

/** The position of an id; undefined for any other text. */
export function parsePosition(id: string): FeedPosition | undefined {
  const parts = idSchema.safeParse(parsedJson(Buffer.from(id, "base64url").toString())).data;
  if (parts === undefined) return undefined;
  const [index, seq, time, block, log, event, transaction] = parts;
  return { index, seq, key: [time, block, log, event], transaction };
}

const pickDigits = (transaction: string | null) => (transaction ?? "").slice(2, 18);

const buildPosition = (
  index: string,
  { seq, time, block, log, event, transaction }: LogRow,
): FeedPosition => ({
  index,
  seq,
  key: [time, block, log, event],
  transaction: pickDigits(transaction),
});

const rowSql = (
  row: string,
) => `json_build_object('seq', ${row}.seq, 'reverts', ${row}.reverts, 'chain', ${row}.chain_id, 'block', ${row}.block,
  'time', ${row}.timestamp, 'log', ${row}.log_index, 'type', ${row}.type, 'event', ${row}.event_id, 'transaction', ${row}.transaction_hash,
  'node', ${row}.node, 'keys', ${row}.keys, 'isReverted', NOT ${stands(row)})`;

const feedStateSql = stateSql("feed");
const existsSql = `SELECT (to_regclass('${feedTable}') IS NOT NULL AND to_regclass('${stateTable}') IS NOT NULL)::text`;

/** SQL of the state of the log, and up to `limit` rows after the bound one in their order. */
const rowsSql = (
  limit: number,
) => `SELECT json_build_object('state', ${feedStateSql}, 'rows', (SELECT coalesce(json_agg(${rowSql("f")} ORDER BY f.seq), '[]')
  FROM (SELECT * FROM ${feedTable} WHERE seq > $1::bigint ORDER BY seq LIMIT ${limit}) f))::text`;

const newestSql = `SELECT json_build_object('state', ${feedStateSql}, 'row',
  (SELECT ${rowSql("f")} FROM (SELECT * FROM ${feedTable} ORDER BY seq DESC LIMIT 1) f))::text`;

async function readJson<T>(
  database: Database,
  sql: string,
  values: string[],
  signal: AbortSignal,
): Promise<T> {
  const [text] = await database.row(sql, values, signal);
  return JSON.parse(text ?? "null");
}

/** The newest position of the log and its state; undefined before the log has begun. */
export async function readNewest({ database }: FeedSource, signal: AbortSignal) {
  const [exists] = await database.row(existsSql, [], signal);
  if (exists !== "true") return undefined;
  const { state, row } = await readJson<{ state: FeedState | null; row: LogRow | null }>(
    database,
    newestSql,
    [],
    signal,
  );
  return state === null
    ? undefined
    : { state, position: row ? buildPosition(state.index, row) : startOfLog(state) };
}

/** The key before all events of a second. */
const buildFirstKey = (time: number): FeedPosition["key"] => [time, -1, -1, ""];

const startOfLog = ({ index, since }: FeedState): FeedPosition => ({
  index,
  seq: 0,
  key: buildFirstKey(since),
  transaction: "",
});

/** The position before all events. */
export const startOfFeed = ({ index }: FeedState): FeedPosition => ({
  index,
  seq: null,
  key: buildFirstKey(0),
  transaction: "",
});

/** The position before the first event of a chain at or above a block; undefined if the index has none yet. */
export async function positionOfBlock(
  { database }: FeedSource,
  state: FeedState,
  { chain, block }: { chain: number; block: number },
  signal: AbortSignal,
): Promise<FeedPosition | undefined> {
  const ofChain = "chain_id = $1::bigint";
  const cached = `(SELECT b.timestamp::bigint FROM ponder_sync.blocks b WHERE b.${ofChain} AND b.number >= $2::bigint ORDER BY b.number LIMIT 1)`;
  // Of each chain, rows that stand are in the order of its blocks.
  const first = `(SELECT f.seq FROM ${feedTable} f WHERE f.${ofChain} AND f.block >= $2::bigint ORDER BY f.block, f.seq LIMIT 1)`;
  const before = `(SELECT ${rowSql("f")} FROM ${feedTable} f WHERE f.seq = ${first} - 1)`;
  type Found = { time: number | null; first: number | null; before: LogRow | null };
  const sql = `SELECT json_build_object('time', ${cached}, 'first', ${first}, 'before', ${before})::text`;
  const found = await readJson<Found>(database, sql, [String(chain), String(block)], signal);
  if (found.time !== null && found.time < state.since)
    return { ...startOfFeed(state), key: buildFirstKey(found.time) };
  if (found.first === null) return undefined;
  return found.before ? buildPosition(state.index, found.before) : startOfLog(state);
}

/**
 * The position of an id in a log; `unknown` if no index gave the id, `gone` if another index gave it for an event that
 * is not in this one.
 */
export async function findPlace(
  source: FeedSource,
  state: FeedState,
  id: string,
  signal: AbortSignal,
): Promise<FeedPosition | "unknown" | "gone"> {
  const given = parsePosition(id);
  if (given === undefined) return "unknown";
  const { index } = state;
  const { seq, transaction } = given;
  const [time, , , event] = given.key;
  const isOwn = given.index === index;
  const rowWhere = async (where: string, values: string[]) => {
    const sql = `SELECT ${rowSql("f")}::text FROM ${feedTable} f WHERE ${where} ORDER BY f.seq LIMIT 1`;
    const row = await readJson<LogRow | null>(source.database, sql, values, signal);
    return row ? buildPosition(index, row) : undefined;
  };
  if (isOwn && seq !== null) {
    const found = seq === 0 ? startOfLog(state) : await rowWhere("f.seq = $1::bigint", [String(seq)]);
    return found && formatFeedId(found) === id ? found : "unknown";
  }
  if (time < state.since) {
    const entries = event === "" ? [] : [...(await readEntries(source, [event], signal)).values()];
    const isHere = entries.some(
      (one) => one.timestamp === time && pickDigits(one.transaction) === transaction,
    );
    if (event === "" || isHere) return { ...given, index, seq: null };
    return isOwn ? "unknown" : "gone";
  }
  if (isOwn) return "unknown";
  const found = await rowWhere(
    `f.timestamp = $1::int AND f.event_id = $2 AND substr(f.transaction_hash, 3, 16) = $3 AND f.reverts IS NULL AND ${stands("f")}`,
    [String(time), event, transaction],
  );
  return found ?? "gone";
}

/** Rows of the log after one, with their entries, up to one whose event the tables lack at the moment. */
export async function readItems(source: FeedSource, after: number, limit: number, signal: AbortSignal) {
  const { state, rows } = await readJson<{ state: FeedState | null; rows: LogRow[] }>(
    source.database,
    planOnce(rowsSql(limit)),
    [String(after)],
    signal,
  );
  const standing = rows.filter((row) => row.reverts === null && !row.isReverted && row.type !== healedType);
  const entries = await readEntries(
    source,
    standing.map(({ event }) => event),
    signal,
  );
  const healed = await readHealed(source, rows, signal);
  const events = new Set(standing);
  const items = rows.map((row): LogItem => {
    if (row.type === healedType)
      return { row, names: listNodes(row).flatMap((node) => healed.get(node) ?? []) };
    return { row, entry: events.has(row) ? entries.get(buildKey(row)) : undefined };
  });
  const missing = items.findIndex(({ row, entry }) => events.has(row) && entry === undefined);
  return { state, items: missing === -1 ? items : items.slice(0, missing) };
}

const buildKey = ({ event, transaction }: Pick<LogRow, "event" | "transaction">) => `${event} ${transaction}`;

async function readEntries(
  { database, namespaces, times }: FeedSource,
  ids: readonly string[],
  signal: AbortSignal,
) {
  if (ids.length === 0) return new Map<string, StoredEntry>();
  const { bind, values } = binder(times());
  const sql = `WITH times AS (SELECT $1::bigint[]) ${entriesOfIdsSql(bind(`{${ids.map((id) => JSON.stringify(id)).join()}}`), namespaces)}`;
  const found = await readJson<StoredEntry[]>(database, planOnce(sql), values, signal);
  return new Map(
    found.map((entry) => [buildKey({ event: entry.id, transaction: entry.transaction ?? "" }), entry]),
  );
}

const listNodes = ({ keys }: LogRow) =>
  keys.flatMap((key) => (key.startsWith("name:") ? key.slice("name:".length) : []));

async function readHealed({ database, namespaces }: FeedSource, rows: LogRow[], signal: AbortSignal) {
  const nodes = rows.flatMap((row) => (row.type === healedType ? listNodes(row) : []));
  if (nodes.length === 0) return new Map<string, HealedName>();
  const sql = planOnce(healedNamesSql(namespaces));
  const found = await readJson<HealedName[]>(database, sql, [`{${nodes.join()}}`], signal);
  return new Map(found.map((name) => [name.node, name]));
}

type Reader = {
  state: FeedState;
  after: FeedPosition;
  filter: EntryFilter;
  finality: Finality;
  namespaces: readonly IndexedNamespace[];
};

/**
 * The messages of rows of the log for a reader, and its position after them. `finalized` stops at the first row that is
 * not final.
 */
export function toMessages(
  items: readonly LogItem[],
  { state, after, filter, finality, namespaces }: Reader,
): { messages: Message[]; end: FeedPosition } {
  const messages: Message[] = [];
  let last: LogRow | undefined;
  let taken: z.output<typeof revertedSchema> | undefined;
  for (const item of items) {
    const { row, entry } = item;
    const isOpen = row.reverts === null && !row.isReverted && row.time >= state.final;
    if (finality === "finalized" && isOpen) break;
    last = row;
    if (row.reverts === null || taken?.chain_id !== row.chain) taken = undefined;
    const { type } = row;
    if (type === healedType) {
      if (item.names === undefined || !mayBeAsked(item.names, row, filter)) continue;
      const names = item.names.map(({ node, name }) => ({ namehash: node, name: name ?? undefined }));
      const id = formatFeedId(buildPosition(state.index, row));
      item.message ??= { event: "healed", id, data: { names, keys: row.keys } };
      messages.push(item.message);
      continue;
    }
    if (row.reverts !== null && finality === "latest" && mayHaveBeenSent({ ...row, type }, filter)) {
      const lastValid = Math.min(row.block - 1, taken?.last_valid_block ?? row.block);
      if (taken) messages.pop();
      taken = {
        chain_id: row.chain,
        last_valid_block: lastValid,
        ids: [...(taken?.ids ?? []), entryId({ type, id: row.event })],
        keys: [...new Set([...(taken?.keys ?? []), ...row.keys])],
      };
      messages.push({ event: "reverted", id: formatFeedId(buildPosition(state.index, row)), data: taken });
    }
    const isSent =
      entry !== undefined && isAsked(entry, filter) && !(finality === "finalized" && row.isReverted);
    if (!isSent) continue;
    // Readers of the same items share their messages.
    item.message ??= buildMessage(entry, formatFeedId(buildPosition(state.index, row)), namespaces, row.keys);
    messages.push(item.message);
  }
  return { messages, end: last ? buildPosition(state.index, last) : after };
}

function buildMessage(
  entry: StoredEntry,
  id: string,
  namespaces: readonly IndexedNamespace[],
  keys?: string[],
): Message {
  const data = toEntry(entry, namespaces, { hasData: true, hasKind: true });
  return { event: "event", id, data: keys ? { ...data, keys } : data };
}

// ENSv2 entries that no name leads to are in no list.
const isAsked = (entry: StoredEntry, { kinds, node, accepts }: EntryFilter) =>
  kinds.has(entry.type) &&
  (entry.node !== null || hasNoNode(entry)) &&
  (node === undefined || entry.node === node) &&
  accepts(entry);

// Whoever holds an address's events has messages with its key.
const mayBeAsked = (names: readonly HealedName[], { keys }: LogRow, { healed, address }: EntryFilter) =>
  (address === undefined || keys.includes(`address:${address}`)) && names.some(healed);

// Of rows that revert others, the log itself knows no more.
const mayHaveBeenSent = (row: Pick<LogRow, "node"> & { type: EventKind }, { kinds, node }: EntryFilter) =>
  kinds.has(row.type) && (node === undefined || row.node === null || row.node === node);

/** A page of the feed. `isAtEnd`: there is no more at the moment. */
export type FeedPage = { messages: Message[]; end: FeedPosition; isAtEnd: boolean };

/**
 * What a reader asks for: events, how final, and at most how many rows of the log or entries of the history are read.
 */
export type FeedRequest = { state: FeedState; filter: EntryFilter; finality: Finality; limit: number };

/**
 * The messages after a position: from the tables of events up to the beginning of the log, then from the log. A page
 * may have none although others follow.
 */
export async function readFeed(
  source: FeedSource,
  after: FeedPosition,
  request: FeedRequest,
  signal: AbortSignal,
): Promise<FeedPage> {
  const { limit } = request;
  if (after.seq === null) return readHistory(source, after, request, signal);
  const { state, items } = await readItems(source, after.seq, limit, signal);
  // Another index is served from now on.
  if (state?.index !== after.index) return { messages: [], end: after, isAtEnd: true };
  const page = toMessages(items, { ...request, state, after, namespaces: source.namespaces });
  return { ...page, isAtEnd: page.end.seq !== after.seq + limit };
}

// A part of the history that one statement reads, however few of its events match. ENS began in March 2017.
const sliceSeconds = 90 * 86_400;
const firstEvents = 1_489_000_000;

async function readHistory(
  { database, namespaces, times }: FeedSource,
  after: FeedPosition,
  { state, filter, limit }: FeedRequest,
  signal: AbortSignal,
): Promise<FeedPage> {
  const { bind, values } = binder(times());
  const { conditions, ...query } = filter.history({ bind });
  const until = Math.min(state.since, Math.max(after.key[0], firstEvents) + sliceSeconds);
  const before = `timestamp < ${bind(until)}::int`;
  const slice = { after: after.key.map(bind), isDescending: false, limit };
  const sql = historySql({ ...query, conditions: [...conditions, before] }, slice, namespaces);
  const entries = await readJson<StoredEntry[]>(
    database,
    `WITH times AS (SELECT $1::bigint[]) ${sql}`,
    values,
    signal,
  );
  const positions = entries.map(
    ({ after: [time, block, log, event = ""], transaction }): FeedPosition => ({
      index: state.index,
      seq: null,
      key: [Number(time), Number(block), Number(log), event],
      transaction: pickDigits(transaction),
    }),
  );
  const messages = entries.map((entry, at) =>
    buildMessage(entry, formatFeedId(positions[at] ?? after), namespaces),
  );
  const sliceEnd =
    until === state.since ? startOfLog(state) : { ...startOfFeed(state), key: buildFirstKey(until) };
  const end = entries.length < limit ? sliceEnd : (positions.at(-1) ?? after);
  return { messages, end, isAtEnd: false };
}
