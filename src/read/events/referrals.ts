import { LRUCache } from "lru-cache";
import type { ReferralEdition } from "../../config/referral-editions.ts";
import { rootNode, zeroAddress } from "../../ens/ids.ts";
import type { Database } from "../sql/client.ts";
import { currentMoment } from "../sql/moment.ts";
import { type Award, byDuration, computeAwards, type Referral } from "./awards.ts";

/**
 * Which referrals count: of base registrars by CAIP-10 id, all if undefined, in a range of Unix seconds, `from`
 * included, `to` excluded.
 */
export type ReferralFilter = {
  subregistryIds?: readonly string[] | undefined;
  from?: number | undefined;
  to?: number | undefined;
};

/** Referrals of an address. `revenue`: by payment token, null for ETH. */
export type Referrer = {
  rank: number;
  referrer: string;
  count: number;
  duration: bigint;
  revenue: { token: string | null; amount: string }[];
  award?: Award | undefined;
};

/** The first id of an action at a time: ids begin with the block's time in ten digits, so that they sort by it. */
export const idAt = (time: number) => String(Math.min(Math.max(time, 0), 10 ** 10 - 1)).padStart(10, "0");

/** SQL condition that an action has a referrer, as in that of the index. */
export const hasReferrer = `encoded_referrer <> '${rootNode}'`;

function buildWhereSql({ subregistryIds, from, to }: ReferralFilter) {
  const values: string[] = [];
  const bind = (value: string) => `$${values.push(value)}`;
  const conditions = [
    hasReferrer,
    `decoded_referrer <> '${zeroAddress}'`,
    ...(from === undefined ? [] : [`id >= ${bind(idAt(from))}`]),
    ...(to === undefined ? [] : [`id < ${bind(idAt(to))}`]),
    ...(subregistryIds ? [`subregistry_id = ANY (${bind(`{${subregistryIds.join(",")}}`)}::text[])`] : []),
  ];
  return { where: conditions.join(" AND "), values };
}

const totalsSql = (where: string) => `
SELECT json_agg(json_build_object('referrer', t.referrer, 'count', t.count, 'duration', t.duration::text, 'revenue', t.revenue))::text FROM (
  SELECT a.referrer, sum(a.count) AS count, sum(a.duration) AS duration,
    json_agg(json_build_object('token', a.token, 'amount', a.amount::text) ORDER BY a.token NULLS FIRST) AS revenue
  FROM (
    SELECT decoded_referrer AS referrer, payment_token AS token, count(*) AS count, sum(incremental_duration) AS duration, sum(coalesce(total, 0)) AS amount
    FROM registrar_actions WHERE ${where} GROUP BY decoded_referrer, payment_token
  ) a GROUP BY a.referrer
) t`;

const referralsSql = (where: string) => `
SELECT json_agg(json_build_object('referrer', decoded_referrer, 'duration', incremental_duration::text) ORDER BY id)::text
FROM registrar_actions WHERE ${where}`;

type ReferralsQuery = { filter: ReferralFilter; edition: ReferralEdition | undefined };

/** Referrers of a database, ranked. The last rankings are kept until a block comes. */
export function openReferrals(database: Database) {
  const rankings = new LRUCache<string, Referrer[], ReferralsQuery>({
    max: 200,
    ignoreFetchAbort: true,
    fetchMethod: (_key, _stale, { context }) => rank(context),
  });

  async function rank({ filter, edition }: ReferralsQuery): Promise<Referrer[]> {
    const { where, values } = buildWhereSql(filter);
    // Others may wait for the same ranking.
    const signal = AbortSignal.timeout(10_000);
    const read = async <T>(sql: string): Promise<T[]> => {
      const [text] = await database.row(sql, values, signal);
      const rows = (JSON.parse(text ?? "null") ?? []) as { duration: string }[];
      return rows.map((row) => ({ ...row, duration: BigInt(row.duration) }) as T);
    };
    const totals = await read<Omit<Referrer, "rank">>(totalsSql(where));
    if (edition === undefined)
      return totals.sort(byDuration).map((total, index) => ({ rank: index + 1, ...total }));
    const referrals = await read<Referral>(referralsSql(where));
    const byReferrer = new Map(totals.map((total) => [total.referrer, total]));
    return computeAwards(edition, referrals).flatMap(({ referrer, award }, index) => {
      const total = byReferrer.get(referrer);
      return total ? [{ rank: index + 1, ...total, award }] : [];
    });
  }

  /**
   * All referrers under a filter from the first rank on, by an edition's rules if given. `heads`: see `CurrentStatus`.
   */
  return (
    filter: ReferralFilter,
    { edition, heads }: { edition?: ReferralEdition | undefined; heads: string | undefined },
  ): Promise<Referrer[]> => {
    const context = { filter, edition };
    if (currentMoment() !== undefined || heads === undefined) return rank(context);
    return rankings.forceFetch(JSON.stringify([filter, edition?.slug, heads]), { context });
  };
}
