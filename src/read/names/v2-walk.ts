import type { Hex } from "viem";
import { rootNode, subnode, zeroAddress } from "../../ens/ids.ts";
import { keccak256 } from "../../ens/keccak.ts";
import { labelhashIn } from "../../ens/names.ts";
import { emancipation, gracePeriod, gracePeriodOfV2, maxLevels } from "../../ens/registrations.ts";
import { quoted } from "../../ponder/sql-client.ts";
import { storageIdSql } from "../../schema/sql.ts";

// ENSv2 names are read by walking from the root registry. An entry counts until its expiry (docs/data-model.md).

/** The contracts by which names are read: one set, all on the root chain. Addresses are lower case. */
export type WalkContracts = {
  chainId: number;
  root: Hex;
  ethRegistry: Hex;
  /** Registries that the factory did not deploy and whose tokens are followed too. */
  registries: readonly Hex[];
  /** Resolves what the first generation knows. */
  v1Resolver: Hex;
  graveyard: Hex;
  wrappers: readonly Hex[];
  /** Implementations of the registries of locked names. */
  wrapperRegistries: readonly Hex[];
  /** Implementations of other registries that users deploy. If there are none, any registry of the factory counts. */
  userRegistries: readonly Hex[];
  /** Whether the chain's Universal Resolver answers from these registries. */
  isInForce: boolean;
};

const text = (value: Hex) => `'${value}'`;
const list = (values: readonly Hex[]) => `ARRAY[${values.map(text).join(", ")}]::text[]`;
const nobody = text(zeroAddress);
// A burn, which ends a registration, raises the version in the token id. A reservation has no owner.
const wasRegistered = `(e.owner <> ${nobody} OR right(e.token_id, 8) <> '00000000')`;
const ethNode = subnode(rootNode, keccak256("eth"));

/**
 * SQL of the generation in force for a name directly under .eth (`g.generation`), and of whether the entry's expiry
 * counts (`k.is_entry`): if neither is in force, once it was registered. Reads rows that may be all null: `e` of
 * `v2_entries`, `v1` of `registration`, `l` of `registration_lifecycles`.
 */
export function generationSql({ time, graveyard }: Record<"time" | "graveyard", string>): string {
  return `
    CROSS JOIN LATERAL (SELECT CASE
      WHEN e.expiry > ${time} THEN CASE WHEN e.owner = ${nobody} THEN 'reserved' ELSE 'v2' END
      ELSE ${firstGenerationSql({ time, graveyard })} END AS generation OFFSET 0) g
    CROSS JOIN LATERAL (SELECT CASE
      WHEN e.storage_id IS NULL THEN false WHEN l.node IS NULL OR g.generation = 'v2' THEN true
      WHEN g.generation = 'none' THEN ${wasRegistered} ELSE false END AS is_entry OFFSET 0) k`;
}

/** SQL of the generation whose data count, by `g.generation`; null if neither is in force. */
export const versionSql = "CASE g.generation WHEN 'v2' THEN 'v2' WHEN 'none' THEN NULL ELSE 'v1' END";

function firstGenerationSql({ time, graveyard }: Record<"time" | "graveyard", string>): string {
  return `CASE WHEN v1.expiry_date + ${gracePeriod} < ${time} OR v1.id IS NULL THEN 'none'
    WHEN v1.registrant_id = ${graveyard} AND v1.expiry_date >= ${time} THEN 'none' ELSE 'v1' END`;
}

/**
 * SQL of the expiry of a row of `wrapped_domain` under an alias. A renewal through the wrapper moves it without a
 * wrapper event.
 */
export const wrapperExpiry = (alias: string) =>
  `greatest(${alias}.expiry_date, ${alias}.renewed_expiry_date)`;

const isEmancipated = (fuses: string) => `${fuses} & ${emancipation.mask} = ${emancipation.value}`;

// The registry of a migrated, locked name leaves to the first generation the subnames that are emancipated there and
// that it never had itself. It does so for the name that it was deployed for, wherever else it is attached.
const leftToV1Sql = (time: string) => `
SELECT true AS is_left FROM domain d
WHERE e.storage_id IS NULL AND h.node IS NOT NULL AND d.owner_id <> ${nobody}
  AND d.id = CASE WHEN h.node = a.nodes->>(w.level - 1) THEN a.nodes->>w.level
    ELSE (SELECT c.id FROM domain c WHERE c.parent_id = h.node AND c.labelhash = a.labels->>w.level LIMIT 1) END
  AND (EXISTS (SELECT FROM wrapped_domain f
      WHERE f.id = d.id AND ${isEmancipated("f.fuses")} AND ${wrapperExpiry("f")} >= ${time})
    OR EXISTS (SELECT FROM v2_kept_fuses f
      WHERE f.node = d.id AND ${isEmancipated("f.fuses")} AND f.expiry_date >= ${time}))`;

/**
 * SQL of whether a registry has known code, by its address and its row of `v2_contracts` under an alias. Anyone can
 * have the factory deploy a proxy of any code, which then emits whatever it likes.
 */
export function isKnownRegistry(
  { registries, wrapperRegistries, userRegistries }: WalkContracts,
  address: string,
  alias: string,
): string {
  const isOfCode =
    userRegistries.length === 0
      ? `${alias}.implementation IS NOT NULL`
      : `coalesce(${alias}.implementation = ANY (${list([...wrapperRegistries, ...userRegistries])}), false)`;
  return `(${address} = ANY (${list(registries)}) OR ${isOfCode})`;
}

/**
 * SQL of the state of each name of `asked` in the registries at a time (SQL), one row each. Columns of `asked`:
 * `index`, `depth`, and as JSON lists with the top label first `ids` (storage ids of the labels), `labels`
 * (labelhashes) and `nodes` (of the names that end in them). `hasV1`: whether the first generation's leases, which
 * decide with them, are indexed.
 */
export function walkSql(
  asked: string,
  contracts: WalkContracts,
  { time, hasV1 }: { time: string; hasV1: boolean },
): string {
  const { chainId, root, ethRegistry, v1Resolver, wrapperRegistries, graveyard } = contracts;
  const isLive = `e.expiry > ${time}`;
  // Evaluates once what several columns need.
  const fence = hasV1 ? " OFFSET 0" : "";
  const lease = hasV1 ? "LEFT JOIN registration v1 ON v1.id = a.nodes->>1" : "";
  const ofLease = firstGenerationSql({ time, graveyard: text(graveyard) });
  const firstGeneration = hasV1 ? `WHEN a.nodes->>0 = '${ethNode}' AND a.depth > 1 THEN ${ofLease}` : "";
  // One row per label on the way down. A path is as long as its name, so cycles of registries end.
  return `
WITH RECURSIVE asked AS (${asked}), walk AS (
  SELECT index, 0 AS level, NULL::text COLLATE "C" AS holder, ${text(root)}::text COLLATE "C" AS registry, NULL::text COLLATE "C" AS storage_id,
    false AS is_live, ${nobody}::text COLLATE "C" AS resolver, 0 AS resolver_level, NULL::boolean AS is_canonical, true AS is_claimed,
    true AS is_proven, NULL::text COLLATE "C" AS eth_status, false AS is_in_v1, ARRAY[]::text[] COLLATE "C" AS path,
    ARRAY[]::text[] COLLATE "C" AS label_path
  FROM asked
  UNION ALL
  SELECT w.index, w.level + 1, w.registry,
    CASE WHEN ${isLive} AND e.subregistry <> ${nobody} THEN e.subregistry END,
    e.storage_id, coalesce(${isLive}, false),
    CASE WHEN ${isLive} AND e.resolver <> ${nobody} THEN e.resolver WHEN v1.is_left THEN ${text(v1Resolver)} ELSE w.resolver END,
    CASE WHEN (${isLive} AND e.resolver <> ${nobody}) OR v1.is_left THEN w.level + 1 ELSE w.resolver_level END,
    w.is_claimed,
    w.is_claimed AND e.subregistry <> ${text(root)} AND coalesce(c.parent = w.registry AND c.parent_label = e.label, false),
    w.is_proven AND ${isKnownRegistry(contracts, "w.registry", "h")}
      AND ((h.implementation = ANY (${list(wrapperRegistries)})) IS NOT TRUE OR h.node IS NOT NULL OR e.storage_id IS NOT NULL),
    CASE WHEN w.registry <> ${text(ethRegistry)} OR w.level <> 1 THEN w.eth_status WHEN coalesce(e.expiry, 0) <= ${time} THEN 'available'
      WHEN e.owner = ${nobody} THEN 'reserved' ELSE 'v2' END,
    v1.is_left IS TRUE, w.path || w.registry, w.label_path || e.label
  FROM walk w JOIN asked a USING (index)
  LEFT JOIN v2_entries e ON e.chain_id = ${chainId} AND e.registry = w.registry AND e.storage_id = a.ids->>w.level
  LEFT JOIN v2_contracts c ON c.chain_id = ${chainId} AND c.address = e.subregistry
  LEFT JOIN v2_contracts h ON h.chain_id = ${chainId} AND h.address = w.registry
  LEFT JOIN LATERAL (${leftToV1Sql(time)}) v1 ON true
  WHERE w.registry IS NOT NULL AND w.level < a.depth
), found AS (
  SELECT DISTINCT ON (index) * FROM walk ORDER BY index, level DESC
)
SELECT f.index, a.depth, a.nodes->>(a.depth - 1) AS node,
  CASE WHEN f.level = a.depth THEN f.holder END AS registry,
  CASE WHEN f.level = a.depth THEN f.path END AS registry_path,
  e.storage_id, e.label, e.token_id, e.resource, e.expiry, e.created_at, e.migrated_at, ${wasRegistered} AS was_registered,
  CASE WHEN f.holder = ${text(ethRegistry)} AND e.owner <> ${nobody} THEN e.expiry + ${gracePeriodOfV2} END AS grace_ends,
  CASE WHEN NOT f.is_live THEN 'available' WHEN e.owner = ${nobody} THEN 'reserved' ELSE 'registered' END AS status,
  CASE WHEN p.is_proven THEN e.owner END AS holder,
  CASE WHEN f.level < a.depth OR NOT f.is_live THEN ${nobody} WHEN p.is_proven THEN e.owner END AS owner,
  CASE WHEN f.level = a.depth THEN f.registry END AS subregistry,
  f.resolver, f.resolver_level, f.level = a.depth AND f.is_canonical AS is_canonical, f.is_proven, f.label_path,
  r.implementation, r.has_record_ids, r.is_upgraded, u.authority, n.version
FROM found f JOIN asked a USING (index)
LEFT JOIN v2_entries e
  ON f.level = a.depth AND e.chain_id = ${chainId} AND e.registry = f.holder AND e.storage_id = f.storage_id
LEFT JOIN v2_contracts h ON h.chain_id = ${chainId} AND h.address = f.holder
LEFT JOIN v2_contracts r ON r.chain_id = ${chainId} AND r.address = f.resolver
${lease}
CROSS JOIN LATERAL (SELECT ${isKnownRegistry(contracts, "f.holder", "h")} AS is_proven) p
CROSS JOIN LATERAL (SELECT CASE WHEN f.eth_status IN ('v2', 'reserved') THEN f.eth_status
  ${firstGeneration} END AS authority${fence}) u
CROSS JOIN LATERAL (SELECT CASE WHEN f.is_in_v1 AND f.level = a.depth THEN 'v1' WHEN u.authority = 'v2' THEN 'v2'
  WHEN u.authority IN ('reserved', 'v1') THEN 'v1' WHEN u.authority IS NOT NULL THEN NULL
  WHEN f.resolver = ${text(v1Resolver)} THEN 'v1' WHEN f.is_live AND f.level = a.depth THEN 'v2' END AS version${fence}) n`;
}

// The labelhash and parent of a node, by either generation: if both know the node, they agree.
const pathStepSql = (chainId: number, node: string, level: string) => `
      SELECT s.id, s.labelhash, s.parent_id, ${level} AS level FROM domain s WHERE s.id = ${node} AND s.labelhash IS NOT NULL
      UNION ALL
      SELECT s.id, s.labelhash, s.parent_id, ${level} FROM v2_domains s WHERE s.chain_id = ${chainId} AND s.id = ${node}`;

/** SQL of a name for `walkSql` by its path, SQL of JSON with `ids`, `labels` and `nodes`. */
export const askedByPath = (path: string) =>
  `SELECT 1 AS index, ${path}->'ids' AS ids, ${path}->'labels' AS labels, ${path}->'nodes' AS nodes, jsonb_array_length(${path}->'ids') AS depth`;

/**
 * SQL of a name for `walkSql` by its row under an alias, whose path is that of the names above it. No row if these are
 * unknown.
 */
export const askedByRow = (alias: string, chainId: number) => `
  SELECT 1 AS index, jsonb_agg(${storageIdSql("u.labelhash")} ORDER BY u.level DESC) AS ids,
    jsonb_agg(u.labelhash ORDER BY u.level DESC) AS labels, jsonb_agg(u.id ORDER BY u.level DESC) AS nodes, count(*)::int AS depth
  FROM (WITH RECURSIVE up AS (
    SELECT d.* FROM (SELECT ${alias}.id AS id) t CROSS JOIN LATERAL (${pathStepSql(chainId, "t.id", "0")}) d
    UNION
    SELECT d.* FROM up CROSS JOIN LATERAL (${pathStepSql(chainId, "up.parent_id", "up.level + 1")}) d
    WHERE up.parent_id <> '${rootNode}' AND up.level < ${maxLevels}
  ) SELECT * FROM up WHERE up.id <> '${rootNode}') u
  HAVING bool_or(u.parent_id = '${rootNode}') AND bool_and(u.labelhash IS NOT NULL)`;

/**
 * SQL of whether a row of `v2_domains` under an alias is reached at a time: a comparison for registries in a fixed
 * place, else a database function that follows the way up. `isEth`: SQL of whether the .eth registry is attached.
 */
export function attachedSql(
  alias: string,
  { chainId, root, ethRegistry }: WalkContracts,
  { time, isEth }: { time: string; isEth: string },
): string {
  const registry = `${alias}.registry`;
  return `CASE ${registry} WHEN '${ethRegistry}' THEN ${isEth} WHEN '${root}' THEN true
    ELSE v2_is_reached(${chainId}, ${registry}, ${alias}.path, '${root}', '${ethRegistry}', ${isEth}, ${time}) END`;
}

/**
 * SQL that joins, under `as`, whether a row of `v2_domains` under an alias `is_reached`. Names share registries:
 * Postgres memoizes the result by registry and path, since the join depends on nothing else of the row.
 */
export function reachedJoin(alias: string, as: string, contracts: WalkContracts, time: string): string {
  const isEth = ethAttachedSql(contracts, time);
  return `CROSS JOIN LATERAL (SELECT ${attachedSql(alias, contracts, { time, isEth })} AS is_reached OFFSET 0) ${as}`;
}

/** SQL of whether the root has the .eth registry attached at a time. */
export function ethAttachedSql({ chainId, root, ethRegistry }: WalkContracts, time: string): string {
  return `(SELECT EXISTS (SELECT FROM v2_domains d WHERE d.chain_id = ${chainId} AND d.id = '${ethNode}'
    AND d.registry = '${root}' AND d.subregistry = '${ethRegistry}' AND d.expiry_date > ${time}))`;
}

/**
 * CREATE FUNCTION of `v2_is_reached`: whether each entry above a path of a registry, up to the root, is in force at a
 * time and has the next registry on the way as its subregistry. Each connection plans a function once; inline SQL would
 * be planned anew in each list of a request.
 */
export function reachedFunction(schema: string): string {
  const own = quoted(schema);
  return `CREATE OR REPLACE FUNCTION ${own}.v2_is_reached(chain integer, registry text, path integer, root text, eth text, is_eth boolean, at numeric)
    RETURNS boolean LANGUAGE plpgsql STABLE COST 20 AS $$ BEGIN RETURN EXISTS (
      WITH RECURSIVE up AS (
        SELECT v2_is_reached.registry COLLATE "C" AS registry, v2_is_reached.path AS path, 0 AS level
        UNION ALL
        SELECT p.parent, p.parent_path, up.level + 1 FROM up
          JOIN ${own}.v2_registry_paths p ON p.chain_id = chain AND p.registry = up.registry AND p.path = up.path
          JOIN ${own}.v2_entries e ON e.chain_id = chain AND e.registry = p.parent AND e.storage_id = p.storage_id
            AND e.subregistry = up.registry AND e.expiry > at
        WHERE up.level < ${maxLevels}
      )
      SELECT FROM up WHERE up.registry = root OR up.registry = eth AND is_eth); END $$`;
}

/** A name for walks, top label first: storage ids and hashes of its labels, and the node at each label. */
export type NamePath = { ids: readonly Hex[]; labels: readonly Hex[]; nodes: readonly Hex[] };

/** The path of a name by its labelhashes, leftmost label first. */
export function buildNamePath(labelhashes: readonly Hex[]): NamePath {
  const labels = labelhashes.toReversed();
  let node = rootNode;
  const nodes = labels.map((labelhash) => {
    node = subnode(node, labelhash);
    return node;
  });
  return { ids: labels.map((hash): Hex => `${hash.slice(0, -8) as Hex}00000000`), labels, nodes };
}

/** The path of a name. Its labels may be encoded (`[labelhash]`). */
export const parseNamePath = (name: string): NamePath =>
  buildNamePath((name === "" ? [] : name.split(".")).map(labelhashIn));

/** A name by its text, as `nameOfPath` and `domainsByNameSql` read it. */
export function walkedName(name: string) {
  const path = parseNamePath(name);
  const [parent = rootNode, node] = [path.nodes.at(-2), path.nodes.at(-1)];
  return { ...path, name, node, labelhash: path.labels.at(-1), parent };
}

/**
 * Whether a name may lack a row: names of registries in fixed places (up to two labels) have one, and none longer than
 * in DNS is resolved.
 */
export const mayLackRow = (name = "") => name.split(".").length > 2 && Buffer.byteLength(name) < 255;
