import { once } from "node:events";
import type { IncomingHttpHeaders, ServerResponse } from "node:http";

/** Stands between the parts of a body where other requests get their turn before the next part is computed. */
export const giveWay = Symbol("give way to other requests");

/** An HTTP response before it is written. A body of several parts is computed while it is sent. */
export type Answer = {
  status: number;
  contentType: string;
  body: string | Iterable<string | typeof giveWay>;
  /** For metrics: how the request went, in one word. */
  outcome: Outcome;
};

/** How a request went. */
export type Outcome = "ok" | "healed" | "unknown" | "refused" | "not_ready" | "not_found" | "failed";

/** 200 with a JSON body that is already serialised. */
export function jsonAnswer(body: Answer["body"], outcome: Outcome = "ok"): Answer {
  return { status: 200, contentType: "application/json", body, outcome };
}

const outcomes: Record<number, Outcome> = { 404: "unknown", 500: "failed", 503: "not_ready" };

/** The error body of the label endpoints. */
export function errorAnswer(status: number, error: string): Answer {
  return {
    status,
    contentType: "application/json",
    body: JSON.stringify({ status: "error", error, errorCode: status }),
    outcome: outcomes[status] ?? "refused",
  };
}

/** The answer to unknown paths and methods; never a JSON error body. */
export const notFound: Answer = {
  status: 404,
  contentType: "text/plain; charset=UTF-8",
  body: "404 Not Found",
  outcome: "not_found",
};

/** The answer of everything that needs the label database while there is none. */
export const notReady = errorAnswer(503, "The label database is not ready yet");
/** The answer when the service fails. */
export const internalError = errorAnswer(500, "Internal server error");

const anyOrigin = ["access-control-allow-origin", "*"];
const noHeaders: string[] = [];

/** Any web page may use the label endpoints and see their 404s; health and metrics are not for web pages. */
export function corsHeaders(path: string): string[] {
  return path.startsWith("/v1/") ? anyOrigin : noHeaders;
}

/** Answers a browser's question whether it may send a request. */
export function writePreflight(response: ServerResponse, headers: IncomingHttpHeaders): void {
  const asked = headers["access-control-request-headers"];
  response.writeHead(204, [
    ...anyOrigin,
    "access-control-allow-methods",
    "HEAD,GET,POST,OPTIONS",
    ...(asked === undefined
      ? []
      : ["access-control-allow-headers", asked, "vary", "Access-Control-Request-Headers"]),
  ]);
  response.end();
}

/** Small parts are written together: a write costs as much as healing fifty labels. */
const writeSize = 65_536;

/** Sends the answer; a body of several parts no faster than the client takes it. */
export async function writeAnswer(
  response: ServerResponse,
  { status, contentType, body }: Answer,
  isHead: boolean,
  headers: string[],
): Promise<void> {
  const head = ["content-type", contentType, "x-content-type-options", "nosniff", ...headers];
  if (isHead) {
    response.writeHead(status, head).end();
    return;
  }
  if (typeof body === "string") {
    const bytes = Buffer.byteLength(body);
    response.writeHead(status, [...head, "content-length", String(bytes)]).end(body);
    return;
  }
  response.writeHead(status, head);
  const gone = new AbortController();
  response.once("close", () => gone.abort());
  try {
    let pending = "";
    for (const part of body) {
      if (response.destroyed) return;
      if (part !== giveWay) pending += part;
      if (part === giveWay || pending.length < writeSize) {
        await new Promise(setImmediate);
        continue;
      }
      if (!response.write(pending)) await once(response, "drain", { signal: gone.signal });
      pending = "";
    }
    response.end(pending);
  } catch (error) {
    // The client has gone, or a part could not be computed: the client notices that the response is incomplete.
    response.destroy();
    if (!gone.signal.aborted) throw error;
  }
}
