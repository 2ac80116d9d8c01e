import { z } from "zod/v4";
import { oneText } from "../../ens/parameters.ts";
import { countSchema, secondsSchema } from "../../ens/schemas.ts";
import { HttpError } from "../../http/error.ts";
import { computeDistances, findSlowest, project } from "../../status/snapshot.ts";
import { snapshotSchema } from "../../status/types.ts";
import { endpoint, type GateContext } from "../kit/endpoint.ts";
import { envelope, messageSchema } from "../kit/errors.ts";
import { type ProvenFrom, provenFromSchema } from "./config.ts";

const schema = z.strictObject({
  responseCode: z.literal("ok"),
  realtimeProjection: z.strictObject({
    projectedAt: secondsSchema,
    worstCaseDistance: countSchema.describe("Maximum lag of the index in seconds"),
    snapshot: snapshotSchema,
  }),
  distances: z
    .record(z.string(), countSchema)
    .optional()
    .describe(
      "Only while a chain is paused and the cursors do not wait for it: seconds since the last indexed block of each followed chain, by chain id",
    ),
  stale: z
    .strictObject({ since: secondsSchema, reason: z.string() })
    .optional()
    .describe(
      "Only while the indexing process does not report, so that the snapshot is its last, or while the chain contradicts the index",
    ),
  indexes: z
    .strictObject({ built: countSchema, total: countSchema })
    .optional()
    .describe(
      "Only while database indexes are being built after the first backfill: until then queries are slow and /ready returns 503",
    ),
  anomalies: z
    .record(z.string(), countSchema)
    .optional()
    .describe(
      "Anomalous events that were skipped or repaired, by kind, since the process started; only from the indexing process, once it has seen one",
    ),
  provenFrom: provenFromSchema,
  logChecks: z
    .record(z.string(), z.string())
    .optional()
    .describe(
      'How the logs of RPC URLs are checked, by chain id: "sampled 1 %", "every log" or "not at all"; only from the indexing process',
    ),
});

/**
 * `clock` gives milliseconds, `indexes` the progress of the indexes for queries, `anomalies` the number of anomalies by
 * kind.
 */
export type StatusContext = {
  clock: () => number;
  indexes?: () => { built: number; total: number } | undefined;
  anomalies?: () => Promise<Readonly<Record<string, number>> | undefined>;
  provenFrom?: ProvenFrom;
  logChecks?: Readonly<Record<string, string>> | undefined;
};

/** GET /api/indexing-status. */
export const indexingStatus = endpoint({
  path: "/api/indexing-status",
  tag: "Meta",
  summary: "Indexing status of each chain",
  description: "The newest snapshot of the index, projected to the moment of the request.",
  needs: { index: "known" },
  envelope: envelope(z.strictObject({ responseCode: z.literal("error") }), () => ({
    responseCode: "error" as const,
  })),
  answers: { 200: { description: "The status", schema } },
  handle: async (
    { current: { snapshot, stale } },
    { clock, indexes, anomalies, provenFrom, logChecks }: StatusContext,
  ) => {
    const found = indexes?.();
    const realtimeProjection = { ...project(snapshot, Math.floor(clock() / 1000)), snapshot };
    const body = {
      responseCode: "ok" as const,
      realtimeProjection,
      distances:
        findSlowest(snapshot).chainId === undefined
          ? undefined
          : computeDistances(snapshot, realtimeProjection.projectedAt),
      stale,
      indexes: found !== undefined && found.built < found.total ? found : undefined,
      anomalies: await anomalies?.(),
      provenFrom: await provenFrom?.(),
      logChecks,
    };
    return { status: 200, body };
  },
});

const defaultDistance = 60;

// Plain decimal digits only: "1e3", "0x10", "+5" and " 5" are invalid, though Number() parses them.
const distance = oneText("maxWorstCaseDistance")
  .regex(/^[0-9]*$/, { error: "maxWorstCaseDistance must be a non-negative integer", abort: true })
  .transform((digits) => (digits === "" ? defaultDistance : Number(digits)))
  .refine(Number.isSafeInteger, "maxWorstCaseDistance is too large")
  .default(defaultDistance)
  .describe("Maximum lag of the index in seconds");

type RealtimeContext = Pick<StatusContext, "clock"> & Pick<GateContext, "status">;

/** GET /amirealtime, also as /api/realtime. */
export const realtime = ["/amirealtime", "/api/realtime"].map((path) =>
  endpoint({
    path,
    tag: "Meta",
    summary: "Whether every chain is within a maximum lag",
    description: `For monitoring by status code. \`maxWorstCaseDistance\` defaults to ${defaultDistance} seconds.`,
    query: z.object({ maxWorstCaseDistance: distance }),
    answers: {
      200: {
        description: "The index is recent enough",
        schema: z.strictObject({
          maxWorstCaseDistance: countSchema,
          slowestChainIndexingCursor: secondsSchema,
          worstCaseDistance: countSchema,
        }),
      },
      503: {
        description: "The index lags further behind, is stale, or its status is unknown",
        schema: messageSchema,
      },
    },
    // Invalid input comes first, whatever the status.
    handle: ({ query: { maxWorstCaseDistance } }, { clock, status }: RealtimeContext) => {
      const current = status.current();
      if (current === undefined) throw new HttpError(503, "The indexing status is not available.");
      const { snapshot, stale } = current;
      if (stale !== undefined) throw new HttpError(503, stale.reason);
      const { time: slowestChainIndexingCursor, chainId } = findSlowest(snapshot);
      const { projectedAt } = project(snapshot, Math.floor(clock() / 1000));
      const worstCaseDistance = projectedAt - slowestChainIndexingCursor;
      if (worstCaseDistance > maxWorstCaseDistance) {
        const ofChain = chainId === undefined ? "" : ` of chain ${chainId}`;
        throw new HttpError(
          503,
          `The worst-case distance${ofChain} is ${worstCaseDistance} seconds, more than the ${maxWorstCaseDistance} seconds asked for.`,
        );
      }
      return { status: 200, body: { maxWorstCaseDistance, slowestChainIndexingCursor, worstCaseDistance } };
    },
  }),
);
