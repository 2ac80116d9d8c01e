import { zeroAddress } from "../../ens/ids.ts";
import { ethAttachedSql, reachedJoin } from "../database/v2-domains.ts";
import { domainWalkSql, pathWalkSql, type WalkContracts } from "../database/v2-walk.ts";
import type { Place } from "./places.ts";

// Names of ENSv2 among those of the first generation: where rows of names come from, and what is in force (docs/names.md).

/** What rows of `domain d` have. */
export const columns =
  "id, name, label_name, labelhash, parent_id, owner_id, registrant_id, wrapped_owner_id, resolver_id, resolved_address_id, created_at, is_migrated, namespace, chain_id";
const noText = 'NULL::text COLLATE "C"';
/** SQL of the time of the root chain's last indexed block: `$1` are the times of the places. */
export const indexTime = "(($1::bigint[])[1])::numeric";

// Of names that both have, the row of the first counts; what is in force is joined to it.
const ofFirst = (where = "true", from = "domain", more = "") =>
  `SELECT ${columns}, ${noText} AS registry${more} FROM ${from} WHERE ${where}`;
// A cheap look at the way up comes before the walk: anyone can have a million names in a registry that no name leads to.
const ofSecond = (v2: WalkContracts, where = "true", from = "v2_domains", more = "") => `
  SELECT v.id, v.name, v.label_name, v.labelhash, v.parent_id, v.owner_id, v.owner_id, ${noText}, v.resolver_id, ${noText}, v.created_at, true, ${noText}, NULL::integer, v.registry${more}
  FROM ${from} v ${reachedJoin("v", "m", v2, indexTime)}
  WHERE v.chain_id = ${v2.chainId} AND ${where} AND m.is_reached AND NOT EXISTS (SELECT FROM domain o WHERE o.id = v.id OFFSET 0)`;

/** The contracts of ENSv2 on the root chain; undefined where it is not indexed. */
export const secondGeneration = (places: readonly Place[]) => places[0]?.v2;

/** SQL of all names, as rows of `domain d`. */
export function allNames(places: readonly Place[]): string {
  const v2 = secondGeneration(places);
  return v2 === undefined ? "domain d" : `(${ofFirst()} UNION ALL ${ofSecond(v2)}) d`;
}

/** SQL that joins the name of a node, as a row of `domain d`. */
export function nameOfNode(places: readonly Place[], node: string): string {
  const v2 = secondGeneration(places);
  if (v2 === undefined) return `JOIN domain d ON d.id = ${node}`;
  return `CROSS JOIN LATERAL (${ofFirst(`id = ${node}`)} UNION ALL ${ofSecond(v2, `v.id = ${node}`)} OFFSET 0) d`;
}

/**
 * SQL that joins the name at a path, given as SQL of JSON with `name`, `node`, `labelhash` and `parent` beside what `pathWalkSql` needs,
 * as a row of `domain d`: of any entry in registries of known code that is found from the root, also where lists have too many
 * names of its registry.
 */
export const nameOfPath = (v2: WalkContracts, path: string) => `CROSS JOIN LATERAL (
  SELECT ${path}->>'node' AS id, ${path}->>'name' AS name, ${noText} AS label_name, ${path}->>'labelhash' AS labelhash, ${path}->>'parent' AS parent_id,
    coalesce(f.holder, '${zeroAddress}') AS owner_id, ${noText} AS registrant_id, ${noText} AS wrapped_owner_id, ${noText} AS resolver_id,
    ${noText} AS resolved_address_id, f.created_at, true AS is_migrated, ${noText} AS namespace, NULL::integer AS chain_id, f.registry, ${path} AS path
  FROM (${pathWalkSql(path, v2, indexTime)}) f WHERE f.storage_id IS NOT NULL AND f.is_proven OFFSET 0) d`;

/** Some rows of a table, as SQL, with further columns to sort by. */
export type SomeRows = { of: (table: string) => string; columns: readonly string[] };

/** The tables that have names, in the order of `partsOfNames`. */
export const tablesOfNames = ["domain", "v2_domains"] as const;

/** SQL of the same in parts, each of which an index can have in order; of all rows, or of some. */
export function partsOfNames(
  places: readonly Place[],
  { of, columns: further }: SomeRows = { of: (table) => table, columns: [] },
): string[] {
  const v2 = secondGeneration(places);
  if (v2 === undefined) return [`${of("domain")} d`];
  const more = (alias: string) => further.map((column) => `, ${alias}${column}`).join("");
  const first = ofFirst("true", `${of("domain")} domain`, more(""));
  const second = ofSecond(v2, "true", of("v2_domains"), more("v."));
  return [`(${first}) d`, `(SELECT * FROM (${second}) v (${columns}, registry${more("")})) d`];
}

/** A way to find names as rows of `domain d`: by which column of a registry they are held, and SQL of the name and node that they are sorted by. */
export type Held = {
  by: "registrant_id" | "wrapped_owner_id" | "owner_id" | "entry";
  from: string;
  where: string;
  name: string;
  id: string;
};

/** How the names are found that an address holds in any way, of which not all are its own now; each by a registry of one generation. */
export function namesHeldBy(places: readonly Place[], holder: string): Held[] {
  const [first = ""] = partsOfNames(places);
  const v2 = secondGeneration(places);
  const entries = entriesOf(places, "e");
  const others = v2
    ? ` AND NOT EXISTS (SELECT FROM v2_domains e ${reachedJoin("e", "m", v2, indexTime)}
    WHERE e.chain_id = ${v2.chainId} AND e.id = d.id AND e.owner_id = ${holder} AND m.is_reached OFFSET 0)`
    : "";
  const held = (["registrant_id", "wrapped_owner_id", "owner_id"] as const).map((by) => ({
    by,
    from: first,
    where: `d.${by} = ${holder}${others}`,
    name: "d.name",
    id: "d.id",
  }));
  if (entries === undefined) return held;
  const { from, where, name, id } = entries;
  return [...held, { by: "entry", from, where: `${where} AND e.owner_id = ${holder}`, name, id }];
}

/** Names by their rows of `v2_domains` under an alias, of registries that names lead to; undefined where there are none. */
export function entriesOf(
  places: readonly Place[],
  alias: string,
): Pick<Held, "from" | "where" | "name" | "id"> | undefined {
  const v2 = secondGeneration(places);
  if (v2 === undefined) return undefined;
  // What is not reached is looked up no further.
  const reached = `CASE WHEN at_${alias}.is_reached THEN ${alias}.id END`;
  return {
    from: `v2_domains ${alias} ${reachedJoin(alias, `at_${alias}`, v2, indexTime)} ${nameOfNode(places, reached)}`,
    where: `${alias}.chain_id = ${v2.chainId} AND at_${alias}.is_reached`,
    name: `${alias}.name`,
    id: `${alias}.id`,
  };
}

/**
 * SQL condition that no entry of the .eth registry is in force for a node: most names that were brought over still have their
 * lease in the first generation, and need no walk.
 */
export const notInSecond = (v2: WalkContracts, node: string): string => `NOT EXISTS (SELECT FROM v2_domains n
    WHERE n.chain_id = ${v2.chainId} AND n.id = ${node} AND n.registry = '${v2.ethRegistry}' AND n.owner_id <> '${zeroAddress}'
      AND n.expiry_date > ${indexTime} AND ${ethAttachedSql(v2, indexTime)} OFFSET 0)`;

/**
 * Joins what ENSv2 makes of each name: `v` is what the walk from the root found, `g.is_v2` whether its facts are those of the entry,
 * `g.is_gone` whether the first generation's lease is one of the Graveyard. Rows that no registry leads to are left out. `path`: SQL of
 * the path, where the rows are those of `nameOfPath`.
 */
export function generationJoins(v2: WalkContracts, path?: string): string {
  const walk = path === undefined ? domainWalkSql("wk", v2, indexTime) : pathWalkSql(path, v2, indexTime);
  return `
CROSS JOIN LATERAL (SELECT CASE WHEN p.place = 1 THEN d.id END AS id OFFSET 0) wk
LEFT JOIN LATERAL (${walk} OFFSET 0) v ON true
JOIN LATERAL (SELECT coalesce(v.version = 'v2' OR v.authority = 'none' AND v.is_entry AND v.storage_id IS NOT NULL, false) AS is_v2,
  coalesce(v.authority = 'none' AND r.registrant_id = '${v2.graveyard}' AND NOT coalesce(v.is_entry, false), false) AS is_gone
  WHERE d.registry IS NULL OR d.registry = v.registry OFFSET 0) g ON true`;
}

/** SQL of what is in force, from that of the first generation (`y1`) and of the walk. */
export const generationFacts = `
CROSS JOIN LATERAL (SELECT y1.is_wrapped AND NOT g.is_v2 AS is_wrapped, y1.is_lapsed AND NOT g.is_v2 AS is_lapsed,
  y1.is_emancipated, CASE WHEN g.is_v2 THEN v.storage_id IS NOT NULL ELSE y1.is_lease END AS is_lease,
  CASE WHEN g.is_v2 THEN v.effective_expiry_date WHEN NOT g.is_gone THEN y1.expires END AS expires,
  CASE WHEN g.is_v2 THEN coalesce(v.grace_end_date, v.effective_expiry_date) WHEN NOT g.is_gone THEN y1.grace_ends END AS grace_ends,
  CASE WHEN g.is_gone THEN 'released' WHEN NOT g.is_v2 THEN y1.status WHEN v.storage_id IS NULL THEN 'unregistered'
    WHEN s.now < v.effective_expiry_date THEN 'active' WHEN s.now < v.grace_end_date THEN 'expired' ELSE 'released' END AS status,
  CASE WHEN g.is_v2 THEN v.effective_owner WHEN NOT g.is_gone THEN y1.owner END AS owner,
  CASE WHEN g.is_v2 THEN v.effective_owner WHEN NOT g.is_gone THEN y1.manager END AS manager,
  CASE WHEN g.is_v2 THEN v.created_at ELSE r.registration_date END AS since OFFSET 0) x`;

/** SQL of the members of a name's JSON that only ENSv2 has. */
export const generationJson = `'v2', CASE WHEN p.place = 1 AND (v.version IS NOT NULL OR g.is_v2) THEN json_build_object('version', v.version, 'isReserved', v.reserved,
  'migrated', v.migrated_at::text, 'path', v.registry_path, 'isInForce', g.is_v2, 'token', v.token_id,
  'subregistry', nullif(v.subregistry, '${zeroAddress}'), 'holder', nullif(v.holder, '${zeroAddress}')) END`;

/** SQL of what tells how the resolver of a name in ENSv2 is read, as JSON; null for other names. */
export const resolverFacts = `CASE WHEN g.is_v2 THEN json_build_object('resolver', v.effective_resolver, 'isProven', v.is_proven,
  'isOwn', v.is_own_resolver, 'implementation', v.implementation, 'hasRecordIds', v.has_record_ids, 'isUpgraded', v.is_upgraded,
  'labels', v.label_path) END`;
