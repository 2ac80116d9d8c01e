import { expect, test } from "vitest";
import { referralEditionsFrom } from "../../config/referral-editions.ts";
import { computeAwards, type Referral } from "./awards.ts";

const [low, middle, high] = ["11", "22", "33"].map((byte) => `0x${byte.repeat(20)}`) as [
  string,
  string,
  string,
];
// A year as ENSNode counts it.
const year = 31_556_952n;
const usdc = (dollars: number) => ({ currency: "USDC", amount: String(Math.round(dollars * 1e6)) });
const dollars = (amount: number) => BigInt(Math.round(amount * 1e6));

function editionOf(rules: object) {
  const common = {
    ...{ subregistryId: { chainId: 1, address: low }, startTime: 0, endTime: 1, awardPool: usdc(10_000) },
  };
  const text = JSON.stringify([{ slug: "one", displayName: "One", rules: { ...common, ...rules } }]);
  const faults: string[] = [];
  const [edition] = referralEditionsFrom("file", () => text, faults);
  if (edition === undefined) throw new Error(faults.join(" "));
  return edition;
}
const years = (referrer: string, count: number): Referral => ({
  referrer,
  duration: (year * BigInt(Math.round(count * 100))) / 100n,
});

test("a pie is split by scores, which the rank of a qualified referrer boosts", () => {
  const edition = editionOf({ awardModel: "pie-split", maxQualifiedReferrers: 2 });
  const found = computeAwards(edition, [
    years(low, 1),
    years(middle, 3),
    years(high, 2),
    years(low, 1),
    years(high, 1),
  ]);
  // Equal durations: the higher address first. Boosts of two qualified referrers are 1 and 0.
  expect(found.map(({ referrer }) => referrer)).toEqual([high, middle, low]);
  expect(found.map(({ award }) => award)).toMatchObject([
    { score: 3, final_score: 6, pool_share: 6 / 9 },
    { score: 3, final_score: 3, pool_share: 3 / 9 },
    { score: 2, final_score: 2, pool_share: 0 },
  ]);
  expect(found.map(({ award }) => award.qualified)).toEqual([true, true, false]);
  const [first = 0, second = 0, third] = found.map(({ award }) => Number(award.amount) / 1e6);
  expect([Math.round(first), Math.round(second), third]).toEqual([6_667, 3_333, 0]);
});

test("one qualified referrer gets the whole pie, none leaves it", () => {
  const edition = editionOf({ awardModel: "pie-split", maxQualifiedReferrers: 1 });
  expect(computeAwards(edition, [years(low, 1)])[0]?.award.amount).toBe(dollars(10_000));
  expect(computeAwards(edition, [])).toEqual([]);
});

const share = {
  ...{ awardModel: "rev-share-cap", awardPool: usdc(10), minBaseRevenueContribution: usdc(10) },
  ...{ baseAnnualRevenueContribution: usdc(5), maxBaseRevenueShare: 0.5 },
};

test("a share of revenue is earned from the referral on that qualifies, for all before it, while the pool lasts", () => {
  // 5 dollars a year, of which half is awarded: two years qualify.
  const found = computeAwards(editionOf(share), [
    years(low, 1),
    years(high, 2), // claims 5 of 10
    years(low, 0.5),
    years(low, 0.5), // qualifies, claims 5: the pool is empty
    years(high, 1),
    years(middle, 1.5),
  ]);
  expect(
    found.map(({ referrer, award }) => [referrer, award.qualified, award.amount, award.uncapped_amount]),
  ).toEqual([
    [high, true, dollars(5), dollars(7.5)],
    [low, true, dollars(5), dollars(5)],
    [middle, false, 0n, dollars(3.75)],
  ]);
});

test("whoever is disqualified gets nothing and takes nothing from the pool; a warning changes no award", () => {
  const edition = editionOf({
    ...share,
    adminActions: [
      { actionType: "Disqualification", referrer: high, reason: "own names" },
      { actionType: "Warning", referrer: low, reason: "careful" },
    ],
  });
  const found = computeAwards(edition, [years(high, 4), years(low, 4)]);
  expect(found).toEqual([
    {
      referrer: low,
      award: {
        ...{ qualified: true, amount: dollars(10), uncapped_amount: dollars(10) },
        admin_action: { type: "Warning", reason: "careful" },
      },
    },
    {
      referrer: high,
      award: {
        ...{ qualified: false, amount: 0n, uncapped_amount: dollars(10) },
        admin_action: { type: "Disqualification", reason: "own names" },
      },
    },
  ]);
});

test("every fault of a file of editions is named", () => {
  const faults: string[] = [];
  const rules = { ...share, subregistryId: { chainId: 1, address: "0x1" }, startTime: 5, endTime: 1 };
  const text = JSON.stringify([{ slug: "A", displayName: "A", rules: { ...rules, maxBaseRevenueShare: 2 } }]);
  expect(referralEditionsFrom("file", () => text, faults)).toEqual([]);
  expect(faults).toEqual([
    "REFERRAL_EDITIONS_FILE: 0.slug: must be lower-case words with - between. See docs/lookup.md#referrals.",
    "REFERRAL_EDITIONS_FILE: 0.rules.subregistryId.address: must be an address. See docs/lookup.md#referrals.",
    "REFERRAL_EDITIONS_FILE: 0.rules.maxBaseRevenueShare: must be 0 to 1. See docs/lookup.md#referrals.",
  ]);
});
