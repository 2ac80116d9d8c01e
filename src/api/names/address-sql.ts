import type { Hex } from "viem";
import { namehash } from "../../ens/names.ts";
import { allNames, columns, nameOfNode, namesHeldBy, secondGeneration } from "./generations.ts";
import { hasName } from "./list-sql.ts";
import { hideFromPlanner } from "./name-rows.ts";
import { namesJoins, ownResolver } from "./names-sql.ts";
import type { Place } from "./places.ts";
import { jointText, nameText } from "./stored-name.ts";

// Who an address is: its names by relation, and the name that it claims.

/** Node of an address's reverse name on the root chain. */
export const reverseNode = (address: Hex): Hex => namehash(`${address.slice(2)}.addr.reverse`);

/** The coin type of the default name and address (ENSIP-19), which stand for every EVM chain without one of its own. */
export const defaultCoin = 2_147_483_648;

type Claims = { places: readonly Place[]; hasRecords: boolean };

/**
 * SQL of the name that an address claims for coin type 60: its reverse name on the root chain, else the default one (ENSIP-19). The
 * claim is not checked forward. Where records are not indexed, the last event of the reverse name's resolver tells it.
 */
export function claimSql({ places, hasRecords }: Claims, address: string, reverse: string): string {
  const stored = `SELECT v.name FROM domain_resolver_relations l
    JOIN resolver_records v ON v.id = 'eip155:' || l.chain_id || ':' || l.resolver || '/' || l.domain_id
    WHERE l.domain_id = ${reverse} AND l.chain_id = ${places[0]?.chainId ?? 0} AND v.name <> '' LIMIT 1`;
  const emitted = `SELECT nullif(e.name, '') FROM domain r JOIN resolver_event e ON e.resolver_id = r.resolver_id
    WHERE r.id = ${reverse} AND e.type IN ('NameChanged', 'VersionChanged') ORDER BY e.block_number DESC, e.log_index DESC LIMIT 1`;
  return `coalesce((${hasRecords ? stored : emitted}), ${claimOfCoin(address, String(defaultCoin))})`;
}

/** SQL of the name that an address claims for the coin type of an EVM chain: that of its reverse registrar, else the default one (ENSIP-19). */
export const claimOfCoin = (address: string, coin: string) => `(SELECT value FROM reverse_name_records
  WHERE address = ${address} AND coin_type IN (${coin}, ${defaultCoin}) AND value <> '' ORDER BY coin_type <> ${coin} LIMIT 1)`;

/**
 * SQL of whether the address records of coin type 60 and of the default (ENSIP-19) that the resolver of `domain d` holds for it are an address, as
 * a JSON list; null for none.
 */
export function forwardSql({ places, hasRecords }: Claims, address: string): string {
  if (!hasRecords) return "'null'::json";
  const isAddress = (
    coin: number,
  ) => `(SELECT o.value = ${address} FROM resolver_address_records o WHERE o.chain_id = ${places[0]?.chainId ?? 0}
    AND o.address = ${ownResolver} AND o.node = d.id AND o.coin_type = ${coin})`;
  return `json_build_array(${isAddress(60)}, ${isAddress(defaultCoin)})`;
}

/** Up to which number the names of an address are counted, those included that it does not own any more. */
export const mostCountedOfAddress = 1_000;

// With at most as many candidates all of them are read at once; a name that an address holds in two ways is two of them.
const few = 100;

const relations = (isOwner: string, isManager: string) =>
  `CASE WHEN (${isOwner}) AND (${isManager}) THEN '["owner","manager"]' WHEN ${isOwner} THEN '["owner"]' WHEN ${isManager} THEN '["manager"]' ELSE '[]' END`;

const isAsked = "(q.places IS NULL OR names.place = ANY (q.places))";
const isOwner = `q.owner AND names.owner = q.address AND ${isAsked}`;
const isManager = `q.manager AND names.manager = q.address AND ${isAsked}`;
const isMine = `((${isOwner}) OR (${isManager}))`;

const foundSql = (claims: Claims, rank: string, name: string) =>
  `concat('{"row":', ${nameText}, ',"after":["', ${rank}, '",', to_json(${name}), ',"', d.id, '"],"isPrimary":', CASE WHEN ${rank} = 0 THEN 'true' ELSE 'false' END,
  ',"forward":', CASE WHEN ${rank} = 0 THEN ${forwardSql(claims, "q.address")}::text ELSE 'null' END,
  ',"relations":', ${relations(isOwner, isManager)}, '}')`;

/** SQL of the names of an address with few: `n` candidates, and how many of them are its own. With more, nothing but `n` is computed. */
function fewSql(claims: Claims): string {
  const { places } = claims;
  const { held, candidates } = candidatesOf(places);
  const beyond =
    "(q.after_rank IS NULL OR (o.rank, o.name, d.id) > (q.after_rank, q.after_name, q.after_id))";
  const found = `array_agg(${foundSql(claims, "o.rank", "o.name")} ORDER BY o.rank, o.name, d.id) FILTER (WHERE ${isMine} AND ${beyond})`;
  return `WITH held AS MATERIALIZED (${held})
SELECT (SELECT count(*) FROM held) AS n, count(*) FILTER (WHERE ${isMine}) AS total,
  '[' || coalesce(array_to_string((${found})[1:q.size + 1], ','), '') || ']' AS rows
FROM ${candidates}${namesJoins(places)}
CROSS JOIN LATERAL (SELECT left(d.name, 256) AS name, CASE WHEN d.name = c.claim THEN 0 WHEN ${isOwner} THEN 1 ELSE 2 END AS rank OFFSET 0) o
WHERE ${hasName} AND (SELECT count(*) FROM held) <= ${few}`;
}

// SQL of what an address holds in any way, each way up to one more than few, and of the names of these as rows of `domain d`.
function candidatesOf(places: readonly Place[]) {
  const ways = namesHeldBy(places, "q.address");
  const most = few + 1;
  if (secondGeneration(places) !== undefined) {
    const ids = ways.map(({ from, where }) => `(SELECT d.id FROM ${from} WHERE ${where} LIMIT ${most})`);
    return {
      held: ids.join(" UNION ALL "),
      candidates: `(SELECT DISTINCT id FROM held) f ${nameOfNode(places, "f.id")}`,
    };
  }
  // Each row is read through the index that finds it. Those that a way before has found are left out after its limit, so that no
  // more are read than that, whatever they are.
  const rows = ways.map(({ by }, at) => {
    const isNew = ways.slice(0, at).map((one) => `d.${one.by} IS DISTINCT FROM q.address`);
    const where = isNew.length === 0 ? "" : ` WHERE ${isNew.join(" AND ")}`;
    return `SELECT * FROM (SELECT ${columns} FROM domain d WHERE d.${by} = q.address LIMIT ${most}) d${where}`;
  });
  return { held: rows.join(" UNION ALL "), candidates: "held d" };
}

// Names are read in their order from the indexes by holder, each as far as a page needs. Names that are only managed come last, and
// are looked for only where the page has room for them.
/** SQL of the names of an address with many. */
function manySql(claims: Claims): string {
  const { places } = claims;
  const joins = namesJoins(places);
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
    branch(1, { ...found, where: `${where} AND ${hideFromPlanner(isOwner)} AND ${claimed}` }),
  );
  const room = "CASE WHEN (SELECT count(*) FROM held) > q.size THEN 0 ELSE q.size + 1 END";
  const managed = held
    .filter(({ by }) => by !== "registrant_id")
    .map(({ where, ...found }) =>
      branch(
        2,
        {
          ...found,
          where: `${where} AND ${hideFromPlanner(`${isManager} AND (${isOwner}) IS NOT TRUE`)} AND ${claimed}`,
        },
        room,
      ),
    );
  const primary = {
    from: allNames(places),
    where: `left(d.name, 256) = left(c.claim, 256) AND d.name = c.claim AND ${isMine}`,
  };
  return `SELECT ${totalSql(places)} AS total, r.rows FROM (WITH held AS MATERIALIZED (
    ${branch(0, primary)}
    UNION ${owned.join("\nUNION ")})
  SELECT ${jointText("found")} AS rows FROM (
    SELECT ${foundSql(claims, "f.rank", "f.name")} AS found
    FROM (SELECT * FROM held UNION ${managed.join("\nUNION ")}) f ${nameOfNode(places, "f.id")}${joins}
    ORDER BY f.rank, f.name, f.id LIMIT q.size + 1) listed) r`;
}

function totalSql(places: readonly Place[]): string {
  const held = namesHeldBy(places, "q.address");
  const most = mostCountedOfAddress;
  const counted = (joined: string, more: string) => {
    const parts = held.map(
      ({ from, where }) =>
        `(SELECT d.id FROM ${from}${joined} WHERE ${where} AND d.name <> ''${more} LIMIT ${most + 1})`,
    );
    return `(SELECT count(*) FROM (${parts.join(" UNION ")}) counted)`;
  };
  // One after the other, from an index alone: most addresses with too many have them in one of them.
  const tooMany = held.map(
    ({ from, where }) => `WHEN EXISTS (SELECT FROM ${from} WHERE ${where} OFFSET ${most}) THEN ${most + 1}`,
  );
  return `CASE ${tooMany.join(" ")} WHEN ${counted("", "")} > ${most} THEN ${most + 1}
  ELSE ${counted(namesJoins(places), ` AND ${isMine}`)} END`;
}

/** The statement that reads the names of addresses. */
export function addressSql(claims: Claims): string {
  const claim = claimSql(claims, "q.address", "q.reverse");
  return `SELECT concat(q.at, ' {"rows":', n.rows, ',"total":', n.total, '}')
FROM json_to_recordset($2::json) AS q (at int, address text, owner boolean, manager boolean, size int, reverse text, after_rank int, after_name text, after_id text, places int[])
CROSS JOIN LATERAL (SELECT ${claim} AS claim OFFSET 0) c
CROSS JOIN LATERAL (${fewSql(claims)}) few
CROSS JOIN LATERAL (SELECT few.total, few.rows WHERE few.n <= ${few}
  UNION ALL SELECT m.total, m.rows FROM (${manySql(claims)}) m WHERE few.n > ${few}) n`;
}
