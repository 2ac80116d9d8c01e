import type { ContentfulStatusCode } from "hono/utils/http-status";

// HTTP for both services: limits, errors, entity tags, OpenAPI documents and the pages of /docs. Endpoints are in
// src/api and labels-service/http.

type Options = { code?: string; details?: unknown; headers?: Record<string, string> };

/**
 * Ends a request with a status. Each surface has its own body for it. `message`: the reason, for clients; `code`: the
 * same for programs.
 */
export class HttpError extends Error {
  override name = "HttpError";
  readonly status: ContentfulStatusCode;
  readonly code: string | undefined;
  readonly details: unknown;
  readonly headers: Record<string, string>;

  constructor(status: ContentfulStatusCode, message: string, { code, details, headers = {} }: Options = {}) {
    super(message);
    this.status = status;
    this.code = code;
    this.details = details;
    this.headers = headers;
  }
}
