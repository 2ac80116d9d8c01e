import type { Hex } from "viem";
import { rootNode, subnode, zeroAddress } from "../../ens/ids.ts";
import { keccak256 } from "../../ens/keccak.ts";
import { emancipation, gracePeriod, gracePeriodOfV2, mostLevels } from "../../ens/registrations.ts";
import { firstGenerationJoins } from "./first-generation.ts";

// Names of the second generation are read by walking from the root registry: one statement, or a part of one. An entry counts
// while its expiry has not been reached; see docs/data-model.md.

/** What a walk depends on, as SQL: texts but for the chain's id, the time (numeric) and lists of texts. */
export type WalkInputs = {
  chainId: string;
  time: string;
  root: string;
  ethRegistry: string;
  /** Registries besides those that the factory deployed, whose tokens are followed too. */
  registries: string;
  /** Resolves what the first generation knows. */
  v1Resolver: string;
  graveyard: string;
  /** Name wrappers of the first generation. */
  wrappers: string;
  /** Implementations of the registries of locked names. */
  wrapperRegistries: string;
  /** Implementations of other registries that users deploy. Where there are none, any that the factory deployed counts. */
  userRegistries: string;
  /** Whether the index has the names of the first generation, and what is in force is wanted too. */
  hasV1: boolean;
};

const nobody = `'${zeroAddress}'`;
// A burn, which ends a registration, raises the version in the token id; a reservation has no owner.
const wasRegistered = `(e.owner <> ${nobody} OR right(e.token_id, 8) <> '00000000')`;
const ethNode = subnode(rootNode, keccak256("eth"));

/**
 * SQL: which generation is in force for a name directly under .eth (`g.generation`), and whether the expiry that counts is its
 * entry's (`k.is_entry`): where neither is in force, that of the later one. Of rows that may be all null: `e` of `v2_entries`,
 * `v1` of `registration`, `l` of `registration_lifecycles`.
 */
export function generationSql({ time, graveyard }: Pick<WalkInputs, "time" | "graveyard">): string {
  return `
    CROSS JOIN LATERAL (SELECT CASE
      WHEN e.expiry > ${time} THEN CASE WHEN e.owner = ${nobody} THEN 'reserved' ELSE 'v2' END
      ELSE ${firstGenerationSql({ time, graveyard })} END AS generation OFFSET 0) g
    CROSS JOIN LATERAL (SELECT CASE
      WHEN e.storage_id IS NULL THEN false WHEN l.node IS NULL OR g.generation = 'v2' THEN true
      WHEN g.generation = 'none' THEN ${wasRegistered} ELSE false END AS is_entry OFFSET 0) k`;
}

/** SQL: the generation whose data count, by `g.generation`; null where neither is in force. */
export const versionSql = "CASE g.generation WHEN 'v2' THEN 'v2' WHEN 'none' THEN NULL ELSE 'v1' END";

function firstGenerationSql({ time, graveyard }: Pick<WalkInputs, "time" | "graveyard">): string {
  return `CASE WHEN v1.expiry_date + ${gracePeriod} < ${time} OR v1.id IS NULL THEN 'none'
    WHEN v1.registrant_id = ${graveyard} AND v1.expiry_date >= ${time} THEN 'none' ELSE 'v1' END`;
}

const isEmancipated = (fuses: string) => `${fuses} & ${emancipation.mask} = ${emancipation.value}`;

// The registry of a migrated, locked name leaves the subnames to the first generation that are beyond the reach of their
// parent there, and that it never had itself. It does so for the name that it was made for, wherever else it is put.
const leftToV1Sql = (time: string) => `
SELECT true AS is_left FROM domain d
WHERE e.storage_id IS NULL AND h.node IS NOT NULL AND d.owner_id <> ${nobody}
  AND d.id = CASE WHEN h.node = a.nodes->>(w.level - 1) THEN a.nodes->>w.level
    ELSE (SELECT c.id FROM domain c WHERE c.parent_id = h.node AND c.labelhash = a.labels->>w.level LIMIT 1) END
  AND (EXISTS (SELECT FROM wrapped_domain f
      WHERE f.id = d.id AND ${isEmancipated("f.fuses")} AND greatest(f.expiry_date, f.renewed_expiry_date) >= ${time})
    OR EXISTS (SELECT FROM v2_kept_fuses f
      WHERE f.node = d.id AND ${isEmancipated("f.fuses")} AND f.expiry_date >= ${time}))`;

// Anyone may have the factory deploy a proxy of any code, which then emits what it likes.
function isUserRegistry({ userRegistries, wrapperRegistries }: WalkInputs): string {
  return `h.implementation <> ALL (${wrapperRegistries}) AND (cardinality(${userRegistries}) = 0 OR h.implementation = ANY (${userRegistries}))`;
}

/**
 * SQL: a row for each name of `asked`, a query with the columns `place`, `ids` (storage ids of its labels, the top one first,
 * as a JSON list), `labels` (their labelhashes), `nodes` (of the names that they end, likewise) and `depth`.
 */
export function walkSql(asked: string, inputs: WalkInputs): string {
  const { chainId, time, root, ethRegistry, registries, v1Resolver, wrapperRegistries } = inputs;
  const isLive = `e.expiry > ${time}`;
  // One row per label on the way down. A path is as long as its name, so cycles of registries end.
  return `
WITH RECURSIVE asked AS (${asked}), walk AS (
  SELECT place, 0 AS level, NULL::text COLLATE "C" AS holder, ${root}::text COLLATE "C" AS registry, NULL::text COLLATE "C" AS storage_id,
    false AS is_live, ${nobody}::text COLLATE "C" AS resolver, 0 AS resolver_level, NULL::boolean AS is_canonical, true AS is_claimed,
    true AS is_proven, NULL::text COLLATE "C" AS eth_status, false AS is_in_v1, ARRAY[]::text[] COLLATE "C" AS path,
    ARRAY[]::text[] COLLATE "C" AS label_path
  FROM asked
  UNION ALL
  SELECT w.place, w.level + 1, w.registry,
    CASE WHEN ${isLive} AND e.subregistry <> ${nobody} THEN e.subregistry END,
    e.storage_id, coalesce(${isLive}, false),
    CASE WHEN ${isLive} AND e.resolver <> ${nobody} THEN e.resolver WHEN v1.is_left THEN ${v1Resolver} ELSE w.resolver END,
    CASE WHEN (${isLive} AND e.resolver <> ${nobody}) OR v1.is_left THEN w.level + 1 ELSE w.resolver_level END,
    w.is_claimed,
    w.is_claimed AND e.subregistry <> ${root} AND coalesce(c.parent = w.registry AND c.parent_label = e.label, false),
    w.is_proven AND (w.registry = ANY (${registries}) OR coalesce(${isUserRegistry(inputs)}
      OR h.implementation = ANY (${wrapperRegistries}) AND (h.node IS NOT NULL OR e.storage_id IS NOT NULL), false)),
    CASE WHEN w.registry <> ${ethRegistry} OR w.level <> 1 THEN w.eth_status WHEN coalesce(e.expiry, 0) <= ${time} THEN 'available'
      WHEN e.owner = ${nobody} THEN 'reserved' ELSE 'v2' END,
    v1.is_left IS TRUE, w.path || w.registry, w.label_path || e.label
  FROM walk w JOIN asked a USING (place)
  LEFT JOIN v2_entries e ON e.chain_id = ${chainId} AND e.registry = w.registry AND e.storage_id = a.ids->>w.level
  LEFT JOIN v2_contracts c ON c.chain_id = ${chainId} AND c.address = e.subregistry
  LEFT JOIN v2_contracts h ON h.chain_id = ${chainId} AND h.address = w.registry
  LEFT JOIN LATERAL (${leftToV1Sql(time)}) v1 ON true
  WHERE w.registry IS NOT NULL AND w.level < a.depth
), found AS (
  SELECT DISTINCT ON (place) * FROM walk ORDER BY place, level DESC
)
SELECT f.place,
  CASE WHEN f.level = a.depth THEN f.holder END AS registry,
  CASE WHEN f.level = a.depth THEN f.path END AS registry_path,
  e.storage_id, e.label, e.token_id, e.resource, e.expiry, e.created_at, e.migrated_at,
  CASE WHEN NOT f.is_live THEN 'available' WHEN e.owner = ${nobody} THEN 'reserved' ELSE 'registered' END AS status,
  CASE WHEN p.is_proven THEN e.owner END AS holder, o.owner,
  CASE WHEN f.level = a.depth THEN f.registry END AS subregistry,
  f.resolver, f.resolver_level, f.level = a.depth AND f.is_canonical AS is_canonical, f.is_proven, f.label_path, a.depth,
  r.implementation, r.has_record_ids, r.is_upgraded,
  u.authority, n.version, coalesce(u.authority = 'reserved', false) AS is_reserved,
${effectiveColumns(inputs)}
${foundTables(inputs)}`;
}

// What the walk ended at (f, e), who proves it (h, r), what the first generation says of the name (d, of_v1), and its lease of the name
// under .eth (v1).
function foundTables(inputs: WalkInputs): string {
  const { chainId, time, graveyard, v1Resolver, hasV1, registries, wrappers, wrapperRegistries } = inputs;
  const ofV1 = `
LEFT JOIN registration v1 ON v1.id = a.nodes->>1
LEFT JOIN domain d ON d.id = a.nodes->>(a.depth - 1)${firstGenerationJoins({
    now: time,
    grace: String(gracePeriod),
    isManaged: `coalesce(d.parent_id = '${ethNode}', false)`,
    isWrapper: (address) => `${address} = ANY (${wrappers})`,
  })}`;
  // Evaluated once where several columns need them.
  const fence = hasV1 ? " OFFSET 0" : "";
  const firstGeneration = `WHEN a.nodes->>0 = '${ethNode}' AND a.depth > 1 THEN ${firstGenerationSql({ time, graveyard })}`;
  return `FROM found f JOIN asked a USING (place)
LEFT JOIN v2_entries e
  ON f.level = a.depth AND e.chain_id = ${chainId} AND e.registry = f.holder AND e.storage_id = f.storage_id
LEFT JOIN v2_contracts h ON h.chain_id = ${chainId} AND h.address = f.holder
LEFT JOIN v2_contracts r ON r.chain_id = ${chainId} AND r.address = f.resolver${hasV1 ? ofV1 : ""}
CROSS JOIN LATERAL (SELECT f.holder = ANY (${registries})
  OR coalesce(${isUserRegistry(inputs)} OR h.implementation = ANY (${wrapperRegistries}), false) AS is_proven) p
CROSS JOIN LATERAL (SELECT CASE WHEN f.level < a.depth OR NOT f.is_live THEN ${nobody} WHEN p.is_proven THEN e.owner END AS owner) o
CROSS JOIN LATERAL (SELECT CASE WHEN f.eth_status IN ('v2', 'reserved') THEN f.eth_status
  ${hasV1 ? firstGeneration : ""} END AS authority${fence}) u
CROSS JOIN LATERAL (SELECT CASE WHEN f.is_in_v1 AND f.level = a.depth THEN 'v1' WHEN u.authority = 'v2' THEN 'v2'
  WHEN u.authority IN ('reserved', 'v1') THEN 'v1' WHEN u.authority IS NOT NULL THEN NULL
  WHEN f.resolver = ${v1Resolver} THEN 'v1' WHEN f.is_live AND f.level = a.depth THEN 'v2' END AS version${fence}) n`;
}

// Owner, resolver and expiry of the generation in force. Where neither is, the expiry that passed last.
function effectiveColumns({ graveyard, ethRegistry, hasV1 }: WalkInputs): string {
  if (!hasV1)
    return "  NULL AS effective_owner, NULL AS effective_resolver, NULL AS effective_expiry, NULL AS grace_ends, NULL AS is_entry";
  const isEntry = `(n.version = 'v2' OR n.version IS NULL AND (${wasRegistered} OR NOT of_v1.is_lease))`;
  // A lease of the Graveyard has no end, nor has a wrapped name that its parent controls.
  const ends = `(of_v1.is_lease AND lease.registrant_id IS DISTINCT FROM ${graveyard})`;
  return `  CASE n.version WHEN 'v2' THEN nullif(o.owner, ${nobody}) WHEN 'v1' THEN of_v1.owner END AS effective_owner,
  CASE n.version WHEN 'v2' THEN nullif(f.resolver, ${nobody})
    WHEN 'v1' THEN nullif(split_part(d.resolver_id, '-', 2), ${nobody}) END AS effective_resolver,
  CASE WHEN ${isEntry} THEN e.expiry WHEN ${ends} OR NOT of_v1.is_lease AND of_v1.is_emancipated THEN of_v1.expires END AS effective_expiry,
  CASE WHEN ${isEntry} THEN CASE WHEN f.holder = ${ethRegistry} AND e.owner <> ${nobody} THEN e.expiry + ${gracePeriodOfV2} END
    WHEN ${ends} THEN of_v1.grace_ends END AS grace_ends,
  ${isEntry} AS is_entry`;
}

/** The contracts that a domain's row is read with: one set, all on the root chain. Addresses in lower case. */
export type WalkContracts = {
  chainId: number;
  root: Hex;
  ethRegistry: Hex;
  registries: readonly Hex[];
  v1Resolver: Hex;
  graveyard: Hex;
  wrappers: readonly Hex[];
  wrapperRegistries: readonly Hex[];
  userRegistries: readonly Hex[];
};

// A node's labelhash and parent, of the names of both generations: where both have it, they are the same.
const pathStepSql = (chainId: number, node: string, level: string) => `
      SELECT s.id, s.labelhash, s.parent_id, ${level} AS level FROM domain s WHERE s.id = ${node} AND s.labelhash IS NOT NULL
      UNION ALL
      SELECT s.id, s.labelhash, s.parent_id, ${level} FROM v2_domains s WHERE s.chain_id = ${Math.trunc(chainId)} AND s.id = ${node}`;

/** SQL: what ENSv2 makes of the row of `domain` under an alias, at a time (SQL too). No row where the names above it are unknown. */
export const domainWalkSql = (alias: string, contracts: WalkContracts, time: string) =>
  nameWalkSql(askedByRow(alias, contracts.chainId), contracts, time);

/** SQL: the same of a name by its path, SQL of JSON with `ids`, `labels` and `nodes` as in `walkSql`. */
export const pathWalkSql = (path: string, contracts: WalkContracts, time: string) =>
  nameWalkSql(
    `SELECT 1 AS place, ${path}->'ids' AS ids, ${path}->'labels' AS labels, ${path}->'nodes' AS nodes, jsonb_array_length(${path}->'ids') AS depth`,
    contracts,
    time,
  );

// The path of a row, from the names above it.
const askedByRow = (alias: string, chainId: number) => `
  SELECT 1 AS place, jsonb_agg(left(u.labelhash, 58) || '00000000' ORDER BY u.level DESC) AS ids,
    jsonb_agg(u.labelhash ORDER BY u.level DESC) AS labels, jsonb_agg(u.id ORDER BY u.level DESC) AS nodes, count(*)::int AS depth
  FROM (WITH RECURSIVE up AS (
    SELECT d.* FROM (SELECT ${alias}.id AS id) t CROSS JOIN LATERAL (${pathStepSql(chainId, "t.id", "0")}) d
    UNION
    SELECT d.* FROM up CROSS JOIN LATERAL (${pathStepSql(chainId, "up.parent_id", "up.level + 1")}) d
    WHERE up.parent_id <> '${rootNode}' AND up.level < ${mostLevels}
  ) SELECT * FROM up WHERE up.id <> '${rootNode}') u
  HAVING bool_or(u.parent_id = '${rootNode}') AND bool_and(u.labelhash IS NOT NULL)`;

function nameWalkSql(asked: string, contracts: WalkContracts, time: string): string {
  const text = (value: Hex) => `'${value}'`;
  const list = (values: readonly Hex[]) => `ARRAY[${values.map(text).join(", ")}]::text[]`;
  const inputs: WalkInputs = {
    chainId: String(Math.trunc(contracts.chainId)),
    time,
    root: text(contracts.root),
    ethRegistry: text(contracts.ethRegistry),
    registries: list(contracts.registries),
    v1Resolver: text(contracts.v1Resolver),
    graveyard: text(contracts.graveyard),
    wrappers: list(contracts.wrappers),
    wrapperRegistries: list(contracts.wrapperRegistries),
    userRegistries: list(contracts.userRegistries),
    hasV1: true,
  };
  return `SELECT n.version, n.is_reserved AS reserved, n.migrated_at, n.registry, n.registry_path, n.effective_owner,
    n.effective_resolver, n.effective_expiry AS effective_expiry_date, n.grace_ends AS grace_end_date,
    n.authority, n.is_entry, n.storage_id, n.token_id, n.created_at, n.subregistry, n.holder,
    n.is_proven, n.resolver_level = n.depth AS is_own_resolver, n.implementation, n.has_record_ids, n.is_upgraded, n.label_path
    FROM (${walkSql(asked, inputs)}) n`;
}
