import type { Context } from "hono";
import { HTTPException } from "hono/http-exception";
import type { ContentfulStatusCode } from "hono/utils/http-status";
import { z } from "zod/v4";
import { HttpError } from "../../http/error.ts";
import { escapeControls, type Log } from "../../log/json-log.ts";
import { databaseAway, isDatabaseAway } from "../../ponder/sql-client.ts";
import { ReadError, type RefusalCode } from "../../read/refusal.ts";
import { BusyError, RowTooLongError } from "../../read/sql/client.ts";
import { MomentGoneError } from "../../read/sql/moment.ts";

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

const reasons = ["plugin", "status", "backfill", "busy", "long", "past"] as const;

type Reason = (typeof reasons)[number];

/** An error that an endpoint does not decide itself: its `code` is the reason. */
export type GateRefusal = HttpError & { code: Reason; details: string };

/** Creates a refusal. */
export const createRefusal = (
  status: ContentfulStatusCode,
  code: Reason,
  { message, details }: { message: string; details: string },
  headers: Record<string, string> = {},
) => new HttpError(status, message, { code, details, headers }) as GateRefusal;

/** Whether an error is a refusal. */
export const isGateRefusal = (error: HttpError): error is GateRefusal =>
  reasons.some((reason) => reason === error.code);

/** The form of an endpoint's errors. `schema`: that of refusals; `failure`: the body of internal errors (500). */
export type Envelope = {
  schema: z.ZodType;
  body: (error: HttpError) => object;
  failure: object;
  /** The error for input that does not fit its schema, and the schema of its body. */
  invalid: { schema: z.ZodType; error: (error: z.ZodError) => HttpError };
};

const buildPlainBody = ({ message, details }: HttpError) => ({ message, details });

/** Creates an envelope whose refusals fit its schema. Other errors have `message` and `details`. */
export function envelope<T extends object>(
  schema: z.ZodType<T>,
  body: (refusal: GateRefusal) => NoInfer<T>,
  failure: NoInfer<T> | { message: string } = { message: "Internal Server Error" },
): Envelope {
  return {
    schema,
    body: (error) => (isGateRefusal(error) ? body(error) : buildPlainBody(error)),
    failure,
    invalid: {
      schema: invalidInputSchema,
      error: (error) => new HttpError(400, "Invalid Input", { details: z.treeifyError(error) }),
    },
  };
}

/** The envelope of endpoints that declare no other: `message` and `details`. */
export const plainEnvelope = envelope(
  z.strictObject({ message: z.string(), details: z.string() }),
  ({ message, details }) => ({ message, details }),
);

const statusOf = {
  invalid_input: 400,
  not_found: 404,
  unsupported: 422,
  stale: 409,
  overloaded: 503,
} as const satisfies Record<RefusalCode, number>;

/** The response to an unknown path: 404. */
export const notFound = (c: Context) => c.json({ message: "Not Found" }, 404);

/** The index does not have the position that a request asks for. */
export const createPositionRefusal = (details = "The index does not keep it any longer. Try a later one.") =>
  createRefusal(409, "past", { message: "The position cannot be read.", details });

/**
 * Whether a statement took too long: Postgres reports 57014 for one that it cancelled, a request's signal a
 * TimeoutError.
 */
export const isLate = (error: unknown) =>
  error instanceof Error && (error.name === "TimeoutError" || ("code" in error && error.code === "57014"));

const tooLong = { message: "The response would be too long.", details: "Ask for fewer rows." };
const tooSlow = {
  message: "The query took too long.",
  details: "The database stopped it. Ask for less, or try again later.",
};
const soon = { "retry-after": "1" };

// Undefined for failures.
function toHttpError(error: unknown): HttpError | undefined {
  if (error instanceof HttpError) return error;
  if (error instanceof ReadError) {
    const { code, message } = error;
    return new HttpError(statusOf[code], message, { code, ...(code === "overloaded" && { headers: soon }) });
  }
  if (isDatabaseAway(error)) return createRefusal(503, "status", databaseAway, { "retry-after": "5" });
  if (error instanceof HTTPException && error.status < 500)
    return new HttpError(error.status as 400, error.message || "Bad Request");
  if (error instanceof MomentGoneError) return createPositionRefusal();
  if (error instanceof RowTooLongError) return createRefusal(400, "long", tooLong);
  if (error instanceof BusyError) return createRefusal(503, "busy", error, soon);
  return isLate(error) ? createRefusal(503, "busy", tooSlow, soon) : undefined;
}

/**
 * The response to an error that a route throws: its own status if the request is at fault, 400 if the response would be
 * too long, 409 for a position that is not kept, 503 if the database is busy or away. Anything else is logged and
 * becomes a 500 without details.
 */
export function errorResponse(
  error: unknown,
  c: Context,
  log: Log,
  { failure, body }: Pick<Envelope, "failure" | "body"> = plainEnvelope,
): Response {
  const known = toHttpError(error);
  if (known !== undefined) return c.json(body(known), known.status, known.headers);
  if (c.req.raw.signal.aborted) return c.body(null, 408); // The client has gone: nobody reads the response.
  logFailure(log, c.req, error);
  return c.json(failure, 500);
}

/** The same for a call without HTTP, as an error. */
export function callError(error: unknown, { method, url, signal }: Request, log: Log): HttpError {
  const known = toHttpError(error);
  if (known === undefined && !signal.aborted) logFailure(log, { method, path: new URL(url).pathname }, error);
  return known ?? new HttpError(500, "Internal Server Error");
}

/** Why a request failed, in words. */
export const describeRefusal = (error: HttpError) =>
  isGateRefusal(error) ? `${error.message} ${error.details}` : error.message;

/** Whether a request may be made again soon. */
export const mayRetry = ({ headers }: HttpError) => "retry-after" in headers;

/** Logs an unexpected error that ended a request. */
export function logFailure(
  log: Log,
  { method, path }: { method: string; path: string },
  error: unknown,
): void {
  const reason = error instanceof Error ? error.stack : String(error);
  log("error", escapeControls(`${method} ${path} failed: ${reason}`));
}
