import { z } from "zod/v4";
import { readJsonFile } from "./json-file.ts";

const address = z
  .string()
  .regex(/^0x[0-9a-fA-F]{40}$/, "must be an address")
  .transform((text) => text.toLowerCase());
const seconds = z.int("must be Unix seconds").min(0, "must be Unix seconds");
const usdc = z
  .strictObject({
    currency: z.literal("USDC", "must be USDC"),
    amount: z.string().regex(/^\d{1,30}$/, "must be millionths of a USDC as digits"),
  })
  .transform(({ amount }) => BigInt(amount));

const ofAllModels = {
  subregistryId: z.strictObject({ chainId: z.int(), address }),
  startTime: seconds,
  endTime: seconds,
  awardPool: usdc,
  rulesUrl: z.url("must be a URL").optional(),
  areAwardsDistributed: z.boolean().default(false),
};

const rules = z.discriminatedUnion("awardModel", [
  z.strictObject({
    awardModel: z.literal("pie-split"),
    ...ofAllModels,
    maxQualifiedReferrers: z.int().min(1, "must be 1 or more"),
  }),
  z.strictObject({
    awardModel: z.literal("rev-share-cap"),
    ...ofAllModels,
    minBaseRevenueContribution: usdc,
    baseAnnualRevenueContribution: usdc,
    maxBaseRevenueShare: z.number().min(0, "must be 0 to 1").max(1, "must be 0 to 1"),
    adminActions: z
      .array(
        z.strictObject({
          actionType: z.enum(["Disqualification", "Warning"]),
          referrer: address,
          reason: z.string(),
        }),
      )
      .default([]),
  }),
]);

const editionsFile = z.array(
  z.strictObject({
    slug: z.string().regex(/^[a-z0-9]+(-[a-z0-9]+)*$/, "must be lower-case words with - between"),
    displayName: z.string(),
    rules,
  }),
);

/**
 * A time in which referrers compete for awards, and by which rules. Times are Unix seconds, both included; amounts are
 * millionths of a USDC.
 */
export type ReferralEdition = z.output<typeof editionsFile>[number];

/**
 * The editions of REFERRAL_EDITIONS_FILE, in ENSNode's form; none if it is not set or has a fault. Adds every fault to
 * `faults`.
 */
export function referralEditionsFrom(
  path: string | undefined,
  readTextFile: (path: string) => string,
  faults: string[],
): readonly ReferralEdition[] {
  const variable = "REFERRAL_EDITIONS_FILE";
  const read = path === undefined ? undefined : readJsonFile({ variable, path }, readTextFile, faults);
  if (read === undefined) return [];
  const { data = [], error } = editionsFile.safeParse(read.value);
  const found = (error?.issues ?? []).map(
    ({ path, message }) => `${path.join(".") || "the file"}: ${message}`,
  );
  const slugs = data.map(({ slug }) => slug);
  for (const [index, { slug, rules }] of data.entries()) {
    if (slugs.indexOf(slug) < index) found.push(`${index}.slug: another edition has it`);
    if (rules.endTime < rules.startTime) found.push(`${index}.rules.endTime: must not be before startTime`);
  }
  faults.push(...found.map((fault) => `${variable}: ${fault}. See docs/lookup.md#referrals.`));
  return found.length === 0 ? data : [];
}
