import type { Context } from "hono";
import { HTTPException } from "hono/http-exception";
import type { ContentfulStatusCode } from "hono/utils/http-status";
import { z } from "zod/v4";
import { escapeControls, type Log } from "../../log/json-log.ts";
import { databaseAway, isDatabaseAway } from "../../ponder/sql-client.ts";
import { ReadError, type RefusalCode } from "../../read/refusal.ts";
import { BusyError, RowTooLongError } from "../../read/sql/client.ts";
import { MomentGoneError } from "../../read/sql/moment.ts";

/** Body of an error, unless an endpoint declares another form. */
export type ErrorBody = { message: string; details?: unknown };

/** Body of an error under `/v1`. */
export type CodedError = { error: { code: string; message: string; details: object } };

/** Schema of an error without details. */
export const messageSchema = z.strictObject({ message: z.string() });

/** Schema of a 400 for input that does not fit its schema: the issues, as a tree along the fields. */
export const invalidInputSchema = z.strictObject({
  message: z.literal("Invalid Input"),
  details: z.strictObject({
    errors: z.array(z.string()),
    properties: z.record(z.string(), z.unknown()).optional(),
    items: z.array(z.unknown()).optional(),
  }),
});

/** Why an endpoint cannot respond now. The gate decides it the same way for all endpoints. */
export type GateRefusal = {
  reason: "plugin" | "status" | "backfill" | "busy" | "long" | "past";
  message: string;
  details: string;
};

/** The form of an endpoint's refusals (503) and optionally of internal errors (500), too large bodies (413) and invalid input (400). */
export type Envelope = {
  schema: z.ZodType;
  body: (refusal: GateRefusal) => unknown;
  failure: unknown;
  /** The body of a read that is refused. */
  refused: (error: ReadError) => ErrorBody | CodedError;
  /** The body of a 413. */
  tooLarge?: CodedError;
  invalid?: { schema: z.ZodType; body: (error: z.ZodError) => CodedError };
};

const failure: ErrorBody = { message: "Internal Server Error" };

/** Creates an envelope whose bodies fit its schema. */
export function envelope<T>(
  schema: z.ZodType<T>,
  body: (refusal: GateRefusal) => NoInfer<T>,
  ownFailure?: NoInfer<T>,
): Envelope {
  return { schema, body, refused: ({ message }) => ({ message }), failure: ownFailure ?? failure };
}

/** The envelope of endpoints that declare no other: `message` and `details`. */
export const plainEnvelope = envelope(
  z.strictObject({ message: z.string(), details: z.string() }),
  ({ message, details }) => ({ message, details }),
);

/** Ends a request with an error status and a body. */
export class ApiError extends Error {
  override name = "ApiError";
  readonly status: ContentfulStatusCode;
  readonly body: ErrorBody | CodedError;
  readonly headers: Record<string, string>;

  constructor(
    status: ContentfulStatusCode,
    body: ErrorBody | CodedError,
    headers: Record<string, string> = {},
  ) {
    super("error" in body ? body.error.message : body.message);
    this.status = status;
    this.body = body;
    this.headers = headers;
  }
}

const statusOf = {
  invalid_input: 400,
  not_found: 404,
  unsupported: 422,
  stale: 409,
  overloaded: 503,
} as const satisfies Record<RefusalCode, number>;

/** The response to an unknown path: 404. */
export const notFound = (c: Context) => c.json({ message: "Not Found" } satisfies ErrorBody, 404);

const tooLong: GateRefusal = {
  reason: "long",
  message: "The response would be too long.",
  details: "Ask for fewer rows.",
};

/** The index does not have the position that a request asks for. */
export const notKept: GateRefusal = {
  reason: "past",
  message: "The position cannot be read.",
  details: "The index does not keep it any longer. Try a later one.",
};

/** Whether a statement took too long: Postgres reports 57014 for one that it cancelled, a request's signal a TimeoutError. */
export const isLate = (error: unknown) =>
  error instanceof Error && (error.name === "TimeoutError" || ("code" in error && error.code === "57014"));

function busyRefusal(error: unknown): GateRefusal | undefined {
  if (error instanceof BusyError) return { reason: "busy", message: error.message, details: error.details };
  if (!isLate(error)) return undefined;
  const details = "The database stopped it. Ask for less, or try again later.";
  return { reason: "busy", message: "The query took too long.", details };
}

/**
 * The response to an error that a route throws: its own status and body if the request is at fault, 400 if the response would be too long,
 * 409 for a position that is not kept, 503 if the database is busy or away. Anything else is logged and becomes a 500 without details.
 */
export function errorResponse(
  error: unknown,
  c: Context,
  log: Log,
  { failure, body, refused }: Pick<Envelope, "failure" | "body" | "refused"> = plainEnvelope,
): Response {
  if (error instanceof ApiError) return c.json(error.body, error.status, error.headers);
  if (error instanceof ReadError) {
    const headers: Record<string, string> = error.code === "overloaded" ? { "retry-after": "1" } : {};
    return c.json(refused(error), statusOf[error.code], headers);
  }
  if (isDatabaseAway(error))
    return c.json(body({ reason: "status", ...databaseAway }), 503, { "retry-after": "5" });
  if (error instanceof HTTPException && error.status < 500) {
    return c.json({ message: error.message || "Bad Request" } satisfies ErrorBody, error.status);
  }
  if (error instanceof MomentGoneError) return c.json(body(notKept), 409);
  if (error instanceof RowTooLongError) return c.json(body(tooLong), 400);
  const refusal = busyRefusal(error);
  if (refusal !== undefined) return c.json(body(refusal), 503, { "Retry-After": "1" });
  if (c.req.raw.signal.aborted) return c.body(null, 408); // The client has gone: nobody reads the response.
  logFailure(log, c, error);
  return c.json(failure, 500);
}

/** Logs an unexpected error that ended a request. */
export function logFailure(log: Log, { req }: Context, error: unknown): void {
  const reason = error instanceof Error ? error.stack : String(error);
  log("error", escapeControls(`${req.method} ${req.path} failed: ${reason}`));
}
