import { randomUUID } from "node:crypto";
import { z } from "zod/v4-mini";
import { digestLength } from "../../src/ens/keccak.ts";
import { normalizeLabelhash } from "../../src/ens/labels.ts";
import { readDigest, writeDigest } from "../../src/labels/digests.ts";
import type { LabelFile } from "../../src/labels/label-file.ts";
import { type Answer, busy, errorAnswer, jsonAnswer, type Memory } from "./answer.ts";
import { checkedPin, type HealedList, healList, invalidLabelhash, type Pieces, refusedPin } from "./heal.ts";

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

/** The most bytes of one request's body: room for the longest batch in any spelling. */
export const largestBody = 1024 * 1024;

/** The most bytes of labels in one response: room for any label, and for the longest batch of real ones a hundred times. */
export const largestAnswer = 32 * 1024 * 1024;

/** Whether lines are wanted, and what a response holds until it is sent comes out of. */
type Sending = { asLines: boolean; memory: Memory };

/**
 * Answers `POST /v1/heal`: one label or null for each labelhash, in order, as one JSON object, or as one JSON value per
 * line if the client accepts that. Checks in the order of `GET /v1/heal`.
 */
export async function answerBatch(file: LabelFile, body: Buffer, sending: Sending): Promise<Answer> {
  if (!sending.memory.take(body.length)) return busy;
  const { json, digests: read } = parseBatchBody(body);
  const parsed = batchRequest.safeParse(json);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    const field = issue?.path.join(".") || "body";
    return errorAnswer(400, `${field}: ${field === "body" ? "must be a JSON object" : issue?.message}`);
  }
  const request = parsed.data;
  const { pin, fault } = checkedPin(request.label_set_id ?? "", request.label_set_version?.toString() ?? "");
  if (fault !== undefined) return fault;
  const count = read ? read.length / digestLength : request.labelhashes.length;
  if (count > longestBatch) {
    return errorAnswer(400, `labelhashes: ${count} are too many, at most ${longestBatch} are healed at once`);
  }
  const digests = read ?? new Uint8Array(count * digestLength);
  for (let i = 0; read === undefined && i < count; i++) {
    if (!writeAnyDigest(request.labelhashes[i], digests, i * digestLength)) {
      return errorAnswer(400, `labelhashes[${i}]: ${invalidLabelhash}`);
    }
  }
  const refusal = refusedPin(pin, file.facts);
  if (refusal !== undefined) return refusal;
  const healed = await healList(file, digests, pin.labelSetVersion ?? file.facts.highestLabelSetVersion);
  return answerLabels(healed, sending);
}

function answerLabels({ bytes, heldBytes, pieces }: HealedList, { asLines, memory }: Sending): Answer {
  if (bytes > largestAnswer) {
    return errorAnswer(
      413,
      `The labels have ${bytes} bytes together, at most ${largestAnswer} are sent at once: ask for fewer`,
    );
  }
  // Each label is in memory twice while it is sent: by itself and as JSON.
  if (!memory.take(2 * heldBytes)) return busy;
  return asLines
    ? { ...jsonAnswer(lines(pieces())), contentType: "application/x-ndjson" }
    : jsonAnswer(object(pieces()));
}

/** Labelhashes in other spellings are made canonical. */
function writeAnyDigest(text: unknown, target: Uint8Array, start: number): boolean {
  if (typeof text !== "string") return false;
  return writeDigest(text, target, start) || writeDigest(normalizeLabelhash(text) ?? "", target, start);
}

function* object(pieces: Pieces): Generator<string | Uint8Array> {
  let before = '{"status":"success","labels":[';
  for (const piece of pieces) {
    // In a list, JSON has null for undefined.
    yield Array.isArray(piece) ? before + JSON.stringify(piece).slice(1, -1) : before;
    if (!Array.isArray(piece)) yield piece;
    before = ",";
  }
  yield before === "," ? "]}" : `${before}]}`;
}

function* lines(pieces: Pieces): Generator<string | Uint8Array> {
  for (const piece of pieces) {
    if (Array.isArray(piece)) yield piece.map(line).join("");
    else {
      yield piece;
      yield "\n";
    }
  }
}

const line = (label: string | undefined) => (label === undefined ? "null\n" : `${JSON.stringify(label)}\n`);
