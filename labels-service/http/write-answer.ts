import { once } from "node:events";
import type { IncomingHttpHeaders, ServerResponse } from "node:http";
import { type Answer, giveWay } from "./answer.ts";

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
