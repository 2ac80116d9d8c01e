import { reachedJoin } from "../database/v2-domains.ts";
import type { SortType } from "../rest/pages.ts";
import { indexTime, secondGeneration } from "./generations.ts";
import {
  begins,
  domainEvents,
  entryEvents,
  isEntryEvent,
  registrationEvents,
  resolverEvents,
  reverseRegistrarEvent,
  wrapperEvents,
} from "./history-kinds.ts";
import { addressOfResolver } from "./names-sql.ts";
import type { Place } from "./places.ts";

// What happened to a name or by an address, from the stored events, in one order of time over all chains. Ends of leases are no
// events: they follow from the dates.

/** Words as a list in SQL. */
export const literal = (words: readonly string[]) => `(${words.map((word) => `'${word}'`).join(", ")})`;

const none = "NULL::text";
const shared = "e.id, e.type, e.timestamp, e.block_number, e.log_index, e.transaction_id";
const sharedOfResolver = shared.replace(
  "e.type",
  "CASE WHEN e.primary_name_of IS NULL THEN e.type ELSE 'ReverseNameChanged' END",
);

// What the parts have in common: the node, who it went to, a resolver, a key with its value, and dates.
const ofDomain = (
  where: string,
) => `SELECT ${shared}, e.domain_id AS node, e.owner_id AS holder, e.resolver_id AS resolver,
  e.name AS key, ${none} AS value, e.fuses, e.expiry_date AS expiry, NULL::numeric AS coin, e.from_old_registry AS old FROM domain_event e WHERE ${where}`;
const ofRegistration = (
  from: string,
  where: string,
) => `SELECT ${shared}, r.domain_id AS node, coalesce(e.registrant_id, e.new_owner_id) AS holder,
  ${none} AS resolver, ${none} AS key, ${none} AS value, NULL::int AS fuses, e.expiry_date AS expiry, NULL::numeric AS coin, NULL::boolean AS old FROM ${from} WHERE ${where}`;
// The former event of an address comes with the one of its coin type, and says no more.
const ofResolver = (
  where: string,
) => `SELECT ${sharedOfResolver}, s.domain_id AS node, e.primary_name_of AS holder, s.id AS resolver, coalesce(e.key, e.name, e.content_type::text) AS key,
  coalesce(e.value, e.addr, e.addr_id, e.hash) AS value, NULL::int AS fuses, e.version AS expiry, e.coin_type AS coin, NULL::boolean AS old
  FROM resolver s JOIN resolver_event e ON e.resolver_id = s.id WHERE ${where} AND NOT (e.type = 'AddrChanged' AND EXISTS (
    SELECT FROM resolver_event o WHERE o.resolver_id = e.resolver_id AND o.block_number = e.block_number AND o.type = 'MulticoinAddrChanged'
      AND o.coin_type = 60 AND abs(o.log_index - e.log_index) = 1))`;

// Of reverse registrars, whose names have no node in any registry.
const ofReverseName = (
  where: string,
) => `SELECT e.id, '${reverseRegistrarEvent}', e.timestamp, e.block_number, e.log_index, e.transaction_hash, ${none} AS node, e.address AS holder,
  ${none} AS resolver, e.name AS key, ${none} AS value, NULL::int AS fuses, NULL::numeric AS expiry, e.coin_type AS coin, NULL::boolean AS old
  FROM reverse_name_events e WHERE ${where}`;

// Of entries that a name leads to; the key is their registry. `from` gives `e` of `v2_events` and `n` of `v2_domains`.
const ofEntries = (
  from: string,
  where: string,
) => `SELECT e.id, e.type, e.timestamp, e.block_number, e.log_index, e.transaction_hash, n.id AS node, e.holder,
  CASE WHEN e.type = 'ResolverUpdated' THEN e.address END AS resolver, e.registry AS key,
  CASE WHEN e.type = 'SubregistryUpdated' THEN e.address ELSE e.roles END AS value, NULL::int AS fuses, e.expiry, NULL::numeric AS coin, NULL::boolean AS old FROM ${from} WHERE ${where}`;

// The name of an entry: of several places of its registry, one that is reached.
function entriesWhere(places: readonly Place[], where: string): string[] {
  const v2 = secondGeneration(places);
  if (v2 === undefined) return [];
  const name = `SELECT v.id FROM v2_domains v ${reachedJoin("v", "m", v2, indexTime)}
    WHERE v.chain_id = ${v2.chainId} AND v.registry = e.registry AND v.labelhash = e.labelhash AND m.is_reached ORDER BY v.id LIMIT 1`;
  return [ofEntries(`v2_events e CROSS JOIN LATERAL (${name}) n`, `e.chain_id = ${v2.chainId} AND ${where}`)];
}

function entriesOfName(places: readonly Place[], node: string): string[] {
  const v2 = secondGeneration(places);
  if (v2 === undefined) return [];
  const named = `v2_domains n ${reachedJoin("n", "m", v2, indexTime)} JOIN v2_events e ON e.chain_id = n.chain_id
    AND e.registry = n.registry AND e.labelhash = n.labelhash`;
  return [ofEntries(named, `n.chain_id = ${v2.chainId} AND n.id = ${node} AND m.is_reached`)];
}

const byName = "registration r JOIN registration_event e ON e.registration_id = r.id";
const byEvent = "registration_event e JOIN registration r ON r.id = e.registration_id";

// A lease that was not renewed before the end of its grace period, and the first second after it.
function releases(node: string, places: readonly Place[]): string {
  const managed = places.flatMap(({ leases, grace }) =>
    leases === undefined ? [] : [`WHEN '${leases}' THEN ${grace + 1}`],
  );
  return `SELECT 'release-' || t.id, 'Release', (t.expiry_date + t.grace)::int, NULL::int, NULL::int, ${none}, ${node}, ${none}, ${none}, ${none}, ${none},
  NULL::int, t.expiry_date, NULL::numeric, NULL::boolean
  FROM (SELECT e.id, e.expiry_date, g.grace, lead(e.timestamp, 1, ($1::bigint[])[1]::int) OVER (ORDER BY e.timestamp, e.log_index) AS next
    FROM ${byName} JOIN domain d ON d.id = r.domain_id CROSS JOIN LATERAL (SELECT CASE d.parent_id ${["WHEN 'none' THEN 0", ...managed].join(" ")} ELSE 0 END AS grace) g
    WHERE r.domain_id = ${node} AND e.expiry_date IS NOT NULL AND e.expiry_date < 4000000000) t
  WHERE t.expiry_date + t.grace <= t.next${secondGeneration(places) ? notBroughtOver(node) : ""}`;
}

// What lapses of a lease in the first generation is none once ENSv2 had the name.
const notBroughtOver = (
  node: string,
) => ` AND NOT EXISTS (SELECT FROM v2_entries o WHERE o.node = ${node} AND EXISTS (
  SELECT FROM v2_events b WHERE b.registry = o.registry AND b.labelhash = o.labelhash AND b.type IN ${literal(begins)}
    AND b.timestamp <= t.expiry_date + t.grace))`;

/** The parts of a name's history: of its node, at any resolver. */
export const partsOfName = (node: string, places: readonly Place[]) => [
  ofDomain(`e.domain_id = ${node}`),
  ofRegistration(byName, `r.domain_id = ${node}`),
  ofResolver(`s.domain_id = ${node}`),
  releases(node, places),
  ...entriesOfName(places, node),
];

/** The parts of an address's history: what it received, and its primary names. */
export const partsOfAddress = (address: string, places: readonly Place[]) => [
  ofDomain(`e.owner_id = ${address}`),
  ofRegistration(byEvent, `e.registrant_id = ${address}`),
  ofRegistration(byEvent, `e.new_owner_id = ${address}`),
  ofResolver(`e.primary_name_of = ${address}`),
  ofReverseName(`e.address = ${address}`),
  ...entriesWhere(places, `e.holder = ${address}`),
];

// Each has an index in the order of time.
function whereKind(kind: string): string {
  if (kind === "ReverseNameChanged") return "e.primary_name_of IS NOT NULL";
  return `e.type = '${kind}'${kind === "NameChanged" ? " AND e.primary_name_of IS NULL" : ""}`;
}

/** The parts of all that happened, without releases: one for each kind of event, whose latest an index gives. */
export const partsOfAll = (kinds: readonly string[], places: readonly Place[]) =>
  kinds.flatMap((kind) => {
    const where = whereKind(kind);
    if (kind === reverseRegistrarEvent) return [ofReverseName("true")];
    if (kind in domainEvents) return [ofDomain(where)];
    if (kind in registrationEvents) return [ofRegistration(byEvent, where)];
    if (isEntryEvent(kind)) return entriesWhere(places, where);
    return kind in resolverEvents ? [ofResolver(where)] : [];
  });

/** The parts of what a resolver emitted. */
export const partsOfResolver = (address: string, kinds: readonly string[]) =>
  kinds.flatMap((kind) =>
    kind in resolverEvents ? [ofResolver(`${whereKind(kind)} AND s.address = ${address}`)] : [],
  );

/** The parts of what one of a chain's two registries emitted. */
export const partsOfRegistry = (isOld: boolean, kinds: readonly string[]) =>
  kinds.map((kind) => ofDomain(`${whereKind(kind)} AND e.from_old_registry IS ${isOld ? "" : "NOT "}TRUE`));

/** The parts of what a contract emitted that is a resolver, or a registry of ENSv2. */
export const partsOfContract = (address: string, kinds: readonly string[], places: readonly Place[]) => [
  ...partsOfResolver(address, kinds),
  ...kinds
    .filter(isEntryEvent)
    .flatMap((kind) => entriesWhere(places, `e.type = '${kind}' AND e.registry = ${address}`)),
];

/** The order of entries: by time, then by their place in the chain. */
const historyOrder = [
  "timestamp",
  "coalesce(block_number, 2147483647)",
  "coalesce(log_index, -1)",
  "id",
] as const;
export const historyOrderTypes: readonly SortType[] = ["int", "int", "int", "text"];

/** A history: its parts, the kinds of events that count, and conditions on the columns that parts have in common. */
export type HistoryQuery = {
  parts: readonly string[];
  kinds: readonly string[];
  conditions: readonly string[];
};

const columns =
  "p (id, type, timestamp, block_number, log_index, transaction_id, node, holder, resolver, key, value, fuses, expiry, coin, old)";

const conditionsOf = ({ kinds, conditions }: HistoryQuery) =>
  [`type IN ${literal([...kinds, "none"])}`, ...conditions].join(" AND ");

type PageOfHistory = {
  /** Sort values to go on after, bound. */
  after: readonly string[] | undefined;
  isDescending: boolean;
  limit: number;
};

/**
 * SQL of a page of history: each part gives at most a page, and what happened in the same second as its last row. By time alone, as its
 * index has it: for the whole order the planner would sort all rows of a part that it takes for short.
 */
export function historySql(
  query: HistoryQuery,
  { after, isDescending, limit }: PageOfHistory,
  places: readonly Place[],
): string {
  const direction = isDescending ? " DESC" : "";
  const order = historyOrder.map((key) => `${key}${direction}`).join(", ");
  const start = after?.map((place, at) => `${place}::${historyOrderTypes[at]}`).join(", ");
  const beyond =
    start === undefined ? "" : ` AND (${historyOrder.join(", ")}) ${isDescending ? "<" : ">"} (${start})`;
  const where = `${conditionsOf(query)}${beyond}`;
  const limited = query.parts.map(
    (part) =>
      `(SELECT * FROM (${part}) ${columns} WHERE ${where} ORDER BY timestamp${direction} FETCH FIRST ${limit} ROWS WITH TIES)`,
  );
  const nothing = `(SELECT * FROM (${ofDomain("false")}) ${columns})`;
  return `SELECT coalesce(json_agg(found), '[]')::text FROM (
${entriesSql(`(SELECT * FROM (${(limited.length === 0 ? [nothing] : limited).join("\nUNION ALL\n")}) u ORDER BY ${order} LIMIT ${limit})`, order, places)}) listed`;
}

// What events tell beside what parts have in common, by their ids.
function factsSql(places: readonly Place[]): string {
  const held = (table: string, more: string) =>
    `(SELECT json_build_object('from', e.from_id${more}) FROM ${table} e WHERE e.id = h.id)`;
  const v2 = secondGeneration(places);
  const isUnwrapped = `EXISTS (SELECT FROM domain_event u WHERE u.domain_id = h.node AND u.block_number = h.block_number
      AND u.transaction_id = h.transaction_id AND u.type = 'NameUnwrapped')`;
  // What the name wrapper gives back was not locked. A registry of a locked name brings its subnames itself.
  const path = `CASE WHEN h.type <> 'Migration' THEN NULL WHEN e.sender = '${v2?.lockedMigrator}' THEN 'locked_wrapped'
      WHEN e.sender = e.registry THEN CASE WHEN ${isUnwrapped} THEN 'emancipated_child' ELSE 'locked_child' END
      WHEN ${isUnwrapped} THEN 'unlocked_wrapped' ELSE 'unwrapped' END`;
  const ofEntry = `(SELECT json_build_object('labelhash', e.labelhash, 'token', e.token_id, 'sender', e.sender, 'formerRoles', e.former_roles,
      'from', CASE WHEN h.type IN ('TransferSingle', 'TransferBatch') THEN e.address END, 'path', ${path}) FROM v2_events e WHERE e.id = h.id)`;
  return `CASE WHEN h.type = 'NameTransferred' THEN ${held("registration_event", "")}
    WHEN h.type = 'WrappedTransfer' THEN ${held("domain_event", ", 'sender', e.operator_id")}${v2 ? ` WHEN h.type IN ${literal(Object.keys(entryEvents))} THEN ${ofEntry}` : ""} END`;
}

// The first action on the name in its transaction that is not before it, by the checkpoints that actions have as ids: they begin with
// the time, and end with the log.
const paymentSql = `CASE WHEN h.type IN ('NameRegistered', 'NameRenewed', 'LabelRegistered', 'ExpiryUpdated') THEN (
    SELECT json_build_object('base', a.base_cost::text, 'premium', a.premium::text, 'total', a.total::text, 'token', a.payment_token, 'referrer', a.encoded_referrer)
    FROM registrar_actions a WHERE a.node = h.node AND a.id >= h.timestamp::text AND a.id < (h.timestamp + 1)::text AND a.transaction_hash = h.transaction_id
      AND a.type = CASE WHEN h.type IN ('NameRegistered', 'LabelRegistered') THEN 'registration' ELSE 'renewal' END
      AND right(a.id, 16)::bigint >= h.log_index ORDER BY a.id LIMIT 1) END`;

/** SQL of one `StoredEntry` a row, as JSON in the column `found`, from a list of what parts have in common. */
function entriesSql(from: string, order: string, places: readonly Place[]): string {
  const keys = historyOrder.map((key) => `(${key})::text`).join(", ");
  return `SELECT json_build_object('id', h.id, 'type', h.type, 'timestamp', timestamp, 'block', block_number, 'log', log_index, 'transaction', transaction_id,
  'node', h.node, 'name', coalesce(d.name, (SELECT v.name FROM v2_domains v WHERE v.id = h.node LIMIT 1)), 'namespace', d.namespace, 'holder', h.holder, 'resolver', ${addressOfResolver("h.resolver")}, 'key', left(h.key, 1000),
  'value', left(h.value, 5000), 'fuses', h.fuses, 'expiry', h.expiry::text, 'coin', h.coin::text, 'old', h.old, 'since', coalesce(l.since, b.since), 'facts', ${factsSql(places)}, 'payment', ${paymentSql},
  'after', json_build_array(${keys.replaceAll("(id)", "(h.id)")})) AS found
FROM ${from} h LEFT JOIN domain d ON d.id = h.node
LEFT JOIN LATERAL (SELECT e.timestamp AS since FROM ${byName} WHERE r.domain_id = h.node AND e.type = 'NameRegistered' AND e.timestamp <= h.timestamp
  AND h.type IN ${literal([...Object.keys(registrationEvents), ...wrapperEvents, "Release"])} ORDER BY e.timestamp DESC LIMIT 1) l ON true
LEFT JOIN LATERAL (SELECT max(e.timestamp) AS since FROM v2_domains n JOIN v2_events e ON e.registry = n.registry AND e.labelhash = n.labelhash
  WHERE n.id = h.node AND n.registry = h.key AND h.type IN ${literal(Object.keys(entryEvents))} AND e.type IN ${literal(begins)}
    AND e.timestamp <= h.timestamp) b ON true
ORDER BY ${order.replaceAll("id", "h.id").replaceAll("timestamp", "h.timestamp")}`;
}

/** SQL of all entries of one kind of event in the order of time, one a row in the column `found`. */
export function entriesOfKindSql(kind: string, places: readonly Place[]): string[] {
  const [part] = partsOfAll([kind], places);
  if (part === undefined) return [];
  return [entriesSql(`(SELECT * FROM (${part}) ${columns})`, historyOrder.join(", "), places)];
}

/** SQL of the number of entries, of which it counts at most `most` and one. */
export function historyCountSql(query: HistoryQuery, most: number): string {
  const where = conditionsOf(query);
  const limited = query.parts.map(
    (part) => `(SELECT 1 FROM (${part}) ${columns} WHERE ${where} LIMIT ${most + 1})`,
  );
  return `SELECT count(*)::text FROM (SELECT FROM (${limited.join(" UNION ALL ") || "SELECT 1 WHERE false"}) u LIMIT ${most + 1}) c`;
}

/** Condition that an entry belongs to the registration of a name that began at a time, all bound. */
export function ofRegistrationSince(node: string, since: string): string {
  return `timestamp >= ${since}::bigint AND timestamp < coalesce(least((SELECT min(e.timestamp) FROM ${byName}
    WHERE r.domain_id = ${node} AND e.type = 'NameRegistered' AND e.timestamp > ${since}::bigint),
    (SELECT min(e.timestamp) FROM v2_entries o JOIN v2_events e ON e.registry = o.registry AND e.labelhash = o.labelhash
    WHERE o.node = ${node} AND e.type IN ${literal(begins)} AND e.timestamp > ${since}::bigint)), 2147483647)`;
}

/** Condition that an entry is a write of the record with a key such as `addr:60` or `text:url`; undefined for an unknown family. */
export function ofRecord(key: string, bind: (value: string) => string): string | undefined {
  const [family = "", ...rest] = key.split(":");
  const name = rest.join(":");
  const isNumbered = /^\d{1,19}$/.test(name);
  if (family === "text" && rest.length > 0) return `type = 'TextChanged' AND key = ${bind(name)}`;
  if (key === "contenthash") return "type = 'ContenthashChanged'";
  if (key === "name") return "type IN ('NameChanged', 'ReverseNameChanged')";
  if (family === "abi" && isNumbered) return `type = 'AbiChanged' AND key = ${bind(name)}`;
  if (family !== "addr" || !isNumbered) return undefined;
  const former = name === "60" ? " OR type = 'AddrChanged'" : "";
  return `(type = 'MulticoinAddrChanged' AND coin = ${bind(name)}::numeric${former})`;
}
