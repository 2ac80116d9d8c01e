import { hexOf } from "../../schema/sql.ts";
import type { IndexedNamespace } from "../names/indexed-namespaces.ts";
import { indexTime, secondGeneration } from "../names/stored-name.ts";
import { reachedJoin, type WalkContracts } from "../names/v2-walk.ts";
import {
  begins,
  type EventEmitter,
  type EventKind,
  findEmitter,
  listEventKinds,
  literal,
  rootChange,
} from "./kinds.ts";

// The parts of histories: SQL of stored events with the same columns, one part for each table and way to find them.
// Releases have no event: they follow from the dates.

// Columns of all parts: the node, the holder who received it, a resolver, a key and its value, and dates. `e` is the
// event. The SQL view `events` has columns of its own: they are a contract, and its SQL determines the build id of an
// index.
const partColumns = {
  id: "e.id",
  chain: "CASE WHEN split_part(e.id, '-', 2) = e.block_number::text THEN split_part(e.id, '-', 1)::int END",
  type: "e.type",
  timestamp: "e.timestamp",
  block_number: "e.block_number",
  log_index: "e.log_index",
  transaction_id: hexOf("e.transaction_id"),
  node: "NULL::text",
  holder: "NULL::text",
  resolver: "NULL::text",
  key: "NULL::text",
  value: "NULL::text",
  fuses: "NULL::int",
  expiry: "NULL::numeric",
  coin: "NULL::numeric",
  old: "NULL::boolean",
};

const partSql = (from: string, where: string, columns: Partial<typeof partColumns>) =>
  `SELECT ${Object.entries({ ...partColumns, ...columns })
    .map(([name, sql]) => `${sql} AS ${name}`)
    .join(", ")} FROM ${from} WHERE ${where}`;

/** SQL of the events of registries and the name wrapper that meet a condition on `e`. */
export const ofDomain = (where: string) =>
  partSql("domain_event e", where, {
    node: "e.domain_id",
    holder: "e.owner_id",
    resolver: "e.resolver_id",
    key: "e.name",
    fuses: "e.fuses",
    expiry: "e.expiry_date",
    old: "e.from_old_registry",
  });

/** SQL of registrars' events. `from` gives `e` of `registration_event` and `r` of `registration`. */
export const ofRegistration = (from: string, where: string) =>
  partSql(from, where, {
    node: "r.domain_id",
    holder: "coalesce(e.registrant_id, e.new_owner_id)",
    expiry: "e.expiry_date",
  });

// Resolvers emit the older AddrChanged beside the event for coin type 60, and it says no more.
const isDuplicateAddrChanged = `e.type = 'AddrChanged' AND EXISTS (
    SELECT FROM resolver_event o WHERE o.resolver_id = e.resolver_id AND o.block_number = e.block_number AND o.type = 'MulticoinAddrChanged'
      AND o.coin_type = 60 AND abs(o.log_index - e.log_index) = 1)`;

/** SQL of resolvers' events that meet a condition on `e` and their resolver `s`. */
export const ofResolver = (where: string) =>
  partSql(
    "resolver s JOIN resolver_event e ON e.resolver_id = s.id",
    `${where} AND NOT (${isDuplicateAddrChanged})`,
    {
      type: "CASE WHEN e.primary_name_of IS NULL THEN e.type ELSE 'ReverseNameChanged' END",
      node: "s.domain_id",
      holder: "e.primary_name_of",
      resolver: "s.id",
      key: "coalesce(e.key, e.name, e.content_type::text)",
      value: "coalesce(e.value, e.addr, e.addr_id, e.hash)",
      expiry: "e.version",
      coin: "e.coin_type",
    },
  );

/** SQL of reverse registrars' events that meet a condition on `e`. Their names have no node in any registry. */
export const ofReverseName = (where: string) =>
  partSql("reverse_name_events e", where, {
    type: "'NameForAddrChanged'",
    transaction_id: hexOf("e.transaction_hash"),
    holder: "e.address",
    key: "e.name",
    coin: "e.coin_type",
  });

// ENSv2 events; the key is their registry. `from` gives `e` of `v2_events` and `n` of `v2_domains`.
const ofEntries = (from: string, where: string, columns: Partial<typeof partColumns> = {}) =>
  partSql(from, where, {
    transaction_id: hexOf("e.transaction_hash"),
    node: "n.id",
    holder: "e.holder",
    resolver: "CASE WHEN e.type = 'ResolverUpdated' THEN e.address END",
    key: "e.registry",
    value: "CASE WHEN e.type = 'SubregistryUpdated' THEN e.address ELSE e.roles END",
    expiry: "e.expiry",
    ...columns,
  });

/**
 * SQL of the names of the entry that a row tells under an alias. If its registry has several, `max` that are reached
 * count.
 */
export const namesOfEntry = (v2: WalkContracts, of: string, max = 1) => `(
    SELECT v.id FROM v2_domains v ${reachedJoin("v", "m", v2, indexTime)}
    WHERE v.chain_id = ${v2.chainId} AND v.registry = ${of}.registry AND v.labelhash = ${of}.labelhash AND m.is_reached ORDER BY v.id LIMIT ${max})`;

/**
 * SQL of the events of ENSv2 entries that meet a condition on `e`, with the names of the entries; none without ENSv2.
 */
export function entriesWhere(namespaces: readonly IndexedNamespace[], where: string): string[] {
  const v2 = secondGeneration(namespaces);
  if (v2 === undefined) return [];
  return [
    ofEntries(
      `v2_events e CROSS JOIN LATERAL ${namesOfEntry(v2, "e")} n`,
      `e.chain_id = ${v2.chainId} AND ${where}`,
    ),
  ];
}

/** SQL of changes of roles on whole registries that meet a condition on `e`; none without ENSv2. */
export function rootsWhere(namespaces: readonly IndexedNamespace[], where: string): string[] {
  const v2 = secondGeneration(namespaces);
  const columns = { type: `'${rootChange}'`, node: partColumns.node };
  return v2 ? [ofEntries("v2_events e", `e.chain_id = ${v2.chainId} AND ${where}`, columns)] : [];
}

/**
 * The parts of the registrations of a name's direct subnames, which ENSv2 alone has: each in the order of an index.
 * Below a name that is reached and in force, so is each name of its registry, unless the registry has a place of its
 * own.
 */
export function partsOfChildren(node: string, namespaces: readonly IndexedNamespace[]): string[] {
  const v2 = secondGeneration(namespaces);
  if (v2 === undefined) return [];
  const registry = `(SELECT v.subregistry FROM v2_domains v ${reachedJoin("v", "m", v2, indexTime)}
    WHERE v.chain_id = ${v2.chainId} AND v.id = ${node} AND v.expiry_date > ${indexTime} AND m.is_reached
      AND v.subregistry NOT IN ${literal([v2.root, v2.ethRegistry])} LIMIT 1)`;
  const child = `SELECT v.id FROM v2_domains v
    WHERE v.chain_id = ${v2.chainId} AND v.registry = e.registry AND v.labelhash = e.labelhash AND v.parent_id = ${node} LIMIT 1`;
  return begins.map((type) =>
    ofEntries(
      `v2_events e CROSS JOIN LATERAL (${child}) n`,
      `e.chain_id = ${v2.chainId} AND e.registry = ${registry} AND e.type = '${type}'`,
    ),
  );
}

// `isOnce`: only at the name that counts for the entry, so that the names of one entry do not all have its events.
function entriesOfName(
  namespaces: readonly IndexedNamespace[],
  node: string,
  { isOnce = false } = {},
): string[] {
  const v2 = secondGeneration(namespaces);
  if (v2 === undefined) return [];
  const once = isOnce ? ` AND n.id = ${namesOfEntry(v2, "n")}` : "";
  const named = `v2_domains n ${reachedJoin("n", "m", v2, indexTime)} JOIN v2_events e ON e.chain_id = n.chain_id
    AND e.registry = n.registry AND e.labelhash = n.labelhash`;
  return [ofEntries(named, `n.chain_id = ${v2.chainId} AND n.id = ${node} AND m.is_reached${once}`)];
}

/** Events of registrations `e` with their registrations `r`, by registration. */
export const registrationEvents = "registration r JOIN registration_event e ON e.registration_id = r.id";
/** The same by event. */
export const byEvent = "registration_event e JOIN registration r ON r.id = e.registration_id";

// Leases that were not renewed within their grace period, at the first second after it.
function releases(node: string, namespaces: readonly IndexedNamespace[]): string {
  const managed = namespaces.flatMap(({ leases, grace }) =>
    leases === undefined ? [] : [`WHEN '${leases}' THEN ${grace + 1}`],
  );
  const ended = `(SELECT e.id, ${partColumns.chain} AS chain, e.expiry_date, g.grace, lead(e.timestamp, 1, ($1::bigint[])[1]::int) OVER (ORDER BY e.timestamp, e.log_index) AS next
    FROM ${registrationEvents} JOIN domain ON domain.id = r.domain_id CROSS JOIN LATERAL (SELECT CASE domain.parent_id ${["WHEN 'none' THEN 0", ...managed].join(" ")} ELSE 0 END AS grace) g
    WHERE r.domain_id = ${node} AND e.expiry_date IS NOT NULL AND e.expiry_date < 4000000000) t`;
  const isOver = `t.expiry_date + t.grace <= t.next${secondGeneration(namespaces) ? notBroughtOver(node) : ""}`;
  return partSql(ended, isOver, {
    id: "'release-' || t.id",
    chain: "t.chain",
    type: "'Release'",
    timestamp: "(t.expiry_date + t.grace)::int",
    block_number: "NULL::int",
    log_index: "NULL::int",
    transaction_id: "NULL::text",
    node,
    expiry: "t.expiry_date",
  });
}

// A first-generation lease that lapses after ENSv2 has the name is no release.
const notBroughtOver = (
  node: string,
) => ` AND NOT EXISTS (SELECT FROM v2_entries o WHERE o.node = ${node} AND EXISTS (
  SELECT FROM v2_events b WHERE b.registry = o.registry AND b.labelhash = o.labelhash AND b.type IN ${literal(begins)}
    AND b.timestamp <= t.expiry_date + t.grace))`;

/** The parts of a name's history: events of its node, at any resolver. */
export const partsOfName = (
  node: string,
  namespaces: readonly IndexedNamespace[],
  options?: Parameters<typeof entriesOfName>[2],
) => [
  ofDomain(`e.domain_id = ${node}`),
  ofRegistration(registrationEvents, `r.domain_id = ${node}`),
  ofResolver(`s.domain_id = ${node}`),
  releases(node, namespaces),
  ...entriesOfName(namespaces, node, options),
];

// Each condition has an index in order of time.
function whereKind(kind: EventKind): string {
  if (kind === "ReverseNameChanged") return "e.primary_name_of IS NOT NULL";
  return `e.type = '${kind}'${kind === "NameChanged" ? " AND e.primary_name_of IS NULL" : ""}`;
}

/** SQL of the emitters' addresses. `isOld`: whether the older of a chain's two registries emitted. */
type EmitterSql = { resolver?: string; registryOfV2?: string; isOld?: boolean | undefined };

/**
 * The parts of a history by kind of event, each in the order of an index and without releases. Of any emitter, or the
 * given one.
 */
export const partsOfKinds = (
  kinds: readonly EventKind[],
  namespaces: readonly IndexedNamespace[],
  { resolver, registryOfV2, isOld }: EmitterSql = {},
) =>
  kinds.flatMap((kind) => {
    const where = whereKind(kind);
    const and = (condition: string, isGiven: boolean) => (isGiven ? `${where} AND ${condition}` : where);
    const emitter = findEmitter(kind);
    if (emitter === "reverseRegistrar") return [ofReverseName("true")];
    if (emitter === "registry" || emitter === "wrapper")
      return [ofDomain(and(`e.from_old_registry IS ${isOld ? "" : "NOT "}TRUE`, isOld !== undefined))];
    if (emitter === "registrar") return [ofRegistration(byEvent, where)];
    if (emitter === "registryOfV2") {
      const parts = kind === rootChange ? rootsWhere : entriesWhere;
      return parts(namespaces, and(`e.registry = ${registryOfV2}`, registryOfV2 !== undefined));
    }
    return emitter === "resolver" ? [ofResolver(and(`s.address = ${resolver}`, resolver !== undefined))] : [];
  });

/**
 * The parts of all events that meet a condition on their row `e`, each event once and without releases. `isNamed`: with
 * the names of ENSv2 entries, `node` being null for those that no name leads to; else `node` is null for all events of
 * ENSv2.
 */
export function partsOfEvents(
  namespaces: readonly IndexedNamespace[],
  where: string,
  { isNamed }: { isNamed: boolean },
): string[] {
  const ofTypes = (emitters: readonly EventEmitter[]) =>
    `e.type IN ${literal(emitters.flatMap(listEventKinds))} AND ${where}`;
  const v2 = secondGeneration(namespaces);
  const ofSecond = (contracts: WalkContracts) => {
    const name = isNamed
      ? `LEFT JOIN LATERAL ${namesOfEntry(contracts, "e")} n ON true`
      : "CROSS JOIN (SELECT NULL::text AS id) n";
    const condition = `e.chain_id = ${contracts.chainId} AND ${ofTypes(["registryOfV2"])}`;
    return [ofEntries(`v2_events e ${name}`, condition)];
  };
  return [
    ofDomain(ofTypes(["registry", "wrapper"])),
    ofRegistration(byEvent, ofTypes(["registrar"])),
    ofResolver(ofTypes(["resolver"])),
    ofReverseName(where),
    ...(v2 === undefined ? [] : ofSecond(v2)),
  ];
}
