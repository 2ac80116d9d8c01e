import { z } from "zod/v4";

const block = z.strictObject({ timestamp: z.int(), number: z.int() });

const indefinite = z.strictObject({ configType: z.literal("indefinite"), startBlock: block });

const definite = z.strictObject({ configType: z.literal("definite"), startBlock: block, endBlock: block });

const config = z.discriminatedUnion("configType", [indefinite, definite]);

const chain = z.discriminatedUnion("chainStatus", [
  z.strictObject({ chainStatus: z.literal("chain-queued"), config }),
  z.strictObject({
    chainStatus: z.literal("chain-backfill"),
    config,
    latestIndexedBlock: block,
    backfillEndBlock: block,
  }),
  z.strictObject({
    chainStatus: z.literal("chain-following"),
    config,
    latestIndexedBlock: block,
    latestKnownBlock: block,
  }),
  z.strictObject({ chainStatus: z.literal("chain-completed"), config, latestIndexedBlock: block }),
]);

export const savedSnapshot = z.object({
  reportedAt: z.int(),
  age: z.number(),
  snapshot: z.strictObject({
    strategy: z.literal("omnichain"),
    slowestChainIndexingCursor: z.int(),
    snapshotTime: z.int(),
    omnichainSnapshot: z.strictObject({
      omnichainStatus: z.enum([
        "omnichain-unstarted",
        "omnichain-backfill",
        "omnichain-following",
        "omnichain-completed",
      ]),
      chains: z.record(z.string(), chain),
      omnichainIndexingCursor: z.int(),
    }),
  }),
});
