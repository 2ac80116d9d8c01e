import type { Context } from "hono";
import { HTTPException } from "hono/http-exception";
import type { ContentfulStatusCode } from "hono/utils/http-status";
import { escapeControls, type Log } from "../../log/json-log.ts";
import { databaseAway, isDatabaseAway } from "../../ponder/sql-client.ts";
import { BusyError } from "../database/queue.ts";
import { type CodedError, type Envelope, type ErrorBody, plainEnvelope, type Refusal } from "./envelope.ts";

/** Ends a request with an HTTP status other than success and a body. */
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

/** The response to an unknown path: 404. */
export const notFound = (c: Context) => c.json({ message: "Not Found" } satisfies ErrorBody, 404);

const tooBusy: Refusal = {
  reason: "busy",
  message: "Too many queries are running. Try again in a moment.",
  details: "The queue for the database is full.",
};

const tooSlow: Refusal = {
  reason: "busy",
  message: "The query took too long.",
  details: "The database stopped it. Ask for less, or try again later.",
};

// Postgres says 57014 of a statement that it stopped, the signal of a request that it is late.
function busyRefusal(error: unknown): Refusal | undefined {
  if (error instanceof BusyError) return tooBusy;
  if (!(error instanceof Error)) return undefined;
  const isLate = error.name === "TimeoutError" || ("code" in error && error.code === "57014");
  return isLate ? tooSlow : undefined;
}

/**
 * The response to an error thrown by a route: its own status and body if the request is at fault, 503 if the database is
 * busy or away; anything else is logged and answered with 500 without details.
 */
export function errorResponse(
  error: unknown,
  c: Context,
  log: Log,
  { failure, body }: Pick<Envelope, "failure" | "body"> = plainEnvelope,
): Response {
  if (error instanceof ApiError) return c.json(error.body, error.status, error.headers);
  if (isDatabaseAway(error))
    return c.json(body({ reason: "status", ...databaseAway }), 503, { "retry-after": "5" });
  if (error instanceof HTTPException && error.status < 500) {
    return c.json({ message: error.message || "Bad Request" } satisfies ErrorBody, error.status);
  }
  const refusal = busyRefusal(error);
  if (refusal !== undefined) return c.json(body(refusal), 503, { "Retry-After": "1" });
  if (c.req.raw.signal.aborted) return c.body(null, 408); // The client has gone: nobody reads the response.
  const reason = error instanceof Error ? error.stack : String(error);
  log("error", escapeControls(`${c.req.method} ${c.req.path} failed: ${reason}`));
  return c.json(failure, 500);
}
