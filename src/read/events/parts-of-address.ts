import { wholeContract } from "../names/grants.ts";
import type { IndexedNamespace } from "../names/indexed-namespaces.ts";
import { hideFromPlanner, secondGeneration } from "../names/stored-name.ts";
import {
  type EventEmitter,
  type EventKind,
  findEmitter,
  listEventKinds,
  literal,
  rootChange,
} from "./kinds.ts";
import {
  byEvent,
  entriesWhere,
  namesOfEntry,
  ofDomain,
  ofRegistration,
  ofResolver,
  ofReverseName,
  partsOfName,
  rootsWhere,
} from "./parts.ts";

// The parts of an address's history. It has what the address received, or all events of the names that it holds or
// held.

// Of an account, by the resource: no statistics tell how many of an account's changes are of whole registries.
const buildRootsSql = (address: string, namespaces: readonly IndexedNamespace[]) =>
  rootsWhere(
    namespaces,
    `e.holder = ${address} AND e.resource = '${wholeContract}' AND ${hideFromPlanner(`e.type = '${rootChange}'`)}`,
  );

/**
 * The parts of an address's history that can have such kinds, at least one: what it received, and its primary names.
 */
export function partsOfAddress(
  address: string,
  namespaces: readonly IndexedNamespace[],
  kinds: readonly EventKind[],
): string[] {
  const emitters = new Set(kinds.filter((kind) => kind !== rootChange).map(findEmitter));
  const ifOf = (emitter: EventEmitter, parts: string[]) => (emitters.has(emitter) ? parts : []);
  return [
    ofDomain(`e.owner_id = ${address} AND ${emitters.has("registry") || emitters.has("wrapper")}`),
    ...ifOf("registrar", [
      ofRegistration(byEvent, `e.registrant_id = ${address}`),
      ofRegistration(byEvent, `e.new_owner_id = ${address}`),
    ]),
    ...ifOf("resolver", [ofResolver(`e.primary_name_of = ${address}`)]),
    ...ifOf("reverseRegistrar", [ofReverseName(`e.address = ${address}`)]),
    ...ifOf("registryOfV2", entriesWhere(namespaces, `e.holder = ${address} AND e.labelhash IS NOT NULL`)),
    ...(kinds.includes(rootChange) ? buildRootsSql(address, namespaces) : []),
  ];
}

/** How an address holds a name, or held it. */
export type Holding = "owner" | "manager" | "role_holder";

/** The most names whose entries a history of an address has, and the most events of a kind that are read for them. */
export const maxHeldNames = 1_000;
const maxNamesOfEntry = 10;

/**
 * SQL of the names that an address holds or held, by the newest events that say so: `nodes`, one beyond the most if
 * there are more, and `max`, how many events of a kind were read.
 */
export function heldNamesSql(
  address: string,
  holdings: readonly Holding[],
  namespaces: readonly IndexedNamespace[],
): string {
  const v2 = secondGeneration(namespaces);
  const [isOwner, isManager] = [holdings.includes("owner"), holdings.includes("manager")];
  const ofEntriesAlone = "(SELECT * FROM v2_events WHERE labelhash IS NOT NULL)";
  const newest = (table: string, columns: string, holder: string) =>
    `SELECT ${columns}, e.timestamp FROM ${table} e WHERE e.${holder} = ${address} ORDER BY e.timestamp DESC LIMIT ${maxHeldNames + 1}`;
  // The owner of a leased name in the registry only manages it.
  const leased = literal(["none", ...namespaces.flatMap(({ leases }) => leases ?? [])]);
  const isOwned = `e.type IN ${literal(listEventKinds("wrapper"))} OR NOT coalesce((SELECT d.parent_id FROM domain d WHERE d.id = e.domain_id) IN ${leased}, false)`;
  const granting = (kind: EventKind) =>
    kind === "EACRolesChanged" ? holdings.includes("role_holder") : isOwner || isManager;
  const sources = [
    ...["registrant_id", "new_owner_id"].map((holder) => ({
      isAsked: isOwner,
      events: newest("registration_event", "e.registration_id", holder),
      nodes: (of: string) =>
        `SELECT r.domain_id AS node, e.timestamp FROM ${of} e JOIN registration r ON r.id = e.registration_id`,
    })),
    {
      isAsked: isOwner || isManager,
      events: newest("domain_event", "e.domain_id, e.type", "owner_id"),
      nodes: (of: string) =>
        `SELECT e.domain_id AS node, e.timestamp FROM ${of} e WHERE ${isManager ? "true" : isOwned}`,
    },
    ...(v2 === undefined ? [] : [v2]).map((contracts) => ({
      isAsked: true,
      events: newest(ofEntriesAlone, "e.registry, e.labelhash, e.type", "holder"),
      nodes: (of: string) =>
        `SELECT n.id AS node, e.timestamp FROM ${of} e CROSS JOIN LATERAL ${namesOfEntry(contracts, "e", maxNamesOfEntry)} n WHERE e.type IN ${literal(["none", ...listEventKinds("registryOfV2").filter(granting)])}`,
    })),
  ].filter(({ isAsked }) => isAsked);
  const tables = sources.map(({ events }, at) => `held_${at} AS MATERIALIZED (${events})`);
  const nodes = [
    `SELECT NULL::text COLLATE "C" AS node, 0 AS timestamp WHERE false`,
    ...sources.map((source, at) => source.nodes(`held_${at}`)),
  ];
  const counts = sources.map((_, at) => `(SELECT count(*) FROM held_${at})`);
  return `${[`WITH given AS (SELECT $1::bigint[], ${address})`, ...tables].join(",\n")}
SELECT json_build_array(json_build_object('max', greatest(${["0", ...counts].join(", ")}), 'nodes', (SELECT coalesce(json_agg(h.node), '[]') FROM (
  SELECT u.node FROM (${nodes.join("\nUNION ALL ")}) u GROUP BY u.node ORDER BY max(u.timestamp) DESC LIMIT ${maxHeldNames + 1}) h)))::text`;
}

/**
 * The history of names that an address holds or held, given as SQL of an array, of its primary names, and of its root
 * roles.
 */
export const entriesOfHeldNames = (
  { address, nodes, hasRoots }: { address: string; nodes: string; hasRoots: boolean },
  namespaces: readonly IndexedNamespace[],
) => ({
  parts: [
    ofResolver(`e.primary_name_of = ${address} AND NOT s.domain_id = ANY (${nodes}::text[])`),
    ofReverseName(`e.address = ${address}`),
    ...(hasRoots ? buildRootsSql(address, namespaces) : []),
  ],
  ofEach: {
    from: `(SELECT unnest(${nodes}::text[]) COLLATE "C" AS node) held`,
    parts: partsOfName("held.node", namespaces, { isOnce: true }),
  },
});
