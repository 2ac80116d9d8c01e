import { once } from "node:events";
import type { IncomingHttpHeaders, ServerResponse } from "node:http";
import { type Answer, busy, type Memory } from "./answer.ts";

const anyOrigin = ["access-control-allow-origin", "*"];

const noHeaders: string[] = [];

/** Any web page may use the label endpoints and see their 404s; health and metrics are not for web pages. */
function corsHeaders(path: string): string[] {
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

/**
 * Sends the answer to a request; a body of several parts no faster than the client takes it. A long body has been sent, or
 * the client has gone, when the promise resolves; a short one may still be on its way.
 */
export type Writer = (
  response: ServerResponse,
  request: { method: string; path: string },
  answer: Answer,
) => Promise<void>;

/**
 * A writer that drops clients which have not taken a long response after `longestMs` milliseconds. Long texts take a share
 * of memory until they are sent.
 */
export function createWriter(shareOfMemory: () => Memory, longestMs: number): Writer {
  return (response, { method, path }, answer) => {
    const sending = { isHead: method === "HEAD", headers: corsHeaders(path), longestMs };
    if (typeof answer.body !== "string" || answer.body.length <= writeSize) {
      return writeAnswer(response, answer, sending);
    }
    const memory = shareOfMemory();
    // Once as text, once as bytes.
    const isFree = memory.take(2 * answer.body.length);
    return writeAnswer(response, isFree ? answer : busy, sending).finally(memory.release);
  };
}

async function writeAnswer(
  response: ServerResponse,
  { status, contentType, body }: Answer,
  { isHead, headers, longestMs }: { isHead: boolean; headers: string[]; longestMs: number },
): Promise<void> {
  const head = ["content-type", contentType, "x-content-type-options", "nosniff", ...headers];
  if (status === 503) head.push("retry-after", "1");
  // The rest of a body that is too large is not read.
  if (status === 413 && !response.req.complete) head.push("connection", "close");
  if (isHead) {
    response.writeHead(status, head).end();
    return;
  }
  if (typeof body === "string") {
    const bytes = Buffer.byteLength(body);
    response.writeHead(status, [...head, "content-length", String(bytes)]).end(body);
    if (bytes <= writeSize) return;
  } else response.writeHead(status, head);
  const impatience = setTimeout(() => response.destroy(), longestMs);
  try {
    if (typeof body !== "string") await writeParts(response, body);
    if (!response.writableFinished && !response.destroyed) await once(response, "close");
  } finally {
    clearTimeout(impatience);
  }
}

async function writeParts(response: ServerResponse, parts: Iterable<string>): Promise<void> {
  const gone = new AbortController();
  response.once("close", () => gone.abort());
  try {
    let pending = "";
    for (const part of parts) {
      if (response.destroyed) return;
      pending += part;
      if (pending.length < writeSize) {
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
