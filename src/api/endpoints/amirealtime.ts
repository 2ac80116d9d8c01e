import { Hono } from "hono";
import { z } from "zod/v4";
import type { EndpointDocs } from "../rest/endpoint.ts";
import { ApiError, parseQuery } from "../rest/errors.ts";
import { invalidInputSchema, messageSchema, secondsSchema } from "../rest/outputs.ts";
import { project } from "../status/projection.ts";
import type { StatusSource } from "../status/status-source.ts";

/** Seconds by which the index may lag behind if the request does not say. */
export const AMIREALTIME_DEFAULT_MAX_WORST_CASE_DISTANCE = 60;

// Plain decimal digits only: "1e3", "0x10", "+5" and " 5" are refused, though a number could be read from them.
const distance = z
  .string({ error: "maxWorstCaseDistance must be given once" })
  .regex(/^[0-9]*$/, { error: "maxWorstCaseDistance must be a non-negative integer", abort: true })
  .transform((digits) => (digits === "" ? AMIREALTIME_DEFAULT_MAX_WORST_CASE_DISTANCE : Number(digits)))
  .refine(Number.isSafeInteger, "maxWorstCaseDistance is too large")
  .default(AMIREALTIME_DEFAULT_MAX_WORST_CASE_DISTANCE);

const query = z.object({ maxWorstCaseDistance: distance });

/**
 * GET /: 200 if every chain is indexed to within `maxWorstCaseDistance` seconds of now, 503 otherwise and while
 * there is no snapshot, 400 for a bad parameter. `clock` gives milliseconds.
 */
export function amirealtimeRoutes(status: Pick<StatusSource, "current">, clock: () => number): Hono {
  return new Hono().get("/", (c) => {
    const { maxWorstCaseDistance } = parseQuery(c, query);
    const snapshot = status.current()?.snapshot;
    if (snapshot === undefined) {
      throw new ApiError(503, { message: "The indexing status is not available." });
    }
    const { worstCaseDistance } = project(snapshot, Math.floor(clock() / 1000));
    if (worstCaseDistance > maxWorstCaseDistance) {
      throw new ApiError(503, {
        message: `The worst-case distance is ${worstCaseDistance} seconds, more than the ${maxWorstCaseDistance} seconds asked for.`,
      });
    }
    const { slowestChainIndexingCursor } = snapshot;
    return c.json({ maxWorstCaseDistance, slowestChainIndexingCursor, worstCaseDistance });
  });
}

const seconds = z.int().min(0);

const answers: EndpointDocs["answers"] = {
  200: {
    description: "The index is near enough",
    schema: z.strictObject({
      maxWorstCaseDistance: seconds,
      slowestChainIndexingCursor: secondsSchema,
      worstCaseDistance: seconds,
    }),
  },
  400: { description: "Bad parameter", schema: invalidInputSchema },
  503: { description: "The index lags behind further, or its status is not known", schema: messageSchema },
};

export const realtimeDocs: EndpointDocs[] = ["/amirealtime", "/api/realtime"].map((path) => ({
  path,
  tag: "Meta",
  summary: "Whether every chain is indexed to within a time of now",
  description: `For monitoring: compare the status code. Without \`maxWorstCaseDistance\` ${AMIREALTIME_DEFAULT_MAX_WORST_CASE_DISTANCE} seconds are allowed.`,
  query,
  answers,
}));
