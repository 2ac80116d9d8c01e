import { once } from "node:events";
import type { IncomingHttpHeaders, ServerResponse } from "node:http";
import { pipeline } from "node:stream/promises";
import { refuseExchange } from "../../src/http/refusal.ts";
import { yieldToEventLoop } from "../../src/http/turn.ts";

/** An HTTP response to write. A body of several parts is computed while it is sent. */
export type Answer = {
  status: number;
  contentType: string;
  body: string | Uint8Array | Iterable<string>;
  outcome: Outcome;
  /** Further headers: names and values in turn. */
  headers?: readonly string[];
};

/** Outcome of a request. */
export type Outcome = "ok" | "healed" | "unknown" | "refused" | "not_ready" | "busy" | "not_found" | "failed";

/** 200 with a serialised JSON body. */
export function createJsonAnswer(body: Answer["body"], outcome: Outcome = "ok"): Answer {
  return { status: 200, contentType: "application/json", body, outcome };
}

const outcomes: Record<number, Outcome> = { 404: "unknown", 500: "failed", 503: "not_ready" };

/** JSON error body of the label endpoints. */
export function createErrorAnswer(status: number, error: string): Answer {
  return {
    status,
    contentType: "application/json",
    body: JSON.stringify({ status: "error", error, errorCode: status }),
    outcome: outcomes[status] ?? "refused",
  };
}

/** The response to unknown paths and methods; never a JSON error body. */
export const notFound: Answer = {
  status: 404,
  contentType: "text/plain; charset=UTF-8",
  body: "404 Not Found",
  outcome: "not_found",
};

/** Answer of endpoints that need a label database while there is none. */
export const notReady = createErrorAnswer(503, "The label database is not ready yet");

/** Answer while other requests hold the memory that large requests and responses share. */
export const busy: Answer = {
  ...createErrorAnswer(503, "The service is busy with other large requests, ask again later"),
  outcome: "busy",
};

/** Answer after a failure of the service. */
export const internalError = createErrorAnswer(500, "Internal server error");

/**
 * Returns a function that hands out shares of `bytes` of memory. What one share takes, the others lack until it is
 * released.
 */
export function createSharedMemory(bytes: number) {
  let free = bytes;
  return () => {
    let taken = 0;
    return {
      take: (wanted: number): boolean => {
        if (wanted > free) return false;
        free -= wanted;
        taken += wanted;
        return true;
      },
      release: (): void => {
        free += taken;
        taken = 0;
      },
    };
  };
}

/** A share of the memory for large requests and responses. */
export type Memory = ReturnType<ReturnType<typeof createSharedMemory>>;

const anyOrigin = ["access-control-allow-origin", "*"];

/** Answers a CORS preflight request. */
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

/** Smaller parts are joined: a write costs as much as healing fifty labels. */
const writeSize = 65_536;

// The rest of a body that is too long, too slow or one too many is not read.
const endsBody = new Set([408, 413, 503]);

/** Milliseconds that a client may take to read a long response, and may go without reading a byte of it. */
export type ResponseTimeouts = { responseMs: number; stalledMs: number };

/**
 * Sends a response, and resolves once it is sent or the client has gone. A long body takes memory while it is sent, and
 * a client that reads it too slowly is dropped. A body of parts is computed no faster than the client reads.
 */
export async function writeAnswer(
  response: ServerResponse,
  { method, path }: { method: string; path: string },
  given: Answer,
  { memory, timeouts }: { memory: Memory; timeouts: ResponseTimeouts },
): Promise<void> {
  const isWhole = (body: Answer["body"]) => typeof body === "string" || body instanceof Uint8Array;
  const needed = isWhole(given.body) && given.body.length > writeSize ? 2 * given.body.length : 0;
  const { status, contentType, body, headers = [] } = memory.take(needed) ? given : busy;
  const head = ["content-type", contentType, "x-content-type-options", "nosniff", ...headers];
  // Any web page may use the label endpoints and read their 404s; health and metrics are not for web pages.
  if (path.startsWith("/v1/")) head.push(...anyOrigin);
  if (status === 503) head.push("retry-after", "1");
  if (endsBody.has(status) && !response.req.complete && typeof body === "string") {
    return refuseExchange({ incoming: response.req, outgoing: response }, { status, headers: head, body });
  }
  if (method === "HEAD") return void response.writeHead(status, head).end();
  if (isWhole(body)) {
    const length = Buffer.byteLength(body);
    response.writeHead(status, [...head, "content-length", String(length)]).end(body);
    if (length <= writeSize) return;
  } else response.writeHead(status, head);
  response.setTimeout(timeouts.stalledMs);
  const timer = setTimeout(() => response.destroy(), timeouts.responseMs);
  try {
    if (!isWhole(body)) await pipeline(joinChunks(body), response);
    else if (!response.writableFinished && !response.destroyed) await once(response, "close");
  } catch (error) {
    // The client has gone. After a part that cannot be computed it notices that the response is incomplete.
    if ((error as NodeJS.ErrnoException).code !== "ERR_STREAM_PREMATURE_CLOSE") throw error;
  } finally {
    clearTimeout(timer);
  }
}

async function* joinChunks(parts: Iterable<string>): AsyncGenerator<string> {
  let chunk = "";
  for (const part of parts) {
    chunk += part;
    if (chunk.length < writeSize) continue;
    yield chunk;
    chunk = "";
    // A socket with free buffers takes megabytes at once, and nothing else would run meanwhile.
    await yieldToEventLoop();
  }
  yield chunk;
}
