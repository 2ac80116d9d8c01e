import type { ReferralEdition } from "../../config/referral-editions.ts";

// The awards of ENS's referral programme, by the rules of an edition (NameHash Labs' award models).

/** A referral, in the order of the chain: who referred, and by how many seconds the name's expiry moved. */
export type Referral = { referrer: string; duration: bigint };

/** What an edition awards to a referrer, with the members of responses. Amounts are millionths of a USDC. */
export type Award = {
  qualified: boolean;
  amount: bigint;
  /** Of a pie that is split: score in years, with the boost of the rank, and the share of the pool. */
  score?: number;
  final_score?: number;
  pool_share?: number;
  /** Of a share of revenue: without the limits of the pool and of qualification. */
  uncapped_amount?: bigint;
  admin_action?: { type: string; reason: string } | undefined;
};

/** Referrers from the first rank on, each with its award. */
export type Ranked = { referrer: string; award: Award }[];

const secondsPerYear = 31_556_952n;

type Total = { referrer: string; duration: bigint };

/** Order of ranks: the longest duration first, of equal ones the highest address. */
export const byDuration = (a: Total, b: Total): number =>
  a.duration === b.duration ? (a.referrer < b.referrer ? 1 : -1) : a.duration < b.duration ? 1 : -1;

/** Ranks the referrers of an edition by its rules. */
export function computeAwards({ rules }: ReferralEdition, referrals: readonly Referral[]): Ranked {
  const totals = new Map<string, bigint>();
  for (const { referrer, duration } of referrals)
    totals.set(referrer, (totals.get(referrer) ?? 0n) + duration);
  const ranked = [...totals].map(([referrer, duration]) => ({ referrer, duration })).sort(byDuration);
  return rules.awardModel === "pie-split" ? splitPie(rules, ranked) : shareRevenue(rules, ranked, referrals);
}

type RulesOf<Model> = Extract<ReferralEdition["rules"], { awardModel: Model }>;

// The pool is split by scores: years of duration, of the qualified ones with up to twice the weight for the first rank.
function splitPie(
  { maxQualifiedReferrers: max, awardPool }: RulesOf<"pie-split">,
  ranked: readonly Total[],
): Ranked {
  const scored = ranked.map(({ referrer, duration }, index) => {
    const score = Number(duration) / Number(secondsPerYear);
    const qualified = index < max;
    const boost = qualified ? 1 - index / Math.max(1, max - 1) : 0;
    return { referrer, qualified, score, final_score: score * (1 + boost) };
  });
  const all = scored.reduce((sum, one) => sum + (one.qualified ? one.final_score : 0), 0);
  return scored.map(({ referrer, ...one }) => {
    const pool_share = one.qualified && all > 0 ? one.final_score / all : 0;
    return { referrer, award: { ...one, pool_share, amount: scaleAmount(awardPool, pool_share) } };
  });
}

// Each referral earns a share of what its duration costs by the rules, once its referrer's referrals cost enough
// together, while the pool lasts: first come, first served.
function shareRevenue(
  rules: RulesOf<"rev-share-cap">,
  ranked: readonly Total[],
  referrals: readonly Referral[],
): Ranked {
  const actions = new Map(
    rules.adminActions.map(({ referrer, actionType: type, reason }) => [referrer, { type, reason }]),
  );
  const revenueOf = (duration: bigint) => (rules.baseAnnualRevenueContribution * duration) / secondsPerYear;
  const shareOf = (duration: bigint) => scaleAmount(revenueOf(duration), rules.maxBaseRevenueShare);
  const isQualified = ({ referrer, duration }: Total) =>
    revenueOf(duration) >= rules.minBaseRevenueContribution &&
    actions.get(referrer)?.type !== "Disqualification";
  let left = rules.awardPool;
  const states = new Map<string, { duration: bigint; hasQualified: boolean; amount: bigint }>();
  for (const { referrer, duration } of referrals) {
    const state = states.get(referrer) ?? { duration: 0n, hasQualified: false, amount: 0n };
    states.set(referrer, state);
    state.duration += duration;
    if (!state.hasQualified && !isQualified({ referrer, duration: state.duration })) continue;
    // The referral that qualifies its referrer earns for all before it.
    const earned = shareOf(state.hasQualified ? duration : state.duration);
    const claimed = earned < left ? earned : left;
    state.hasQualified = true;
    state.amount += claimed;
    left -= claimed;
  }
  const awarded = ranked.map((total) => ({
    referrer: total.referrer,
    award: {
      qualified: isQualified(total),
      amount: states.get(total.referrer)?.amount ?? 0n,
      uncapped_amount: shareOf(total.duration),
      admin_action: actions.get(total.referrer),
    },
  }));
  // Equal awards stay in the order of durations.
  return awarded.sort(
    (a, b) => Number(b.award.amount > a.award.amount) - Number(b.award.amount < a.award.amount),
  );
}

// By millionths of the factor, rounded down.
const scaleAmount = (amount: bigint, factor: number) =>
  (amount * BigInt(Math.round(factor * 1e6))) / 1_000_000n;
