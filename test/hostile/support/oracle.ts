import type { FuzzRequest } from "./requests.ts";

/** What came back. */
export type FuzzResponse = {
  status: number;
  contentType: string | null;
  body: string;
};

const hasBody = (status: number) => status !== 204 && status !== 304;

/**
 * What is wrong with a response to any request at all, undefined if nothing: a 5xx other than 503, invalid JSON, or
 * an error that shows file paths or a stack.
 */
export function wrongWith(
  { method }: FuzzRequest,
  { status, contentType, body }: FuzzResponse,
): string | undefined {
  if (status >= 500 && status !== 503) return `status ${status}`;
  if (method === "HEAD" || method === "OPTIONS" || !hasBody(status)) return undefined;
  if (status >= 400 && /node_modules|\n {4}at /.test(body)) return "shows a stack";
  if (contentType?.startsWith("application/json") !== true) return undefined;
  try {
    JSON.parse(body);
    return undefined;
  } catch {
    return "a body that is not JSON";
  }
}

/** Like `wrongWith`, for an endpoint of GraphQL: status 200 means data or errors with messages. */
export function wrongWithAnswer(request: FuzzRequest, response: FuzzResponse): string | undefined {
  const wrong = wrongWith(request, response);
  if (wrong !== undefined || request.method === "HEAD" || request.method === "OPTIONS") return wrong;
  if (response.status !== 200 || response.contentType?.startsWith("application/json") !== true)
    return undefined;
  const { data, errors } = JSON.parse(response.body);
  if (errors === undefined) {
    return typeof data === "object" && data !== null ? undefined : "neither data nor errors";
  }
  const areMessages =
    Array.isArray(errors) && errors.length > 0 && errors.every((one) => typeof one?.message === "string");
  return areMessages ? undefined : "errors without messages";
}

/** Formats a request so that it can be repeated by hand. */
export function describeRequest({ method, path, headers, body }: FuzzRequest): string {
  const text =
    body === undefined ? "" : typeof body === "string" ? body : Buffer.from(body).toString("latin1");
  return `${method} ${path} ${JSON.stringify(headers)} ${JSON.stringify(text.slice(0, 2_000))}`;
}
