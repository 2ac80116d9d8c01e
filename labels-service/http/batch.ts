import { digestLength } from "../../src/ens/keccak.ts";
import { normalizeLabelhash } from "../../src/ens/labels.ts";
import { writeDigest } from "../../src/labels/digests.ts";
import type { LabelFile } from "../../src/labels/label-file.ts";
import { type Answer, errorAnswer, jsonAnswer } from "./answer.ts";
import { parseBatchBody } from "./batch-body.ts";
import { batchRequest, longestBatch } from "./batch-request.ts";
import { invalidLabelhash } from "./heal.ts";
import { healList } from "./heal-list.ts";
import { checkedPin, pinMismatch } from "./pin.ts";

/** Most bytes of one request: room for the longest batch in any spelling. */
export const largestBody = 1024 * 1024;

/**
 * Answers `POST /v1/heal`: one label or null for each labelhash, in order, as one JSON object, or as one JSON
 * value a line with `asLines`. The checks come in the order of `GET /v1/heal`.
 */
export function answerBatch(file: LabelFile, body: Buffer, asLines: boolean): Answer {
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
  const mismatch = pinMismatch(pin, file.facts);
  if (mismatch !== undefined) return mismatch;
  const pieces = healList(file, digests, pin.labelSetVersion ?? file.facts.highestLabelSetVersion);
  return asLines
    ? { ...jsonAnswer(lines(pieces)), contentType: "application/x-ndjson" }
    : jsonAnswer(object(pieces));
}

/** Labelhashes in other forms are brought into the one that is stored. */
function writeAnyDigest(text: unknown, target: Uint8Array, start: number): boolean {
  if (typeof text !== "string") return false;
  return writeDigest(text, target, start) || writeDigest(normalizeLabelhash(text) ?? "", target, start);
}

function* object(pieces: Iterable<(string | undefined)[]>): Generator<string> {
  let before = '{"status":"success","labels":[';
  for (const labels of pieces) {
    if (labels.length === 0) {
      yield "";
      continue;
    }
    // In a list, JSON has null for undefined.
    yield before + JSON.stringify(labels).slice(1, -1);
    before = ",";
  }
  yield before === "," ? "]}" : `${before}]}`;
}

function* lines(pieces: Iterable<(string | undefined)[]>): Generator<string> {
  for (const labels of pieces) {
    yield labels.map((label) => (label === undefined ? "null\n" : `${JSON.stringify(label)}\n`)).join("");
  }
}
