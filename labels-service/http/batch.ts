import type { Hex } from "viem";
import { normalizeLabelhash } from "../../src/ens/labels.ts";
import type { LabelFile } from "../../src/labels/label-file.ts";
import { type Answer, errorAnswer, jsonAnswer } from "./answer.ts";
import { batchRequest, longestBatch } from "./batch-request.ts";
import { invalidLabelhash } from "./heal.ts";
import { checkedPin, pinMismatch } from "./pin.ts";

/** Most bytes of one request: room for the longest batch in any spelling. */
export const largestBody = 1024 * 1024;

/** Heals are done in pieces: other requests get their turn in between, and long labels do not fill the memory. */
const pieceLength = 500;

/**
 * Answers `POST /v1/heal`: one label or null for each labelhash, in order, as one JSON object, or as one JSON
 * value a line with `asLines`. The checks come in the order of `GET /v1/heal`.
 */
export function answerBatch(file: LabelFile, body: string, asLines: boolean): Answer {
  const parsed = batchRequest.safeParse(parsedJson(body));
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    const field = issue?.path.join(".") || "body";
    return errorAnswer(400, `${field}: ${field === "body" ? "must be a JSON object" : issue?.message}`);
  }
  const request = parsed.data;
  const { pin, fault } = checkedPin(request.label_set_id ?? "", request.label_set_version?.toString() ?? "");
  if (fault !== undefined) return fault;
  if (request.labelhashes.length > longestBatch) {
    return errorAnswer(
      400,
      `labelhashes: ${request.labelhashes.length} are too many, at most ${longestBatch} are healed at once`,
    );
  }
  const labelhashes: Hex[] = [];
  for (const [i, text] of request.labelhashes.entries()) {
    const labelhash = typeof text === "string" ? normalizeLabelhash(text) : undefined;
    if (labelhash === undefined) return errorAnswer(400, `labelhashes[${i}]: ${invalidLabelhash}`);
    labelhashes.push(labelhash);
  }
  const mismatch = pinMismatch(pin, file.facts);
  if (mismatch !== undefined) return mismatch;
  const pieces = healed(file, labelhashes, pin.labelSetVersion ?? file.facts.highestLabelSetVersion);
  return asLines
    ? { ...jsonAnswer(lines(pieces)), contentType: "application/x-ndjson" }
    : jsonAnswer(object(pieces));
}

function* healed(file: LabelFile, labelhashes: Hex[], highestVersion: number) {
  for (let start = 0; start < labelhashes.length; start += pieceLength) {
    yield file.healAll(labelhashes.slice(start, start + pieceLength), highestVersion);
  }
}

function* object(pieces: Iterable<(string | undefined)[]>): Generator<string> {
  let before = '{"status":"success","labels":[';
  for (const labels of pieces) {
    // In a list, JSON has null for undefined.
    yield before + JSON.stringify(labels).slice(1, -1);
    before = ",";
  }
  yield before === "," ? "]}" : `${before}]}`;
}

function* lines(pieces: Iterable<(string | undefined)[]>): Generator<string> {
  for (const labels of pieces) {
    yield `${labels.map((label) => (label === undefined ? "null" : JSON.stringify(label))).join("\n")}\n`;
  }
}

function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
