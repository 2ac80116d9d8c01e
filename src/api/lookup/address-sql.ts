import type { Hex } from "viem";
import { nodeOfName } from "../../ens/names.ts";
import { allNames, nameOfNode, namesHeldBy } from "./generations.ts";
import { nameJoins, nameJson, opaque } from "./name-rows.ts";
import type { Place } from "./places.ts";

// Who an address is: its names by relation, and the name that it claims.

/** Node of an address's reverse name on the root chain. */
export const reverseNode = (address: Hex): Hex => nodeOfName(`${address.slice(2)}.addr.reverse`);

const defaultCoin = 2_147_483_648;

/**
 * SQL of the name that an address claims for coin type 60: its reverse name on the root chain, else the default one (ENSIP-19). The
 * claim is not checked forward.
 */
export function claimSql(places: readonly Place[], address: string, reverse: string): string {
  return `coalesce((SELECT v.name FROM domain_resolver_relations l
    JOIN resolver_records v ON v.id = 'eip155:' || l.chain_id || ':' || l.resolver || '/' || l.domain_id
    WHERE l.domain_id = ${reverse} AND l.chain_id = ${places[0]?.chainId ?? 0} AND v.name <> '' LIMIT 1),
  (SELECT value FROM reverse_name_records WHERE address = ${address} AND coin_type = ${defaultCoin}))`;
}

/** Up to which number the names of an address are counted, those included that it does not own any more. */
export const mostCountedOfAddress = 1_000;

// Names are read in their order from the indexes by holder, each as far as a page needs. Names that are only managed come last, and
// are looked for only where the page has room for them.
/** The statement that reads the names of addresses. */
export function addressSql(places: readonly Place[], hasRecords: boolean): string {
  const joins = nameJoins(places);
  const claim = hasRecords ? claimSql(places, "q.address", "q.reverse") : "NULL::text";
  const isOwner = "q.owner AND x.owner = q.address";
  const isManager = "q.manager AND x.manager = q.address";
  const branch = (
    rank: number,
    {
      from,
      where,
      name = "d.name",
      id = "d.id",
    }: { from: string; where: string; name?: string; id?: string },
    limit = "q.size + 1",
  ) => `(SELECT ${id}, n.rank, left(${name}, 256) AS name FROM ${from}${joins} CROSS JOIN (SELECT ${rank} AS rank) n
WHERE d.name <> '' AND ${where} AND (q.after_rank IS NULL OR (n.rank, left(${name}, 256), ${id}) > (q.after_rank, q.after_name, q.after_id))
ORDER BY left(${name}, 256), ${id} LIMIT ${limit})`;
  const held = namesHeldBy(places, "q.address");
  const claimed = "d.name IS DISTINCT FROM c.claim";
  const owned = held.map(({ where, ...found }) =>
    branch(1, { ...found, where: `${where} AND ${opaque(isOwner)} AND ${claimed}` }),
  );
  const room = "CASE WHEN (SELECT count(*) FROM held) > q.size THEN 0 ELSE q.size + 1 END";
  const managed = held
    .filter(({ by }) => by !== "registrant_id")
    .map(({ where, ...found }) =>
      branch(
        2,
        {
          ...found,
          where: `${where} AND ${opaque(`${isManager} AND (${isOwner}) IS NOT TRUE`)} AND ${claimed}`,
        },
        room,
      ),
    );
  const primary = {
    from: allNames(places),
    where: `left(d.name, 256) = left(c.claim, 256) AND d.name = c.claim AND ((${isOwner}) OR (${isManager}))`,
  };
  const most = mostCountedOfAddress + 1;
  const counted = (joined: string, more: string) => {
    const parts = held.map(
      ({ from, where }) =>
        `(SELECT d.id FROM ${from}${joined} WHERE ${where} AND d.name <> ''${more} LIMIT ${most})`,
    );
    return `(SELECT count(*) FROM (SELECT id FROM (${parts.join(" UNION ")}) f LIMIT ${most}) counted)`;
  };
  const total = `CASE WHEN ${counted("", "")} = ${most} THEN ${most} ELSE ${counted(joins, ` AND ((${isOwner}) OR (${isManager}))`)} END`;
  return `SELECT json_agg(json_build_object('rows', n.rows, 'total', t.total) ORDER BY q.at)::text
FROM json_to_recordset($2::json) AS q (at int, address text, owner boolean, manager boolean, size int, reverse text, after_rank int, after_name text, after_id text)
CROSS JOIN LATERAL (SELECT ${claim} AS claim) c
CROSS JOIN LATERAL (WITH held AS MATERIALIZED (
    ${branch(0, primary)}
    UNION ${owned.join("\nUNION ")})
  SELECT coalesce(json_agg(found), '[]') AS rows FROM (
    SELECT json_build_object('row', ${nameJson(places)}, 'after', json_build_array(f.rank::text, f.name, f.id), 'isPrimary', f.rank = 0,
      'relations', array_to_json(array_remove(ARRAY[CASE WHEN ${isOwner} THEN 'owner' END, CASE WHEN ${isManager} THEN 'manager' END], NULL))) AS found
    FROM (SELECT * FROM held UNION ${managed.join("\nUNION ")}) f ${nameOfNode(places, "f.id")}${joins}
    ORDER BY f.rank, f.name, f.id LIMIT q.size + 1) listed) n
CROSS JOIN LATERAL (SELECT ${total} AS total) t`;
}
