import { randomUUID } from "node:crypto";
import { z } from "zod/v4-mini";
import { digestLength } from "../../src/ens/keccak.ts";
import { readDigest } from "../../src/labels/digests.ts";

/** The most labelhashes in one request. */
export const longestBatch = 10_000;

const versionFault = "must be a non-negative integer";

/** The body of `POST /v1/heal`. The items of its list are checked later, in the order of `GET /v1/heal`. */
export const batchRequest = z.object({
  labelhashes: z.custom<unknown[]>(Array.isArray, "must be a list of labelhashes"),
  label_set_id: z.optional(z.string("must be a string")),
  label_set_version: z.optional(z.int(versionFault).check(z.nonnegative(versionFault))),
});

/**
 * A body's JSON, undefined if it is not JSON. If its list consists of canonical labelhashes only, `digests` holds them as
 * bytes instead.
 */
export type BatchBody = { json: unknown; digests: Uint8Array | undefined };

/** Replaces the list that was read as bytes. No client knows it, so none can send it. */
const mark = randomUUID();
const [quote, comma, space, closing] = [0x22, 0x2c, 0x20, 0x5d];
/** Bytes of a canonical labelhash in quotes. */
const itemLength = 2 + 2 + 2 * digestLength;

/** Parses the body of a batch. A list of canonical labelhashes is read from the bytes, without a string for each. */
export function parseBatchBody(body: Buffer): BatchBody {
  // These bytes always begin a list: within a JSON string the quote would have a backslash.
  const start = body.indexOf('["0x') + 1;
  const list = start > 0 ? plainList(body, start) : undefined;
  if (list) {
    const json = parsedJson(`${body.toString("utf8", 0, start)}"${mark}"${body.toString("utf8", list.end)}`);
    if (isMarked(json)) return { json, digests: list.digests };
  }
  return { json: parsedJson(body.toString("utf8")), digests: undefined };
}

function plainList(body: Buffer, start: number): { digests: Uint8Array; end: number } | undefined {
  const most = Math.ceil((body.length - start) / (itemLength + 1));
  const digests = new Uint8Array(most * digestLength);
  for (let at = start, length = 0; at + itemLength < body.length; ) {
    if (body[at] !== quote || body[at + itemLength - 1] !== quote) return undefined;
    if (!readDigest(body, at + 1, digests, length)) return undefined;
    length += digestLength;
    at += itemLength;
    if (body[at] === closing) return { digests: digests.subarray(0, length), end: at };
    if (body[at] !== comma) return undefined;
    at += body[at + 1] === space ? 2 : 1;
  }
  return undefined;
}

function isMarked(json: unknown): boolean {
  if (typeof json !== "object" || json === null || !("labelhashes" in json)) return false;
  return Array.isArray(json.labelhashes) && json.labelhashes[0] === mark;
}

function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
