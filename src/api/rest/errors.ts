import type { Context } from "hono";
import { HTTPException } from "hono/http-exception";
import type { ContentfulStatusCode } from "hono/utils/http-status";
import { z } from "zod/v4";
import { escapeControls } from "../../json-log.ts";

/** Body of every error of the REST endpoints. */
export type ErrorBody = { message: string; details?: unknown };

/** The answer 404 to a path that is no route. */
export function notFound(c: Context): Response {
  return c.json({ message: "Not Found" } satisfies ErrorBody, 404);
}

/**
 * Handler of what routes throw: a fault of the request is answered with its status and reason, anything else is
 * logged and answered 500 without details.
 */
export function errorHandler(log: (message: string) => void): (error: Error, c: Context) => Response {
  return (error, c) => {
    if (error instanceof ApiError) return c.json(error.body, error.status);
    if (error instanceof HTTPException && error.status < 500) {
      return c.json({ message: error.message || "Bad Request" } satisfies ErrorBody, error.status);
    }
    log(escapeControls(`${c.req.method} ${c.req.path} failed: ${error.stack ?? String(error)}`));
    return c.json({ message: "Internal Server Error" } satisfies ErrorBody, 500);
  };
}

/**
 * Handler like `errorHandler` for endpoints whose own failures have a `responseCode`: what is not a fault of the request
 * is logged and answered 500 in that form.
 */
export function endpointErrorHandler(log: (message: string) => void): (error: Error, c: Context) => Response {
  const handle = errorHandler(log);
  return (error, c) => {
    const response = handle(error, c);
    if (response.status < 500) return response;
    return c.json({ responseCode: "error", error: { message: "Internal Server Error" } }, 500);
  };
}

/**
 * The query parameters as `schema` reads them. Throws an `ApiError` 400 with every bad parameter otherwise.
 * A parameter that is given several times is a list, unknown ones are left to the schema (which ignores them).
 */
export function parseQuery<T extends z.ZodType>(c: Context, schema: T): z.output<T> {
  const parameters = Object.entries(c.req.queries()).map(([name, values]) => [
    name,
    values.length > 1 ? values : values[0],
  ]);
  return parseInput(Object.fromEntries(parameters), schema);
}

/** The path parameters as `schema` reads them. Throws an `ApiError` 400 with every bad parameter otherwise. */
export function parsePath<T extends z.ZodType>(c: Context, schema: T): z.output<T> {
  return parseInput(c.req.param(), schema);
}

function parseInput<T extends z.ZodType>(input: unknown, schema: T): z.output<T> {
  const result = schema.safeParse(input);
  if (result.success) return result.data;
  throw new ApiError(400, { message: "Invalid Input", details: z.treeifyError(result.error) });
}

/** An answer other than success that a route ends with: its HTTP status and its body. */
export class ApiError extends Error {
  override name = "ApiError";
  readonly status: ContentfulStatusCode;
  readonly body: ErrorBody;

  constructor(status: ContentfulStatusCode, body: ErrorBody) {
    super(body.message);
    this.status = status;
    this.body = body;
  }
}
