/** What the service says of a request that it refuses. */
type Refusal = {
  status: number;
  code: string;
  reason: string;
  field?: string | undefined;
  retryAfter?: number | undefined;
};

/** An error response of the service. `field` names the parameter at fault; `retryAfter` is in seconds. */
export class ApiError extends Error {
  override name = "ApiError";
  declare readonly status: number;
  declare readonly code: string;
  declare readonly reason: string;
  declare readonly field: string | undefined;
  declare readonly retryAfter: number | undefined;

  constructor(refusal: Refusal) {
    const { status, code, reason, field } = refusal;
    super(`${status} ${code}: ${reason}${field === undefined ? "" : ` (${field})`}`);
    Object.assign(this, refusal);
  }
}

/** 429: the budget of the API key or address is spent. */
export class RateLimitError extends ApiError {
  override name = "RateLimitError";
}

/** 503: the index is behind, busy or not ready. */
export class UnavailableError extends ApiError {
  override name = "UnavailableError";
}

/** A response that is not of this service, such as an HTML page of a proxy. */
export class AnswerError extends Error {
  override name = "AnswerError";
  readonly status: number;
  readonly retryAfter: number | undefined;

  constructor(url: string, response: Response, text: string) {
    const type = response.headers.get("content-type") ?? "no content type";
    super(
      `${url} answered ${response.status} with ${type}, not as the index does: ${text.trim().slice(0, 100)}`,
    );
    this.status = response.status;
    this.retryAfter = readRetryAfter(response.headers);
  }
}

/** No response: the network, the host or the browser's CORS check failed; `cause` is what fetch threw. */
export class ConnectionError extends Error {
  override name = "ConnectionError";

  constructor(message: string, cause?: unknown) {
    super(message, { cause });
  }
}

/** Seconds of Retry-After, which is a number or a date (RFC 9110). */
function readRetryAfter(headers: Headers): number | undefined {
  const text = headers.get("retry-after") ?? "";
  const seconds = /^\d+$/.test(text) ? Number(text) : (Date.parse(text) - Date.now()) / 1_000;
  return Number.isNaN(seconds) ? undefined : Math.max(0, seconds);
}

type Tree = { errors?: string[]; properties?: Record<string, Tree> };
type ErrorBody = {
  message?: string;
  details?: string | (Tree & { field?: string });
  code?: string;
  errorCode?: string;
  error?: ErrorBody;
};

/** The error of a response: /v1 and /api have different bodies. */
export function createError(url: string, response: Response, text: string): ApiError | AnswerError {
  const body = parseObject(text) as ErrorBody | undefined;
  const { message, details, code } = body?.error ?? body ?? {};
  if (typeof message !== "string") return new AnswerError(url, response, text);
  const { status, headers } = response;
  const tree = isObject(details) ? details : {};
  const [first, inner] = Object.entries(tree.properties ?? {})[0] ?? [];
  const more = typeof details === "string" ? ` ${details}` : "";
  const Class = { 429: RateLimitError, 503: UnavailableError }[status] ?? ApiError;
  return new Class({
    status,
    code: code ?? body?.errorCode ?? "error",
    reason: inner?.errors?.[0] ?? tree.errors?.[0] ?? `${message}${more}`,
    field: tree.field ?? first,
    retryAfter: readRetryAfter(headers),
  });
}

/** Whether a value is an object, or a list. */
export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null;

/** The object of a JSON text; undefined for anything else. */
export function parseObject(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
