import { createHash } from "node:crypto";
import { z } from "zod/v4";
import { hashSchema } from "../rest/values.ts";
import type { SortType } from "./contract.ts";
import type { Place } from "./places.ts";

// What happened to a name or by an address, from the stored events, in one order of time over all chains. Ends of leases are no
// events: they follow from the dates.

/** The kinds of entries; further ones may come. */
export const historyTypes = [
  "registration",
  "renewal",
  "release",
  "expiry",
  "transfer",
  "authority",
  "resolver",
  "record",
  "permission",
] as const;
export type HistoryType = (typeof historyTypes)[number];

const typeOfEvent: Readonly<Record<string, HistoryType>> = {
  NameRegistered: "registration",
  NameRenewed: "renewal",
  NameTransferred: "transfer",
  WrappedTransfer: "transfer",
  Transfer: "authority",
  NewOwner: "authority",
  NameWrapped: "authority",
  NameUnwrapped: "authority",
  NewResolver: "resolver",
  FusesSet: "permission",
  AuthorisationChanged: "permission",
  ExpiryExtended: "expiry",
  Release: "release",
};
const recordEvents = [
  "AddrChanged",
  "MulticoinAddrChanged",
  "NameChanged",
  "AbiChanged",
  "PubkeyChanged",
  "TextChanged",
  "ContenthashChanged",
  "InterfaceChanged",
  "VersionChanged",
];

const literal = (words: readonly string[]) => `(${words.map((word) => `'${word}'`).join(", ")})`;

/** The event names of some types. */
function eventsOf(types: readonly HistoryType[]): string[] {
  const others = Object.entries(typeOfEvent).flatMap(([event, type]) =>
    types.includes(type) ? [event] : [],
  );
  return types.includes("record") ? [...others, ...recordEvents] : others;
}

const none = "NULL::text";
const shared = "e.id, e.type, e.timestamp, e.block_number, e.log_index, e.transaction_id";

// What the parts have in common: the node, who it went to, a resolver, a key with its value, and dates.
const ofDomain = (
  where: string,
) => `SELECT ${shared}, e.domain_id AS node, e.owner_id AS holder, e.resolver_id AS resolver,
  e.name AS key, ${none} AS value, e.fuses, e.expiry_date AS expiry, NULL::numeric AS coin FROM domain_event e WHERE ${where}`;
const ofRegistration = (
  from: string,
  where: string,
) => `SELECT ${shared}, r.domain_id AS node, coalesce(e.registrant_id, e.new_owner_id) AS holder,
  ${none} AS resolver, ${none} AS key, ${none} AS value, NULL::int AS fuses, e.expiry_date AS expiry, NULL::numeric AS coin FROM ${from} WHERE ${where}`;
// The former event of an address comes with the one of its coin type, and says no more.
const ofResolver = (
  where: string,
) => `SELECT ${shared}, s.domain_id AS node, ${none} AS holder, s.id AS resolver, coalesce(e.key, e.name) AS key,
  coalesce(e.value, e.addr, e.addr_id, e.hash) AS value, NULL::int AS fuses, e.version AS expiry, e.coin_type AS coin
  FROM resolver s JOIN resolver_event e ON e.resolver_id = s.id WHERE ${where} AND NOT (e.type = 'AddrChanged' AND EXISTS (
    SELECT FROM resolver_event o WHERE o.resolver_id = e.resolver_id AND o.block_number = e.block_number AND o.type = 'MulticoinAddrChanged'
      AND o.coin_type = 60 AND abs(o.log_index - e.log_index) = 1))`;

const registrations = "registration r JOIN registration_event e ON e.registration_id = r.id";

// A lease that was not renewed before the end of its grace period, and the first second after it.
function releases(node: string, places: readonly Place[]): string {
  const managed = places.flatMap(({ leases, grace }) =>
    leases === undefined ? [] : [`WHEN '${leases}' THEN ${grace + 1}`],
  );
  return `SELECT 'release-' || t.id, 'Release', (t.expiry_date + t.grace)::int, NULL::int, NULL::int, ${none}, ${node}, ${none}, ${none}, ${none}, ${none},
  NULL::int, t.expiry_date, NULL::numeric
  FROM (SELECT e.id, e.expiry_date, g.grace, lead(e.timestamp, 1, ($1::bigint[])[1]::int) OVER (ORDER BY e.timestamp, e.log_index) AS next
    FROM ${registrations} JOIN domain d ON d.id = r.domain_id CROSS JOIN LATERAL (SELECT CASE d.parent_id ${managed.join(" ")} ELSE 0 END AS grace) g
    WHERE r.domain_id = ${node} AND e.expiry_date IS NOT NULL AND e.expiry_date < 4000000000) t
  WHERE t.expiry_date + t.grace <= t.next`;
}

/** The parts of a name's history: of its node, at any resolver. */
export const partsOfName = (node: string, places: readonly Place[]) => [
  ofDomain(`e.domain_id = ${node}`),
  ofRegistration(registrations, `r.domain_id = ${node}`),
  ofResolver(`s.domain_id = ${node}`),
  releases(node, places),
];

/** The parts of an address's history: what it received. */
export const partsOfAddress = (address: string) => [
  ofDomain(`e.owner_id = ${address}`),
  ofRegistration(
    "registration_event e JOIN registration r ON r.id = e.registration_id",
    `e.registrant_id = ${address}`,
  ),
  ofRegistration(
    "registration_event e JOIN registration r ON r.id = e.registration_id",
    `e.new_owner_id = ${address}`,
  ),
];

/** The order of entries: by time, then by their place in the chain. */
const historyOrder = [
  "timestamp",
  "coalesce(block_number, 2147483647)",
  "coalesce(log_index, -1)",
  "id",
] as const;
export const historyOrderTypes: readonly SortType[] = ["int", "int", "int", "text"];

type HistoryQuery = {
  parts: readonly string[];
  types: readonly HistoryType[];
  /** Bound: bounds of the time, and the sort values to go on after. */
  from: string | undefined;
  to: string | undefined;
  after: readonly string[] | undefined;
  isDescending: boolean;
  limit: number;
};

/** SQL of a page of history: each part gives at most a page, in its own order. */
export function historySql({ parts, types, from, to, after, isDescending, limit }: HistoryQuery): string {
  const direction = isDescending ? " DESC" : "";
  const order = historyOrder.map((key) => `${key}${direction}`).join(", ");
  const start = after?.map((place, at) => `${place}::${historyOrderTypes[at]}`).join(", ");
  const conditions = [
    `type IN ${literal([...eventsOf(types), "none"])}`,
    ...(from === undefined ? [] : [`timestamp >= ${from}::bigint`]),
    ...(to === undefined ? [] : [`timestamp <= ${to}::bigint`]),
    ...(start === undefined ? [] : [`(${historyOrder.join(", ")}) ${isDescending ? "<" : ">"} (${start})`]),
  ].join(" AND ");
  const columns =
    "p (id, type, timestamp, block_number, log_index, transaction_id, node, holder, resolver, key, value, fuses, expiry, coin)";
  const limited = parts.map(
    (part) => `(SELECT * FROM (${part}) ${columns} WHERE ${conditions} ORDER BY ${order} LIMIT ${limit})`,
  );
  const keys = historyOrder.map((key) => `(${key})::text`).join(", ");
  return `SELECT coalesce(json_agg(found), '[]')::text FROM (
SELECT json_build_object('id', h.id, 'type', h.type, 'timestamp', timestamp, 'block', block_number, 'log', log_index, 'transaction', transaction_id,
  'node', h.node, 'name', d.name, 'holder', h.holder, 'resolver', substring(h.resolver FROM '0x[0-9a-f]{40}'), 'key', left(h.key, 1000),
  'value', left(h.value, 5000), 'fuses', h.fuses, 'expiry', h.expiry::text, 'coin', h.coin::text, 'after', json_build_array(${keys.replaceAll("(id)", "(h.id)")})) AS found
FROM (SELECT * FROM (${limited.join("\nUNION ALL\n")}) u ORDER BY ${order} LIMIT ${limit}) h LEFT JOIN domain d ON d.id = h.node) listed`;
}

/** An entry as the statement gives it. */
export type StoredEntry = {
  id: string;
  type: string;
  timestamp: number | null;
  block: number | null;
  log: number | null;
  transaction: string | null;
  node: string;
  name: string | null;
  holder: string | null;
  resolver: string | null;
  key: string | null;
  value: string | null;
  fuses: number | null;
  expiry: string | null;
  coin: string | null;
  after: string[];
};

export const entrySchema = z.strictObject({
  id: z.string().length(64),
  type: z.enum(historyTypes),
  name: z.string().optional(),
  namehash: hashSchema,
  block_number: z.int().nullable(),
  timestamp: z.string().nullable(),
  transaction_hash: z.string().nullable(),
  log_index: z.int().nullable(),
  data: z.record(z.string(), z.unknown()).optional(),
});

/** An entry of a history as responses have it. */
export function entryOf(entry: StoredEntry, withData: boolean): z.output<typeof entrySchema> {
  const type = typeOfEvent[entry.type] ?? "record";
  return {
    id: createHash("sha256").update(`${entry.type}:${entry.id}`).digest("hex"),
    type,
    ...(entry.name ? { name: entry.name } : {}),
    namehash: entry.node as z.output<typeof hashSchema>,
    block_number: entry.block,
    timestamp: entry.timestamp === null ? null : String(entry.timestamp),
    transaction_hash: entry.transaction,
    log_index: entry.log,
    ...(withData ? { data: dataOf(type, entry) } : {}),
  };
}

const given = (members: Record<string, unknown>) =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== null && value !== undefined));

function dataOf(
  type: HistoryType,
  { type: event, holder, resolver, key, value, fuses, expiry, coin }: StoredEntry,
) {
  const kind = { event };
  switch (type) {
    case "registration":
      return given({ ...kind, registrant: holder, expires_at: expiry });
    case "renewal":
    case "release":
      return given({ ...kind, expires_at: expiry });
    case "expiry":
      return given({ ...kind, expires_at: expiry, fuses });
    case "transfer":
      return given({ ...kind, to: holder });
    case "authority":
      return given({ ...kind, owner: holder, fuses: fuses === null ? null : fuses >>> 0 });
    case "permission":
      return given({ ...kind, fuses: fuses === null ? null : fuses >>> 0 });
    case "resolver":
      return given({ ...kind, resolver });
    case "record":
      return given({
        ...kind,
        key: recordKey(event, key, coin),
        value: event === "NameChanged" ? key : value,
        coin_type: coin === null ? null : Number(coin),
        resolver,
      });
  }
}

function recordKey(event: string, key: string | null, coin: string | null): string | undefined {
  if (event === "TextChanged") return `text:${key ?? ""}`;
  if (event === "ContenthashChanged") return "contenthash";
  if (event === "NameChanged") return "name";
  if (event === "AddrChanged" || event === "MulticoinAddrChanged") return `addr:${coin ?? "60"}`;
  return undefined;
}
