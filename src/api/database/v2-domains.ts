import { rootNode, subnode, zeroAddress } from "../../ens/ids.ts";
import { keccak256 } from "../../ens/keccak.ts";
import { mostLevels } from "../../ens/registrations.ts";
import { quoted } from "../../ponder/sql-client.ts";
import { walkedNames } from "./names.ts";
import { askedByRow, type WalkContracts } from "./v2-walk.ts";

// Domains and registrations of both generations, for lists: see docs/subgraph.md. Names of the second are rows of v2_domains,
// which nothing rewrites when a name above them changes: whether a row is reached is read along its parents.

/** How the statement of a request reads both generations. */
export type BothGenerations = ReturnType<typeof bothGenerations>;

const nobody = `'${zeroAddress}'`;
const ethNode = `'${subnode(rootNode, keccak256("eth"))}'`;
const now = "(SELECT t FROM v2_at)";
const isEthAttached = "(SELECT is_eth FROM v2_at)";
const noText = 'NULL::text COLLATE "C"';

/** Reads both generations with a set of contracts, at a time in SQL. */
export function bothGenerations(contracts: WalkContracts, time: string) {
  const { chainId } = contracts;
  const [root, eth] = [`'${contracts.root}'`, `'${contracts.ethRegistry}'`];
  const isAttached = (alias: string) => attachedSql(alias, contracts, { time: now, isEth: isEthAttached });
  const inForce = (alias: string) => `${alias}.owner_id <> ${nobody} AND ${alias}.expiry_date > ${now}`;
  const replaced = (alias: string, where: string) => `NOT EXISTS (SELECT FROM v2_domains n
    WHERE n.chain_id = ${chainId} AND n.id = ${alias}.id AND ${where} AND ${inForce("n")} AND ${isAttached("n")} OFFSET 0)`;
  const unknown = (alias: string, table: string) =>
    `NOT EXISTS (SELECT FROM ${table} o WHERE o.id = ${alias}.id OFFSET 0)`;
  return {
    /** What a statement has under WITH that mentions `v2_at`: the time, and whether the .eth registry is in its place. */
    at: `v2_at AS MATERIALIZED (SELECT n.t, ${ethAttachedSql(contracts, "n.t")} AS is_eth
      FROM (SELECT ${time} AS t OFFSET 0) n)`,
    /** SQL that reads a domain's row under an alias from the registries. */
    walkOf: (
      alias: string,
    ) => `SELECT entry.version, coalesce(entry.authority = 'reserved', false) AS reserved, entry.migrated_at, entry.registry, entry.registry_path,
      in_force.owner AS effective_owner, in_force.resolver AS effective_resolver, in_force.expires AS effective_expiry_date,
      in_force.grace_ends AS grace_end_date
      FROM ${walkedNames(askedByRow(alias, chainId), contracts, { time: now, hasV1: true })}`,
    /** The tables of an entity by its first one, each row of which is in one of them; undefined for other entities. */
    armsOf(table: string, alias: string): { from: string; where: string }[] | undefined {
      if (table === "domain")
        return [
          { from: `domain ${alias}`, where: replaced(alias, `n.registry <> ${root}`) },
          {
            from: `(${domainsSql(chainId)}) ${alias}`,
            // Of top-level names the first generation's rows count, where it has them.
            where: `${isAttached(alias)} AND (${alias}.registry <> ${root} AND ${inForce(alias)} OR ${unknown(alias, table)})`,
          },
        ];
      if (table === "registration")
        return [
          { from: `registration ${alias}`, where: replaced(alias, `n.registry = ${eth}`) },
          {
            from: `(${registrationsSql(chainId)}) ${alias}`,
            where: `${alias}.registry = ${eth} AND ${alias}.registrant_id <> ${nobody} AND ${isEthAttached}
              AND (${alias}.expiry_date > ${now} OR ${unknown(alias, table)})`,
          },
        ];
      return undefined;
    },
  };
}

const domainsSql = (chainId: number) => `SELECT v.id, v.name, v.label_name, v.labelhash, v.parent_id,
  coalesce((SELECT c.entry_count FROM v2_contracts c WHERE c.chain_id = v.chain_id AND c.address = v.subregistry), 0) AS subdomain_count,
  ${noText} AS resolved_address_id, v.resolver_id, NULL::numeric AS ttl, TRUE AS is_migrated, v.created_at, v.owner_id,
  v.owner_id AS registrant_id, ${noText} AS wrapped_owner_id, v.expiry_date, v.change_block, v.registry, v.path
  FROM v2_domains v WHERE v.chain_id = ${chainId}`;

const registrationsSql = (
  chainId: number,
) => `SELECT v.id, v.id AS domain_id, v.registration_date, v.expiry_date,
  NULL::numeric AS cost, v.owner_id AS registrant_id, v.label_name, v.change_block, v.registry
  FROM v2_domains v WHERE v.chain_id = ${chainId}`;

/**
 * SQL of whether a row of `v2_domains` under an alias is reached at a time: a registry in a fixed path is a comparison, for the
 * others a function of the database follows the way up. `isEth`: SQL of whether the .eth registry is in its place.
 */
function attachedSql(
  alias: string,
  { chainId, root, ethRegistry }: WalkContracts,
  { time, isEth }: { time: string; isEth: string },
): string {
  const registry = `${alias}.registry`;
  return `CASE ${registry} WHEN '${ethRegistry}' THEN ${isEth} WHEN '${root}' THEN true
    ELSE v2_is_reached(${chainId}, ${registry}, ${alias}.path, '${root}', '${ethRegistry}', ${isEth}, ${time}) END`;
}

/**
 * SQL that joins, under `as`, whether a row of `v2_domains` under an alias `is_reached`. Names share registries: Postgres keeps the
 * answers of a statement by registry and path, since what is joined depends on nothing else of the row.
 */
export function reachedJoin(alias: string, as: string, contracts: WalkContracts, time: string): string {
  const isEth = ethAttachedSql(contracts, time);
  return `CROSS JOIN LATERAL (SELECT ${attachedSql(alias, contracts, { time, isEth })} AS is_reached OFFSET 0) ${as}`;
}

/** SQL of whether the .eth registry is in its place at a time. */
export function ethAttachedSql({ chainId, root, ethRegistry }: WalkContracts, time: string): string {
  return `(SELECT EXISTS (SELECT FROM v2_domains d WHERE d.chain_id = ${chainId} AND d.id = ${ethNode}
    AND d.registry = '${root}' AND d.subregistry = '${ethRegistry}' AND d.expiry_date > ${time}))`;
}

/**
 * CREATE FUNCTION of what lists of names need: whether each entry above a path of a registry is in force at a time, and has as
 * subregistry the next one on the way, up to the root. A function is planned once for each connection, where the same text in each
 * list of a request would be planned each time.
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
        WHERE up.level < ${mostLevels}
      )
      SELECT FROM up WHERE up.registry = root OR up.registry = eth AND is_eth); END $$`;
}
