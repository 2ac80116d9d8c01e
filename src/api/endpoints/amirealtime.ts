import { z } from "zod/v4";
import { endpoint } from "../rest/endpoint.ts";
import { ApiError, envelope, messageSchema } from "../rest/errors.ts";
import { countSchema, secondsSchema } from "../rest/values.ts";
import { project } from "../status/snapshot.ts";

/** Default number of seconds by which the index may lag. */
const AMIREALTIME_DEFAULT_MAX_WORST_CASE_DISTANCE = 60;

// Plain decimal digits only: "1e3", "0x10", "+5" and " 5" are rejected, though they could be parsed as numbers.
const distance = z
  .string({ error: "maxWorstCaseDistance must be given once" })
  .regex(/^[0-9]*$/, { error: "maxWorstCaseDistance must be a non-negative integer", abort: true })
  .transform((digits) => (digits === "" ? AMIREALTIME_DEFAULT_MAX_WORST_CASE_DISTANCE : Number(digits)))
  .refine(Number.isSafeInteger, "maxWorstCaseDistance is too large")
  .default(AMIREALTIME_DEFAULT_MAX_WORST_CASE_DISTANCE)
  .meta({ description: "Seconds that the index may lag behind at most" });

/** GET /amirealtime and its other name /api/realtime. `clock` gives milliseconds. */
export const realtime = ["/amirealtime", "/api/realtime"].map((path) =>
  endpoint({
    path,
    tag: "Meta",
    summary: "Whether every chain is indexed to within a time of now",
    description: `For monitoring: compare the status code. Without \`maxWorstCaseDistance\` ${AMIREALTIME_DEFAULT_MAX_WORST_CASE_DISTANCE} seconds are allowed.`,
    query: z.object({ maxWorstCaseDistance: distance }),
    needs: { index: "known", isCheckedAfterInput: true },
    envelope: envelope(messageSchema, ({ message }) => ({ message })),
    answers: {
      200: {
        description: "The index is near enough",
        schema: z.strictObject({
          maxWorstCaseDistance: countSchema,
          slowestChainIndexingCursor: secondsSchema,
          worstCaseDistance: countSchema,
        }),
      },
      503: {
        description: "The index lags behind further, or its status is not known",
        schema: messageSchema,
      },
    },
    handle:
      ({ clock }: { clock: () => number }) =>
      ({ query: { maxWorstCaseDistance }, current: { snapshot } }) => {
        const { worstCaseDistance } = project(snapshot, Math.floor(clock() / 1000));
        if (worstCaseDistance > maxWorstCaseDistance) {
          throw new ApiError(503, {
            message: `The worst-case distance is ${worstCaseDistance} seconds, more than the ${maxWorstCaseDistance} seconds asked for.`,
          });
        }
        const { slowestChainIndexingCursor } = snapshot;
        return { status: 200, body: { maxWorstCaseDistance, slowestChainIndexingCursor, worstCaseDistance } };
      },
  }),
);
