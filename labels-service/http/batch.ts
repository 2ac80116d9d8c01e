import type { Hex } from "viem";
import { z } from "zod/v4";
import { digestLength } from "../../src/ens/keccak.ts";
import { normalizeLabelhash } from "../../src/ens/labels.ts";
import { yieldToEventLoop } from "../../src/http/turn.ts";
import type { LabelFile, ShortHeal } from "../../src/labels/label-file.ts";
import { parsedJson } from "../../src/log/json-log.ts";
import { type Answer, busy, createErrorAnswer, createJsonAnswer, type Memory } from "./answer.ts";
import { checkPin, invalidLabelhash, parsePin } from "./heal.ts";

/** Most labelhashes of a request. */
export const longestBatch = 10_000;

/** Most bytes of a request's body: room for the longest batch in any spelling. */
export const largestBody = 1024 * 1024;

/** Most bytes of a response's labels: room for any label, and for a hundred of the longest batches of real ones. */
export const largestAnswer = 32 * 1024 * 1024;

const versionFault = "must be a non-negative integer";

/** Body of `POST /v1/heal`. Its labelhashes are checked later, in the order of `GET /v1/heal`. */
export const batchRequest = z.object({
  labelhashes: z.custom<unknown[]>(Array.isArray, "must be a list of labelhashes"),
  label_set_id: z.string("must be a string").optional(),
  label_set_version: z.int(versionFault).nonnegative(versionFault).optional(),
});

/**
 * Answers `POST /v1/heal` with a label or null for each labelhash, in order: as one JSON object, or as a JSON value per
 * line. Checks in the order of `GET /v1/heal`. Takes `memory` for what it holds until it is sent.
 */
export async function answerBatch(
  file: LabelFile,
  body: Buffer,
  { asLines, memory }: { asLines: boolean; memory: Memory },
): Promise<Answer> {
  if (!memory.take(body.length)) return busy;
  const parsed = batchRequest.safeParse(parsedJson(body.toString("utf8")));
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    const field = issue?.path.join(".") || "body";
    return createErrorAnswer(400, `${field}: ${field === "body" ? "must be a JSON object" : issue?.message}`);
  }
  const { labelhashes, label_set_id: id = "", label_set_version: version } = parsed.data;
  const pin = parsePin(id, version?.toString() ?? "");
  const count = labelhashes.length;
  if (count > longestBatch) {
    return createErrorAnswer(
      400,
      `labelhashes: ${count} are too many, at most ${longestBatch} are healed at once`,
    );
  }
  const digests = Buffer.alloc(count * digestLength);
  for (const [index, text] of labelhashes.entries()) {
    const isLabelhash = typeof text === "string" && writeDigest(text, digests, index * digestLength);
    if (!isLabelhash) return createErrorAnswer(400, `labelhashes[${index}]: ${invalidLabelhash}`);
  }
  checkPin(pin, file.facts);
  const healed = await healList(file, digests, pin.labelSetVersion ?? file.facts.highestLabelSetVersion);
  if (healed.bytes > largestAnswer) {
    const limit = `at most ${largestAnswer} are sent at once: ask for fewer`;
    return createErrorAnswer(413, `The labels have ${healed.bytes} bytes together, ${limit}`);
  }
  // Each label is in memory twice while it is sent: by itself and as JSON.
  if (!memory.take(2 * healed.heldBytes)) return busy;
  return asLines
    ? { ...createJsonAnswer(writeLines(healed.texts())), contentType: "application/x-ndjson" }
    : createJsonAnswer(writeObject(healed.texts()));
}

/** Writes the bytes of a labelhash in any accepted spelling at `start`; false if `text` is not a labelhash. */
function writeDigest(text: string, digests: Buffer, start: number): boolean {
  // Avoids a regular expression for the usual spelling. Node reads characters beyond ASCII as digits: they have more
  // bytes.
  const isUsual = text.startsWith("0x") && text.length === 66 && Buffer.byteLength(text) === 66;
  const labelhash = isUsual ? text : normalizeLabelhash(text);
  return labelhash !== undefined && digests.write(labelhash.slice(2), start, "hex") === digestLength;
}

function* writeObject(texts: Iterable<string>): Generator<string> {
  let before = '{"status":"success","labels":[';
  for (const text of texts) {
    yield before + text;
    before = ",";
  }
  yield before === "," ? "]}" : `${before}]}`;
}

function* writeLines(texts: Iterable<string>): Generator<string> {
  for (const text of texts) yield `${text}\n`;
}

/** Lookups in slices give other requests their turns. */
const healedAtOnce = 500;
/** Longer labels are read only when they are sent. */
const heldLength = 1000;

/**
 * Heals labelhashes of 32 bytes each. `bytes` is the size of all labels; at most `heldBytes` of it is in memory while
 * the caller takes `texts`, which are JSON, one by one.
 */
async function healList(file: LabelFile, digests: Buffer, highestVersion: number) {
  const order = sortByKey(digests);
  const found = new Array<ShortHeal>(order.length);
  let [shortBytes, longBytes, longest] = [0, 0, 0];
  for (let start = 0; start < order.length; start += healedAtOnce) {
    const places = order.subarray(start, start + healedAtOnce);
    const labels = file.healAll(digests, highestVersion, { places, longest: heldLength });
    for (let i = 0; i < places.length; i++) {
      const label = labels[i];
      found[places[i] ?? 0] = label;
      if (typeof label !== "number") shortBytes += Buffer.byteLength(label ?? "");
      else [longBytes, longest] = [longBytes + label, Math.max(longest, label)];
    }
    await yieldToEventLoop();
  }
  const labelhashAt = (index: number): Hex =>
    `0x${digests.toString("hex", index * digestLength, (index + 1) * digestLength)}`;
  const texts = function* () {
    for (const [index, label] of found.entries()) {
      const text = typeof label === "number" ? file.heal(labelhashAt(index), highestVersion) : label;
      yield JSON.stringify(text ?? null);
    }
  };
  return { bytes: shortBytes + longBytes, heldBytes: shortBytes + longest, texts };
}

/**
 * Indexes of the digests in the order of the file, which saves a fifth of the time. A sort key is 32 bits of digest and
 * 14 of index.
 */
function sortByKey(digests: Buffer): Uint32Array {
  const keys = new Float64Array(digests.length / digestLength);
  for (let i = 0; i < keys.length; i++) keys[i] = digests.readUInt32BE(i * digestLength) * 2 ** 14 + i;
  keys.sort();
  const order = new Uint32Array(keys.length);
  for (let i = 0; i < order.length; i++) order[i] = (keys[i] ?? 0) % 2 ** 14;
  return order;
}
