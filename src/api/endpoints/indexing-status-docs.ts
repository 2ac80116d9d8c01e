import { z } from "zod/v4";
import type { EndpointDocs } from "../rest/endpoint.ts";
import { blockSchema, secondsSchema } from "../rest/outputs.ts";

const indefinite = z.strictObject({ configType: z.literal("indefinite"), startBlock: blockSchema });
const definite = z.strictObject({
  configType: z.literal("definite"),
  startBlock: blockSchema,
  endBlock: blockSchema,
});
const either = z.union([indefinite, definite]);

const chainSchema = z.union([
  z.strictObject({ chainStatus: z.literal("chain-queued"), config: either }),
  z.strictObject({
    chainStatus: z.literal("chain-backfill"),
    config: either,
    latestIndexedBlock: blockSchema,
    backfillEndBlock: blockSchema,
  }),
  z.strictObject({
    chainStatus: z.literal("chain-following"),
    config: indefinite,
    latestIndexedBlock: blockSchema,
    latestKnownBlock: blockSchema,
  }),
  z.strictObject({
    chainStatus: z.literal("chain-completed"),
    config: definite,
    latestIndexedBlock: blockSchema,
  }),
]);

const statusSchema = z.strictObject({
  responseCode: z.literal("ok"),
  realtimeProjection: z.strictObject({
    projectedAt: secondsSchema,
    worstCaseDistance: z.int().min(0).meta({ description: "Seconds that the index may lag behind at most" }),
    snapshot: z.strictObject({
      strategy: z.literal("omnichain"),
      slowestChainIndexingCursor: secondsSchema,
      snapshotTime: secondsSchema,
      omnichainSnapshot: z.strictObject({
        omnichainStatus: z.enum([
          "omnichain-unstarted",
          "omnichain-backfill",
          "omnichain-following",
          "omnichain-completed",
        ]),
        chains: z.record(z.string(), chainSchema).meta({ description: "By chain id" }),
        omnichainIndexingCursor: secondsSchema,
      }),
    }),
  }),
});

export const indexingStatusDocs: EndpointDocs = {
  path: "/api/indexing-status",
  tag: "Meta",
  summary: "How far each chain is indexed",
  description: "The newest snapshot of the index, projected to the moment of the request.",
  answers: {
    200: { description: "The status", schema: statusSchema },
    503: {
      description: "There is no snapshot yet",
      schema: z.strictObject({ responseCode: z.literal("error") }),
    },
  },
};
