import { z } from "zod/v4";
import type { ReferralEdition } from "../../config/referral-editions.ts";
import type { Subregistry } from "../../deployments/namespaces.ts";
import { accountId } from "../../ens/ids.ts";
import { anyCaseAddress, closedQuery, textParameter } from "../../ens/parameters.ts";
import { addressSchema } from "../../ens/schemas.ts";
import { describePosition } from "../../read/as-of.ts";
import type { openReferrals, ReferralFilter, Referrer } from "../../read/events/referrals.ts";
import { nameIn } from "../../read/names/scopes.ts";
import type { LookupContext } from "../../read/names/source.ts";
import type { V2Contracts } from "../../read/names/v2-names.ts";
import { refuse } from "../../read/refusal.ts";
import type { CurrentStatus } from "../../status/types.ts";
import { endpoint } from "../kit/endpoint.ts";
import { cursorParameters } from "../kit/paging.ts";
import { listPosition, lookupEnvelope, openPage, windowEnd } from "./contract.ts";
import { checkOrder } from "./history.ts";
import { describeAnswers, pageShape } from "./lists.ts";

/** The context of the endpoints. */
type ReferrersContext = LookupContext & {
  subregistries: readonly Subregistry[];
  referrals: ReturnType<typeof openReferrals>;
  editions: readonly ReferralEdition[];
  ensv2?: V2Contracts | undefined;
};

const amount = z.string();
const awardSchema = z.strictObject({
  qualified: z.boolean(),
  amount: amount.describe("Millionths of a USDC, like all award amounts"),
  score: z.number().optional().describe("Years of duration"),
  final_score: z.number().optional().describe("The score including the boost of the rank"),
  pool_share: z.number().optional(),
  uncapped_amount: amount.optional(),
  admin_action: z.strictObject({ type: z.string(), reason: z.string() }).optional(),
});

const referrerSchema = z.strictObject({
  rank: z.int().nullable().describe("Null without referrals"),
  referrer: addressSchema,
  referral_count: z.int(),
  duration: z.string().describe("Seconds by which referrals extended expiries"),
  revenue: z.array(
    z.strictObject({
      currency: z.string().describe("`ETH`, or the symbol of the token; `ERC20` if it is unknown"),
      token: addressSchema.optional(),
      amount: amount.describe("Wei, or the smallest unit of the token"),
    }),
  ),
  award: awardSchema.optional(),
});

const query = {
  from: windowEnd("from", "inclusive"),
  to: windowEnd("to", "exclusive"),
  parent: textParameter("parent", 500).optional().describe("Only referrals of its direct subnames"),
  edition: textParameter("edition", 100)
    .optional()
    .describe(
      "An edition of the configured file, instead of the other filters: ranks and awards by its rules",
    ),
  ...listPosition,
};

type ReferrersQuery = Omit<z.output<z.ZodObject<typeof query>>, keyof typeof listPosition>;

function chooseRanking(
  { subregistries, editions, referrals }: ReferrersContext,
  asked: ReferrersQuery,
  current: CurrentStatus,
) {
  const { from, to, parent } = asked;
  checkOrder({ from, to });
  const { heads } = current;
  if (asked.edition === undefined) {
    const node = parent === undefined ? undefined : nameIn(parent).node;
    const own = subregistries.filter((one) => one.node === node);
    const subregistryIds = node && own.map(({ subregistryId }) => subregistryId);
    return referrals({ from, to, subregistryIds }, { heads });
  }
  if (from !== undefined || to !== undefined || parent !== undefined)
    refuse("invalid_input", "edition has its own time and registrar: give neither from, to nor parent");
  const edition = editions.find(({ slug }) => slug === asked.edition);
  if (edition === undefined) return refuse("not_found", "REFERRAL_EDITIONS_FILE has no such edition");
  const { subregistryId, startTime, endTime } = edition.rules;
  const filter: ReferralFilter = {
    from: startTime,
    to: endTime + 1,
    subregistryIds: [accountId(subregistryId.chainId, subregistryId.address as `0x${string}`)],
  };
  return referrals(filter, { edition, heads });
}

function buildRow({ ensv2 }: ReferrersContext, one: Referrer): z.output<typeof referrerSchema> {
  const { award } = one;
  return {
    rank: one.rank,
    referrer: one.referrer as `0x${string}`,
    referral_count: one.count,
    duration: String(one.duration),
    revenue: one.revenue.map(({ token, amount }) => ({
      currency:
        token === null ? "ETH" : (ensv2?.currencyOf(ensv2.chainId, token as `0x${string}`) ?? "ERC20"),
      ...(token === null ? {} : { token: token as `0x${string}` }),
      amount,
    })),
    award: award && {
      ...award,
      amount: String(award.amount),
      uncapped_amount: award.uncapped_amount?.toString(),
    },
  };
}

const common = {
  tag: "Lookup",
  envelope: lookupEnvelope,
  needs: { plugins: ["registrars"], index: "complete" },
} as const;

/** GET /v1/referrers. */
export const referrers = endpoint({
  ...common,
  path: "/v1/referrers",
  summary: "Referrers of registrations and renewals",
  description:
    "Exact, ordered by referred duration, longest first; in an edition, by its awards. Referrals without an address are not counted.",
  query: closedQuery({ ...query, ...cursorParameters }),
  answers: describeAnswers("A page of referrers, possibly empty", pageShape(referrerSchema), 404),
  handle: async (call, context: ReferrersContext) => {
    const { query: asked, current } = call;
    const { from, to, parent, edition } = asked;
    const opened = openPage(asked, ["referrers", from, to, parent, edition], ["numeric"]);
    const all = await chooseRanking(context, asked, current);
    const start = Number(opened.after?.[0] ?? 0);
    const rows = all.slice(start, start + opened.size + 1).map((one) => ({ one, after: [String(one.rank)] }));
    const { shown, page } = opened.of(rows, all.length);
    const data = shown.map(({ one }) => buildRow(context, one));
    return { status: 200, body: { data, page, meta: describePosition(current, context.lookup.hashOf) } };
  },
});

/** GET /v1/referrers/{address}. */
export const referrer = endpoint({
  ...common,
  path: "/v1/referrers/{address}",
  summary: "Referrals of an address",
  description: "Its row of `/v1/referrers` with the same filters; zeros if it referred nothing.",
  params: z.object({ address: anyCaseAddress("address") }),
  query: closedQuery(query),
  answers: describeAnswers("The referrer", { data: referrerSchema }, 404),
  handle: async (call, context: ReferrersContext) => {
    const { params, query: asked, current } = call;
    const address = params.address.toLowerCase();
    const found = (await chooseRanking(context, asked, current)).find((one) => one.referrer === address);
    const none = { rank: 0, referrer: address, count: 0, duration: 0n, revenue: [] };
    const data = buildRow(context, found ?? none);
    const meta = describePosition(current, context.lookup.hashOf);
    return { status: 200, body: { data: { ...data, rank: found ? data.rank : null }, meta } };
  },
});
