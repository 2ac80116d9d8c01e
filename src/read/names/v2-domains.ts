import { zeroAddress } from "../../ens/ids.ts";
import { walkedNames } from "./stored-name.ts";
import {
  askedByPath,
  askedByRow,
  attachedSql,
  ethAttachedSql,
  type WalkContracts,
  walkSql,
} from "./v2-walk.ts";

// Domains and registrations of both generations, for lists (docs/subgraph.md). Names of ENSv2 are rows of v2_domains,
// which nothing rewrites when a name above them changes: their parents show whether a row is reached.

/** How the statement of a request reads both generations. */
export type BothGenerations = ReturnType<typeof bothGenerations>;

const nobody = `'${zeroAddress}'`;
const now = "(SELECT t FROM v2_at)";
const isEthAttached = "(SELECT is_eth FROM v2_at)";
const noText = 'NULL::text COLLATE "C"';

/** Reads both generations with a set of contracts, at a time (SQL). */
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
    /**
     * The WITH query of statements that mention `v2_at`: the time, and whether the root has the .eth registry attached.
     */
    at: `v2_at AS MATERIALIZED (SELECT n.t, ${ethAttachedSql(contracts, "n.t")} AS is_eth
      FROM (SELECT ${time} AS t OFFSET 0) n)`,
    /** SQL that reads a domain's row under an alias from the registries. */
    walkOf: (
      alias: string,
    ) => `SELECT entry.version, coalesce(entry.authority = 'reserved', false) AS reserved, entry.migrated_at, entry.registry, entry.registry_path,
      in_force.owner AS effective_owner, in_force.resolver AS effective_resolver, in_force.expires AS effective_expiry_date,
      in_force.grace_ends AS grace_end_date
      FROM ${walkedNames(askedByRow(alias, chainId), contracts, { time: now, hasV1: true })}`,
    /**
     * The tables that together have each row of an entity once, by the entity's own table; undefined for other
     * entities. `named`: SQL of a JSON list of `walkedName`, of domains that may lack a row.
     */
    armsOf(table: string, alias: string, named?: string): { from: string; where: string }[] | undefined {
      if (table === "domain")
        return [
          ...(named === undefined
            ? []
            : [
                {
                  from: `(${domainsByNameSql(contracts, named)}) ${alias}`,
                  where: `${unknown(alias, table)} AND ${replaced(alias, "true")}`,
                },
              ]),
          { from: `domain ${alias}`, where: replaced(alias, `n.registry <> ${root}`) },
          {
            from: `(${domainsSql(chainId)}) ${alias}`,
            // For a top-level name, the first generation's row counts if there is one.
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

// Domains by their names: entries in force that the walk reaches, whether or not a row has the name.
const domainsByNameSql = (contracts: WalkContracts, named: string) => {
  const { chainId } = contracts;
  const member = (name: string) => `(q.path->>'${name}') COLLATE "C"`;
  return `SELECT ${member("node")} AS id, ${member("name")} AS name, split_part(${member("name")}, '.', 1) AS label_name, ${member("labelhash")} AS labelhash,
  ${member("parent")} AS parent_id,
  coalesce((SELECT c.entry_count FROM v2_contracts c WHERE c.chain_id = ${chainId} AND c.address = f.subregistry), 0) AS subdomain_count,
  ${noText} AS resolved_address_id, CASE WHEN f.resolver_level = f.depth THEN '${chainId}-' || f.resolver || '-' || ${member("node")} END AS resolver_id,
  NULL::numeric AS ttl, TRUE AS is_migrated, f.created_at, f.holder AS owner_id, f.holder AS registrant_id, ${noText} AS wrapped_owner_id,
  f.expiry AS expiry_date, NULL::integer AS change_block, f.registry, NULL::integer AS path
  FROM jsonb_array_elements(${named}::jsonb) q(path)
  CROSS JOIN LATERAL (${walkSql(askedByPath("q.path"), contracts, { time: now, hasV1: false })}) f WHERE f.status = 'registered' AND f.is_proven`;
};

const registrationsSql = (
  chainId: number,
) => `SELECT v.id, v.id AS domain_id, v.registration_date, v.expiry_date,
  NULL::numeric AS cost, v.owner_id AS registrant_id, v.label_name, v.change_block, v.registry
  FROM v2_domains v WHERE v.chain_id = ${chainId}`;
