import { pipeline, Readable } from "node:stream";
import { ReadableStream } from "node:stream/web";
import { promisify } from "node:util";
import { constants, createGzip, gzip } from "node:zlib";
import type { Context } from "hono";
import type { ContentfulStatusCode } from "hono/utils/http-status";
import { yieldToEventLoop } from "../../http/turn.ts";
import { BusyError } from "../../read/sql/client.ts";

/** A response in parts: strings, and pieces of UTF-8. */
export type Parts = readonly (string | Uint8Array)[];

const gzipInOne = promisify(gzip);

/** Compresses a short response at once. */
export function compress(body: string | Uint8Array): Promise<Buffer<ArrayBuffer>> {
  return gzipInOne(body, { level: 1 });
}

/** Whether the client accepts gzip. */
export function acceptsGzip(c: Context): boolean {
  return /\bgzip\b/.test(c.req.header("Accept-Encoding") ?? "");
}

/** Limits of what may wait for slow clients. */
export type SendLimits = {
  /** A client that reads nothing for so long is dropped. */
  timeoutMs: number;
  /** Bytes of all responses that are being sent. */
  heldBytes: number;
};

type SendOptions = {
  headers: Record<string, string>;
  isPacked: boolean;
  /** Whether responses share the parts, whose bytes then do not count as held. */
  isShared?: boolean;
};

const usualLimits: SendLimits = { timeoutMs: 30_000, heldBytes: 268_435_456 };
const sliceSize = 65_536;

/**
 * Sends responses slice by slice, as fast as their clients read them. Throws BusyError if another response would exceed
 * `heldBytes`.
 */
export function createSender({ timeoutMs, heldBytes }: SendLimits = usualLimits) {
  let held = 0;
  // Runs from the first read on, which a response to HEAD never has; each slice has its own timer.
  async function* inTime(slices: Slices, bytes: number, drop: () => void) {
    held += bytes;
    let timer: NodeJS.Timeout | undefined;
    try {
      for await (const slice of slices) {
        timer = setTimeout(drop, timeoutMs);
        yield slice;
        clearTimeout(timer);
        // A socket takes megabytes at once: other requests run in between.
        await yieldToEventLoop();
      }
    } finally {
      clearTimeout(timer);
      held -= bytes;
    }
  }
  return (c: Context, parts: Parts, { headers, isPacked, isShared = false }: SendOptions): Response => {
    const bytes = isShared ? 0 : parts.reduce((sum, { length }) => sum + length, 0);
    if (held > 0 && held + bytes > heldBytes) throw new BusyError(1);
    const { outgoing } = (c.env ?? {}) as { outgoing?: { destroy(): void } };
    const slices = isPacked ? compressParts(parts) : sliceParts(parts);
    // The server cancels the stream of a destroyed connection.
    const body = ReadableStream.from(inTime(slices, bytes, () => outgoing?.destroy()));
    return c.body(body as globalThis.ReadableStream, 200, headers);
  };
}

/**
 * Sends a response whose texts arrive over time, each when the client has read the one before. A client that reads
 * nothing for `timeoutMs` is dropped.
 */
export function sendAsItComes(
  c: Context,
  texts: AsyncIterable<string>,
  {
    status = 200,
    headers,
    isPacked,
    timeoutMs,
  }: Pick<SendLimits, "timeoutMs"> & Omit<SendOptions, "isShared"> & { status?: ContentfulStatusCode },
): Response {
  const { outgoing } = (c.env ?? {}) as { outgoing?: { destroy(): void } };
  async function* inTime() {
    for await (const text of texts) {
      const timer = setTimeout(() => outgoing?.destroy(), timeoutMs);
      try {
        yield Buffer.from(text);
      } finally {
        clearTimeout(timer);
      }
    }
  }
  const own = isPacked ? { ...headers, "content-encoding": "gzip" } : headers;
  const body = ReadableStream.from(isPacked ? packEach(inTime()) : inTime());
  return c.body(body as globalThis.ReadableStream, status, own);
}

// Each text can be unpacked when it arrives.
async function* packEach(texts: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const gzip = createGzip({ level: 4, flush: constants.Z_SYNC_FLUSH });
  pipeline(Readable.from(texts), gzip, () => undefined);
  yield* gzip;
}

/** Sends a response in parts. */
export type Send = ReturnType<typeof createSender>;

type Slices = Iterable<Uint8Array> | AsyncIterable<Uint8Array>;

// Releases parts once they are sent.
function* sliceParts(parts: Parts): Generator<Uint8Array> {
  const left = parts.toReversed();
  for (let part = left.pop(); part !== undefined; part = left.pop()) {
    for (let start = 0; start < part.length; ) {
      const end = typeof part === "string" ? findEndOfSlice(part, start) : start + sliceSize;
      yield typeof part === "string" ? Buffer.from(part.slice(start, end)) : part.subarray(start, end);
      start = end;
    }
  }
}

// A slice never ends between the two halves of a surrogate pair.
function findEndOfSlice(text: string, start: number): number {
  const end = start + sliceSize;
  const last = text.charCodeAt(end - 1);
  return last >= 0xd800 && last < 0xdc00 ? end - 1 : end;
}

async function* compressParts(parts: Parts): AsyncGenerator<Uint8Array> {
  const gzip = createGzip({ level: 1, chunkSize: sliceSize });
  // An error also ends the loop below.
  pipeline(Readable.from(sliceParts(parts)), gzip, () => undefined);
  yield* gzip;
}
