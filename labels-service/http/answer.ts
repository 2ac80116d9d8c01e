import { once } from "node:events";
import type { IncomingHttpHeaders, ServerResponse } from "node:http";
import { refuse } from "../../src/http/refusal.ts";
import { nextTurn } from "../../src/http/turn.ts";

/** An HTTP response before it is written. Responses may share bytes; a body of several parts is computed while it is sent. */
export type Answer = {
  status: number;
  contentType: string;
  body: string | Uint8Array | Iterable<string | Uint8Array>;
  /** For metrics: how the request went, in one word. */
  outcome: Outcome;
  /** Further headers: names and values in turn. */
  headers?: readonly string[];
};

/** How a request went. */
export type Outcome = "ok" | "healed" | "unknown" | "refused" | "not_ready" | "busy" | "not_found" | "failed";

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

/** The answer while other requests need all the memory that large requests and responses may take. */
export const busy: Answer = {
  ...errorAnswer(503, "The service is busy with other large requests, ask again later"),
  outcome: "busy",
};

/** The answer when the service fails. */
export const internalError = errorAnswer(500, "Internal server error");

/** Memory in bytes that large requests and responses share. */
export type Memory = {
  /** Takes some of it; false if there is not enough. */
  take(bytes: number): boolean;
  /** Gives back all that was taken. */
  release(): void;
};

/** Hands out shares of `bytes` of memory: what one share takes, the others lack until it is released. */
export function createSharedMemory(bytes: number): () => Memory {
  let free = bytes;
  return () => {
    let taken = 0;
    return {
      take: (wanted) => {
        if (wanted > free) return false;
        free -= wanted;
        taken += wanted;
        return true;
      },
      release: () => {
        free += taken;
        taken = 0;
      },
    };
  };
}

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

/** How long a client may take to read a long response, and may take not a byte of it, in milliseconds. */
export type Patience = { responseMs: number; stalledMs: number };

/**
 * A writer that drops clients which read a long response too slowly. Long texts take a share of memory until they are sent.
 */
export function createWriter(shareOfMemory: () => Memory, patience: Patience): Writer {
  return (response, { method, path }, answer) => {
    const sending = { isHead: method === "HEAD", headers: corsHeaders(path), patience };
    const { body } = answer;
    if ((typeof body !== "string" && !isBytes(body)) || body.length <= writeSize) {
      return writeAnswer(response, answer, sending);
    }
    const memory = shareOfMemory();
    // A text once as such, once as bytes.
    const isFree = memory.take(isBytes(body) ? body.length : 2 * body.length);
    return writeAnswer(response, isFree ? answer : busy, sending).finally(memory.release);
  };
}

// What is left of a body that is too long, too slow or one too many is not read.
const endsBody = new Set([408, 413, 503]);

const isBytes = (body: Answer["body"]) => body instanceof Uint8Array;

async function writeAnswer(
  response: ServerResponse,
  { status, contentType, body, headers: own = [] }: Answer,
  { isHead, headers, patience }: { isHead: boolean; headers: string[]; patience: Patience },
): Promise<void> {
  const head = ["content-type", contentType, "x-content-type-options", "nosniff", ...headers, ...own];
  if (status === 503) head.push("retry-after", "1");
  if (endsBody.has(status) && !response.req.complete && typeof body === "string") {
    return refuse({ incoming: response.req, outgoing: response }, { status, headers: head, body });
  }
  if (isHead) {
    response.writeHead(status, head).end();
    return;
  }
  const isWhole = typeof body === "string" || isBytes(body);
  if (isWhole) {
    // A long text is encoded once, for its length and for the connection.
    const bytes = typeof body === "string" && body.length > writeSize ? Buffer.from(body) : body;
    const length = Buffer.byteLength(bytes);
    head.push("content-length", String(length));
    // Plain ASCII needs no conversion.
    response.writeHead(status, head).end(bytes, length === bytes.length ? "latin1" : "utf8");
    if (length <= writeSize) return;
  } else response.writeHead(status, head);
  response.setTimeout(patience.stalledMs);
  const impatience = setTimeout(() => response.destroy(), patience.responseMs);
  try {
    if (!isWhole) await writeParts(response, body);
    if (!response.writableFinished && !response.destroyed) await once(response, "close");
  } finally {
    clearTimeout(impatience);
  }
}

async function writeParts(response: ServerResponse, parts: Iterable<string | Uint8Array>): Promise<void> {
  const gone = new AbortController();
  response.once("close", () => gone.abort());
  const write = async (piece: string | Uint8Array) => {
    if (piece.length === 0 || response.write(piece)) return;
    await once(response, "drain", { signal: gone.signal });
  };
  const iterator = parts[Symbol.iterator]();
  try {
    let pending = "";
    for (;;) {
      // A socket with room in its buffers takes megabytes at once, during which nothing else would run.
      await nextTurn();
      if (response.destroyed) return;
      const { done, value } = iterator.next();
      if (done) break;
      if (typeof value === "string") pending += value;
      if (typeof value === "string" && pending.length < writeSize) continue;
      await write(pending);
      pending = "";
      if (typeof value !== "string") await write(value);
    }
    response.end(pending);
  } catch (error) {
    // The client has gone, or a part could not be computed: the client notices that the response is incomplete.
    response.destroy();
    if (!gone.signal.aborted) throw error;
  }
}
