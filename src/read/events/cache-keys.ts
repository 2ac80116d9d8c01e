import { keyOfAddresses, keyOfAll } from "../names/cache-keys.ts";
import { literal } from "./kinds.ts";

// SQL of the surrogate keys that an event changes (docs/events.md).

// Events by which ENSv2 has other names below a name, or one generation takes them over from the other.
const movesNames = [
  ...[
    "SubregistryUpdated",
    "LabelRegistered",
    "LabelReserved",
    "LabelUnregistered",
    "Migration",
    "ExpiryUpdated",
  ],
  ...["NameRegistered", "NameRenewed", "NameTransferred"],
];

// Of each kind of event of a name, how many are read for the addresses that they named. Anyone can emit a million.
const maxEvents = 100;

/**
 * SQL of the keys of what an event changes, as an array. `event`: an alias with `chain_id`, `type`, `node`, `event_id`,
 * `holder`. Addresses are all that the name's events ever named, since lists and histories of each have its row.
 */
export function keysSql(event: string): string {
  const newest = (columns: string, from: string, by = "e.id") =>
    `(SELECT ${columns} FROM ${from} ORDER BY ${by} DESC LIMIT ${maxEvents})`;
  const named = (columns: string, from: string, by?: string) =>
    `SELECT unnest(x.named) AS address FROM ${newest(`ARRAY[${columns}] AS named`, from, by)} x`;
  const ofDomain = newest("e.owner_id, e.resolver_id", "domain_event e WHERE e.domain_id = a.node");
  const ofResolver = "resolver_event e WHERE e.resolver_id = r.resolver_id";
  const ofEntry = (v: string) => `${v}.registry = e.registry AND ${v}.labelhash = e.labelhash`;
  // The registry that the entry has or had as its own may have names.
  const subregistries = newest(
    "o.address",
    `v2_events e JOIN v2_events o ON ${ofEntry("o")} WHERE e.id = ${event}.event_id`,
    "o.timestamp",
  );
  const addresses = [
    "SELECT unnest(n.holders || n.owners) AS address",
    named(
      "e.registrant_id, e.new_owner_id",
      "registration r JOIN registration_event e ON e.registration_id = r.id WHERE r.domain_id = n.node",
    ),
    named("e.registrant", "registrar_actions e WHERE e.node = n.node"),
    // Only resolvers that the name has or had: any contract can emit records of any name.
    `SELECT y.address FROM (SELECT DISTINCT unnest(n.resolver_id || n.resolvers) AS resolver_id) r CROSS JOIN LATERAL (${named("e.primary_name_of, e.addr_id, e.addr", ofResolver)}) y`,
    named("e.holder", `v2_domains v JOIN v2_events e ON ${ofEntry("v")} WHERE v.id = n.node`, "e.timestamp"),
  ];
  // CASE: with AND Postgres asks for names below first.
  return `(WITH n AS MATERIALIZED (
    SELECT a.*, coalesce(a.above, d.parent_id) AS parent, d.holders, d.resolver_id, e.owners, e.resolvers FROM (
      SELECT ${event}.node AS node, NULL AS above, NULL AS subregistry
      UNION ALL (SELECT v.id, v.parent_id, v.subregistry FROM v2_events e JOIN v2_domains v ON ${ofEntry("v")}
        WHERE ${event}.node IS NULL AND e.id = ${event}.event_id LIMIT ${maxEvents})) a
    LEFT JOIN LATERAL (SELECT d.parent_id, d.resolver_id, ARRAY[d.owner_id, d.registrant_id, d.wrapped_owner_id, d.resolved_address_id] AS holders
      FROM domain d WHERE d.id = a.node OFFSET 0) d ON true
    CROSS JOIN LATERAL (SELECT array_agg(e.owner_id) AS owners, array_agg(e.resolver_id) AS resolvers FROM ${ofDomain} e) e)
  SELECT array_agg(DISTINCT k.key) FILTER (WHERE k.key IS NOT NULL) FROM (
    SELECT '${keyOfAll}' AS key UNION ALL SELECT 'name:' || n.node FROM n UNION ALL SELECT 'subnames:' || n.parent FROM n
    UNION ALL SELECT 'address:' || ${event}.holder
    UNION ALL SELECT '${keyOfAddresses}' WHERE CASE WHEN ${event}.type IN ${literal(movesNames)} THEN (EXISTS (SELECT FROM n WHERE (SELECT d.id FROM domain d WHERE d.parent_id = n.node LIMIT 1) IS NOT NULL)
      OR EXISTS (SELECT FROM (SELECT n.subregistry AS address FROM n UNION ALL ${subregistries}) o
        WHERE (SELECT s.registry FROM v2_entries s WHERE (s.chain_id, s.registry) = (${event}.chain_id, o.address)
            ORDER BY s.chain_id, s.registry, s.storage_id LIMIT 1) IS NOT NULL
          OR EXISTS (SELECT FROM v2_contracts s WHERE s.chain_id = ${event}.chain_id AND s.address = o.address AND s.node IS NOT NULL))) END
    UNION ALL SELECT 'address:' || a.address FROM n CROSS JOIN LATERAL (
      ${addresses.join("\n      UNION ALL ")}) a WHERE length(a.address) = 42) k)`;
}
