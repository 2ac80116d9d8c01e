import type { IncomingMessage } from "node:http";
import { digestLength } from "../../src/ens/keccak.ts";
import { normalizeLabelhash } from "../../src/ens/labels.ts";
import { writeDigest } from "../../src/labels/digests.ts";
import type { LabelFile } from "../../src/labels/label-file.ts";
import { type Answer, errorAnswer, giveWay, jsonAnswer } from "./answer.ts";
import { batchRequest, longestBatch, parseBatchBody } from "./batch-request.ts";
import { checkedPin, invalidLabelhash, refusedPin } from "./heal.ts";
import { healList } from "./heal-list.ts";

/** The most bytes of one request's body: room for the longest batch in any spelling. */
export const largestBody = 1024 * 1024;

/**
 * Answers `POST /v1/heal`: one label or null for each labelhash, in order, as one JSON object, or as one JSON value per
 * line if the client accepts that. Checks in the order of `GET /v1/heal`.
 */
export async function answerBatch(file: LabelFile, incoming: IncomingMessage): Promise<Answer> {
  const asLines = incoming.headers.accept?.includes("application/x-ndjson") ?? false;
  try {
    return answerBody(file, await readBody(incoming), asLines);
  } catch (error) {
    if (error instanceof BodyTooLargeError) return errorAnswer(413, error.message);
    if (!incoming.complete) return errorAnswer(400, "The body was cut off");
    throw error;
  }
}

function answerBody(file: LabelFile, body: Buffer, asLines: boolean): Answer {
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
  const pieces = healList(file, digests, pin.labelSetVersion ?? file.facts.highestLabelSetVersion);
  return asLines
    ? { ...jsonAnswer(lines(pieces)), contentType: "application/x-ndjson" }
    : jsonAnswer(object(pieces));
}

/** Labelhashes in other spellings are made canonical. */
function writeAnyDigest(text: unknown, target: Uint8Array, start: number): boolean {
  if (typeof text !== "string") return false;
  return writeDigest(text, target, start) || writeDigest(normalizeLabelhash(text) ?? "", target, start);
}

type Pieces = ReturnType<typeof healList>;

function* object(pieces: Pieces): Generator<string | typeof giveWay> {
  let before = '{"status":"success","labels":[';
  for (const labels of pieces) {
    if (labels === giveWay) {
      yield giveWay;
      continue;
    }
    // In a list, JSON has null for undefined.
    yield before + JSON.stringify(labels).slice(1, -1);
    before = ",";
  }
  yield before === "," ? "]}" : `${before}]}`;
}

function* lines(pieces: Pieces): Generator<string | typeof giveWay> {
  for (const labels of pieces) {
    yield labels === giveWay
      ? giveWay
      : labels.map((label) => (label === undefined ? "null\n" : `${JSON.stringify(label)}\n`)).join("");
  }
}

async function readBody(incoming: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let length = 0;
  let isTooLarge = Number(incoming.headers["content-length"] ?? 0) > largestBody;
  for await (const chunk of incoming as AsyncIterable<Buffer>) {
    length += chunk.length;
    isTooLarge ||= length > largestBody;
    // The rest is read and thrown away: a client that is still sending would not see the answer.
    if (!isTooLarge) chunks.push(chunk);
    if (length > 16 * largestBody) break;
  }
  if (isTooLarge) throw new BodyTooLargeError(`The body has more than ${largestBody} bytes`);
  return Buffer.concat(chunks);
}

/** The request's body is larger than allowed. */
class BodyTooLargeError extends Error {
  override name = "BodyTooLargeError";
}
