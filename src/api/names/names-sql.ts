import { zeroAddress } from "../../ens/ids.ts";
import { firstGenerationJoins } from "../database/first-generation.ts";
import { domainWalkSql, pathWalkSql, type WalkContracts } from "../database/v2-walk.ts";
import { indexTime, secondGeneration } from "./generations.ts";
import type { Place } from "./places.ts";

// What holds of a name now, by the rules of docs/names.md, as one table `names` with named columns: lists filter and sort by it.

const text = (value: string | undefined) => (value === undefined ? "NULL" : `'${value}'`);

/** SQL of the address in the SQL of a resolver's id, which ends with `0x<address>-0x<node>`, or of an address alone. A regular expression takes 20 times as long. */
export const addressOfResolver = (id: string) => `left(right(${id}, 109), 42)`;

/** SQL of the address of the resolver that the root chain's registry of the first generation has. */
export const ownResolver = addressOfResolver("d.resolver_id");

// On all chains but the root one registries' links to resolvers are rows of their own.
function ofResolver(places: readonly Place[], onRoot: string, elsewhere: (chainId: number) => string) {
  const others = places.flatMap(({ chainId, linker }, at) =>
    linker === undefined
      ? []
      : [
          `WHEN ${at + 1} THEN (SELECT ${elsewhere(chainId)} FROM domain_resolver_relations l
    WHERE l.chain_id = ${chainId} AND l.address = '${linker}' AND l.domain_id = d.id)`,
        ],
  );
  return others.length === 0 ? onRoot : `CASE home.place ${others.join(" ")} ELSE ${onRoot} END`;
}

/**
 * Joins to `domain d` what holds of each name, as `names`: where it lives (`place` from 1, `chain`, `now`), its status, owner, manager and dates,
 * and what of it a lease, the wrapper or ENSv2 says. `$1` is the time at each place. Columns that nothing reads cost nothing.
 * `path`: SQL of the path, where the rows are those of `nameOfPath`. Of ENSv2, rows that no registry leads to are left out.
 */
export function namesJoins(places: readonly Place[], path?: string): string {
  const v2 = secondGeneration(places);
  const managed = places.flatMap(({ leases }) => (leases === undefined ? [] : [text(leases)]));
  const ofPlace = (value: (place: Place) => string, type: string) =>
    `(ARRAY[${places.map(value).join(", ")}]::${type}[])[home.place]`;
  const first = firstGenerationJoins({
    now: "rule.now",
    grace: "rule.grace",
    isManaged: "rule.is_managed",
    isWrapper: (address) => `${address} = rule.wrapper`,
  });
  // Names of ENSv2 alone have no row that says where they live: they are on the root chain.
  const isAt = ({ namespace, chainId }: Place, at: number) =>
    `WHEN d.chain_id = ${chainId} AND d.namespace = '${namespace}' THEN ${at + 1}`;
  return `
CROSS JOIN LATERAL (SELECT CASE ${places.map(isAt).join(" ")} WHEN true THEN 1 END AS place OFFSET 0) home
CROSS JOIN LATERAL (SELECT ($1::bigint[])[home.place] AS now, ${ofPlace(({ nameWrapper }) => text(nameWrapper), "text")} AS wrapper,
  ${ofPlace(({ grace }) => String(grace), "bigint")} AS grace, d.parent_id IN (${[...managed, "'none'"].join(", ")}) AS is_managed OFFSET 0) rule${first}${v2 ? bothGenerations(v2, path) : firstAlone}
CROSS JOIN LATERAL (SELECT d.id AS node, d.name, d.labelhash, d.parent_id AS parent, d.created_at AS created, home.place, rule.now,
  ${ofPlace(({ chainId }) => String(chainId), "int")} AS chain, held.status, held.owner, held.manager, held.registered, held.expires, held.grace_ends,
  held.is_lease, rule.is_managed, held.is_wrapped, held.is_lapsed, of_v1.is_emancipated, wrapped.fuses, wrapped.expiry_date AS wrapper_expires,
  wrapped.id IS NOT NULL OR (SELECT true FROM domain_event e WHERE e.domain_id = d.id AND e.type = 'NameWrapped' LIMIT 1) IS NOT NULL AS was_wrapped,
  held.last_holder, lease.registrant_id = rule.wrapper AS is_held_through_wrapper, d.is_migrated, d.owner_id <> '${zeroAddress}' AS is_owned,
  CASE WHEN held.has_v1_resolver THEN ${ofResolver(places, ownResolver, () => "l.resolver")} ELSE held.v2_resolver END AS resolver,
  ${ofResolver(places, "d.resolver_id", (chainId) => `'${chainId}-' || l.resolver || '-' || d.id`)} AS resolver_row,
  held.is_v2, held.registry, held.v2, held.reading) names`;
}

const lastHolder =
  "CASE WHEN of_v1.is_wrapped THEN wrapped.owner_id WHEN lease.registrant_id IS DISTINCT FROM rule.wrapper THEN lease.registrant_id END";

const firstAlone = `
CROSS JOIN LATERAL (SELECT of_v1.*, lease.registration_date AS registered, ${lastHolder} AS last_holder, true AS has_v1_resolver,
  NULL::text AS v2_resolver, false AS is_v2, NULL::text AS registry, NULL::json AS v2, NULL::json AS reading) held`;

// `v2` is what the walk from the root found, `kept.is_v2` whether its facts are those of the entry, `kept.is_gone` whether the first
// generation's lease is one of the Graveyard. `reading`: how the resolver of a name in ENSv2 is read.
const bothGenerations = (v2: WalkContracts, path?: string) => `
CROSS JOIN LATERAL (SELECT CASE WHEN home.place = 1 THEN d.id END AS id OFFSET 0) walked
LEFT JOIN LATERAL (${path === undefined ? domainWalkSql("walked", v2, indexTime) : pathWalkSql(path, v2, indexTime)} OFFSET 0) entry ON true
JOIN LATERAL (SELECT coalesce(entry.version = 'v2' OR entry.authority = 'none' AND entry.is_entry AND entry.storage_id IS NOT NULL, false) AS is_v2,
  coalesce(entry.authority = 'none' AND lease.registrant_id = '${v2.graveyard}' AND NOT coalesce(entry.is_entry, false), false) AS is_gone
  WHERE d.registry IS NULL OR d.registry = entry.registry OFFSET 0) kept ON true
CROSS JOIN LATERAL (SELECT of_v1.is_wrapped AND NOT kept.is_v2 AS is_wrapped, of_v1.is_lapsed AND NOT kept.is_v2 AS is_lapsed,
  CASE WHEN kept.is_v2 THEN entry.storage_id IS NOT NULL ELSE of_v1.is_lease END AS is_lease,
  CASE WHEN kept.is_v2 THEN entry.effective_expiry_date WHEN NOT kept.is_gone THEN of_v1.expires END AS expires,
  CASE WHEN kept.is_v2 THEN coalesce(entry.grace_end_date, entry.effective_expiry_date) WHEN NOT kept.is_gone THEN of_v1.grace_ends END AS grace_ends,
  CASE WHEN kept.is_gone THEN 'released' WHEN NOT kept.is_v2 THEN of_v1.status WHEN entry.storage_id IS NULL THEN 'unregistered'
    WHEN rule.now < entry.effective_expiry_date THEN 'active' WHEN rule.now < entry.grace_end_date THEN 'expired' ELSE 'released' END AS status,
  CASE WHEN kept.is_v2 THEN entry.effective_owner WHEN NOT kept.is_gone THEN of_v1.owner END AS owner,
  CASE WHEN kept.is_v2 THEN entry.effective_owner WHEN NOT kept.is_gone THEN of_v1.manager END AS manager,
  CASE WHEN kept.is_v2 THEN entry.created_at ELSE lease.registration_date END AS registered,
  CASE WHEN kept.is_v2 THEN entry.holder ELSE ${lastHolder} END AS last_holder,
  NOT (kept.is_v2 OR kept.is_gone) AS has_v1_resolver, entry.effective_resolver AS v2_resolver, kept.is_v2, entry.registry,
  CASE WHEN home.place = 1 AND (entry.version IS NOT NULL OR kept.is_v2) THEN json_build_object('version', entry.version, 'isReserved', entry.reserved,
    'migrated', entry.migrated_at::text, 'path', entry.registry_path, 'isInForce', kept.is_v2, 'token', entry.token_id,
    'subregistry', nullif(entry.subregistry, '${zeroAddress}'), 'holder', nullif(entry.holder, '${zeroAddress}')) END AS v2,
  CASE WHEN kept.is_v2 THEN json_build_object('resolver', entry.effective_resolver, 'isProven', entry.is_proven, 'isOwn', entry.is_own_resolver,
    'implementation', entry.implementation, 'hasRecordIds', entry.has_record_ids, 'isUpgraded', entry.is_upgraded, 'labels', entry.label_path) END AS reading
  OFFSET 0) held`;
