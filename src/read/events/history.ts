import type { Hex } from "viem";
import { hexOf } from "../../schema/sql.ts";
import type { IndexedNamespace } from "../names/indexed-namespaces.ts";
import { addressOfResolver, secondGeneration } from "../names/stored-name.ts";
import { beyondSql, orderBySql, rowPositionSql, type SortKey } from "../sql/keyset.ts";
import type { StoredEntry } from "./entries.ts";
import { chainOfEntry, namespaceOfEntry, parentOfEntry } from "./entry-conditions.ts";
import { begins, type EventKind, listEventKinds, literal } from "./kinds.ts";
import { ofDomain, partsOfEvents, registrationEvents } from "./parts.ts";

// The statements of histories: pages, counts, and entries of given events. A history is a union of parts, limited to
// kinds and by conditions.

/** The order of entries under an alias: by time, then by position in the chain. */
export const historyOrder = (of: string): readonly SortKey[] => [
  { sql: `${of}.timestamp`, type: "int" },
  { sql: `coalesce(${of}.block_number, 2147483647)`, type: "int" },
  { sql: `coalesce(${of}.log_index, -1)`, type: "int" },
  { sql: `${of}.id`, type: "text" },
];

/**
 * A history: its parts, its kinds of events, and conditions on the common columns of parts. `ofEach`: parts of each row
 * of a source.
 */
export type HistoryQuery = {
  parts: readonly string[];
  ofEach?: { from: string; parts: readonly string[] };
  kinds: readonly EventKind[];
  conditions: readonly string[];
};

const buildConditionsSql = ({ kinds, conditions }: HistoryQuery) =>
  [`type IN ${literal([...kinds, "none"])}`, ...conditions].join(" AND ");

// All parts, at least one. `limited` limits those of each row of a source.
function listParts({ parts, ofEach }: HistoryQuery, limited: (part: string) => string): string[] {
  const ofRows = (part: string) => `SELECT l.* FROM ${ofEach?.from} CROSS JOIN LATERAL ${limited(part)} l`;
  const all = [...parts, ...(ofEach?.parts.map(ofRows) ?? [])];
  return all.length === 0 ? [ofDomain("false")] : all;
}

type PageOfHistory = {
  /** Bound sort values after which the page begins. */
  after: readonly string[] | undefined;
  isDescending: boolean;
  limit: number;
};

/**
 * SQL of a page of history. Each part gives up to a page, and the rest of its last second: parts are sorted by time
 * alone, as in their indexes. For the whole order the planner would sort all rows of a part that it takes for short.
 */
export function historySql(
  query: HistoryQuery,
  { after, isDescending, limit }: PageOfHistory,
  namespaces: readonly IndexedNamespace[],
): string {
  const direction = isDescending ? " DESC" : "";
  const orderOf = (alias: string) => orderBySql(historyOrder(alias), isDescending);
  const beyond = after === undefined ? "" : ` AND ${beyondSql(historyOrder("p"), after, isDescending)}`;
  const where = `${buildConditionsSql(query)}${beyond}`;
  const firstOf = (part: string) =>
    `(SELECT * FROM (${part}) p WHERE ${where} ORDER BY timestamp${direction} FETCH FIRST ${limit} ROWS WITH TIES)`;
  const limited = listParts(query, firstOf).map(firstOf);
  const page = `SELECT * FROM (${limited.join("\nUNION ALL\n")}) u ${orderOf("u")} LIMIT ${limit}`;
  return buildListSql(entriesSql(page, orderOf("h"), namespaces));
}

const buildListSql = (entries: string) => `SELECT coalesce(json_agg(found), '[]')::text FROM (
${entries}) listed`;

/** SQL of the entries of events, whose ids are bound as an array. */
export function entriesOfIdsSql(ids: string, namespaces: readonly IndexedNamespace[]): string {
  const parts = partsOfEvents(namespaces, `e.id = ANY (${ids}::text[])`, { isNamed: true });
  return buildListSql(
    entriesSql(parts.join("\nUNION ALL\n"), orderBySql(historyOrder("h"), false), namespaces),
  );
}

// What events tell beyond the common columns of parts, by their ids.
function factsSql(namespaces: readonly IndexedNamespace[]): string {
  const held = (table: string, more: string) =>
    `(SELECT json_build_object('from', e.from_id${more}) FROM ${table} e WHERE e.id = h.id)`;
  const v2 = secondGeneration(namespaces);
  const isUnwrapped = `EXISTS (SELECT FROM domain_event u WHERE u.domain_id = h.node AND u.block_number = h.block_number
      AND ${hexOf("u.transaction_id")} = h.transaction_id AND u.type = 'NameUnwrapped')`;
  // A name that the wrapper unwraps in the same transaction was not locked. Registries of locked names migrate their
  // subnames themselves.
  const path = `CASE WHEN h.type <> 'Migration' THEN NULL WHEN e.sender = '${v2?.lockedMigrator}' THEN 'locked_wrapped'
      WHEN e.sender = e.registry THEN CASE WHEN ${isUnwrapped} THEN 'emancipated_child' ELSE 'locked_child' END
      WHEN ${isUnwrapped} THEN 'unlocked_wrapped' ELSE 'unwrapped' END`;
  const ofEntry = `(SELECT json_build_object('labelhash', e.labelhash, 'token', e.token_id, 'sender', e.sender, 'formerRoles', e.former_roles,
      'from', CASE WHEN h.type IN ('TransferSingle', 'TransferBatch') THEN e.address END, 'path', ${path}) FROM v2_events e WHERE e.id = h.id)`;
  return `CASE WHEN h.type = 'NameTransferred' THEN ${held("registration_event", "")}
    WHEN h.type = 'WrappedTransfer' THEN ${held("domain_event", ", 'sender', e.operator_id")}${v2 ? ` WHEN h.type IN ${literal(listEventKinds("registryOfV2"))} THEN ${ofEntry}` : ""} END`;
}

// The first action on the name in its transaction, at or after the event. Action ids are checkpoints: time first, log
// index last.
const paymentSql = `CASE WHEN h.type IN ('NameRegistered', 'NameRenewed', 'LabelRegistered', 'ExpiryUpdated') THEN (
    SELECT json_build_object('base', a.base_cost::text, 'premium', a.premium::text, 'total', a.total::text, 'token', a.payment_token, 'referrer', a.encoded_referrer)
    FROM registrar_actions a WHERE a.node = h.node AND a.id >= h.timestamp::text AND a.id < (h.timestamp + 1)::text AND ${hexOf("a.transaction_hash")} = h.transaction_id
      AND a.type = CASE WHEN h.type IN ('NameRegistered', 'LabelRegistered') THEN 'registration' ELSE 'renewal' END
      AND right(a.id, 16)::bigint >= h.log_index ORDER BY a.id LIMIT 1) END`;

/** SQL of a `StoredEntry` per row, as JSON in the column `found`, from rows with the common columns. */
function entriesSql(entries: string, order: string, namespaces: readonly IndexedNamespace[]): string {
  const keys = historyOrder("h").map(({ sql }) => sql);
  return `SELECT json_build_object('id', h.id, 'type', h.type, 'timestamp', h.timestamp, 'block', h.block_number, 'log', h.log_index, 'transaction', h.transaction_id,
  'node', h.node, 'name', coalesce(domain.name, (SELECT v.name FROM v2_domains v WHERE v.id = h.node LIMIT 1)), 'parent', ${parentOfEntry("h")},
  'chain', ${chainOfEntry(namespaces, "h")}, 'namespace', ${namespaceOfEntry(namespaces, "h")}, 'holder', h.holder, 'resolver', ${addressOfResolver("h.resolver")}, 'key', left(h.key, 1000),
  'value', left(h.value, 5000), 'fuses', h.fuses, 'expiry', h.expiry::text, 'coin', h.coin::text, 'old', h.old, 'since', coalesce(l.since, b.since), 'facts', ${factsSql(namespaces)}, 'payment', ${paymentSql},
  'after', ${rowPositionSql(keys)}) AS found
FROM (${entries}) h LEFT JOIN domain ON domain.id = h.node
LEFT JOIN LATERAL (SELECT e.timestamp AS since FROM ${registrationEvents} WHERE r.domain_id = h.node AND e.type = 'NameRegistered' AND e.timestamp <= h.timestamp
  AND h.type IN ${literal([...listEventKinds("registrar"), ...listEventKinds("wrapper"), "Release"])} ORDER BY e.timestamp DESC LIMIT 1) l ON true
LEFT JOIN LATERAL (SELECT max(e.timestamp) AS since FROM v2_domains n JOIN v2_events e ON e.registry = n.registry AND e.labelhash = n.labelhash
  WHERE n.id = h.node AND n.registry = h.key AND h.type IN ${literal(listEventKinds("registryOfV2"))} AND e.type IN ${literal(begins)}
    AND e.timestamp <= h.timestamp) b ON true
${order}`;
}

/** A name that has its labels now. */
export type HealedName = Pick<StoredEntry, "name" | "parent" | "chain" | "namespace"> & { node: Hex };

/** SQL of names by their nodes, which are bound as an array. */
export const healedNamesSql = (namespaces: readonly IndexedNamespace[]) =>
  `SELECT coalesce(json_agg(json_build_object('node', h.node, 'name', h.name, 'parent', h.parent, 'chain', h.chain,
    'namespace', ${namespaceOfEntry(namespaces, "h")})), '[]')::text AS found
  FROM (SELECT d.id AS node, d.name, d.parent_id AS parent, d.chain_id::int AS chain, NULL::text AS type FROM domain d WHERE d.id = ANY($1::text[])) h`;

/** SQL of the number of entries, counted up to `max` and one. */
export function historyCountSql(query: HistoryQuery, max: number): string {
  const where = buildConditionsSql(query);
  const limited = listParts(query, (part) => `(${part})`).map(
    (part) => `(SELECT 1 FROM (${part}) p WHERE ${where} LIMIT ${max + 1})`,
  );
  return `SELECT count(*)::text FROM (SELECT FROM (${limited.join(" UNION ALL ")}) u LIMIT ${max + 1}) c`;
}
