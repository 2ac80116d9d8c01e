import { LRUCache } from "lru-cache";
import type { Hex } from "viem";
import { digestLength } from "../../src/ens/keccak.ts";
import { normalizeLabelhash } from "../../src/ens/labels.ts";
import type { LabelFile } from "../../src/labels/label-file.ts";
import {
  isLabelSetId,
  type LabelSetFacts,
  type LabelSetPin,
  labelSetIdRule,
  parseLabelSetVersion,
  pinMismatch,
} from "../../src/labels/label-set.ts";
import { type Answer, errorAnswer, jsonAnswer, notReady } from "./answer.ts";

/** The specification's text for a labelhash that is missing or invalid. */
export const invalidLabelhash = "Invalid labelhash - must be a valid hex string";

const malformed = errorAnswer(400, invalidLabelhash);
const unknown = errorAnswer(404, "Label not found");

/** Answers `GET /v1/heal/<labelhash>`: pinned query first, then the labelhash, then the label set, then the label. */
export function createHealer() {
  const pinOf = rememberLast(pinOfQuery);

  return (file: LabelFile | undefined, labelhashText: string, query: string): Answer => {
    if (file === undefined) return notReady;
    const { pin, fault } = pinOf(query);
    if (fault !== undefined) return fault;
    const labelhash = normalizeLabelhash(decoded(labelhashText));
    if (labelhash === undefined) return malformed;
    const refusal = refusedPin(pin, file.facts);
    if (refusal !== undefined) return refusal;
    const body = healedBody(file, labelhash, pin.labelSetVersion ?? file.facts.highestLabelSetVersion);
    return body === undefined ? unknown : jsonAnswer(body, "healed");
  };
}

/** Bytes of a label from which on its JSON is kept. */
const longLabel = 65_536;
/** Bytes of JSON that are kept for one file. */
const keptBytes = 32 * 1024 * 1024;
const kept = new WeakMap<LabelFile, LRUCache<string, Uint8Array>>();

const [beforeLabel, afterLabel] = ['{"status":"success","label":', "}"];

/**
 * The body of a successful heal; as bytes, which all responses share, if the label is long. Reading and writing the same
 * megabytes for each of many requests would leave no time for others.
 */
function healedBody(
  file: LabelFile,
  labelhash: Hex,
  highestVersion: number,
): string | Uint8Array | undefined {
  const bodies = kept.get(file);
  const found = bodies?.get(keyOf(labelhash, highestVersion));
  if (found !== undefined) return found;
  const label = file.heal(labelhash, highestVersion);
  if (label === undefined) return undefined;
  const body = beforeLabel + JSON.stringify(label) + afterLabel;
  // No unit of UTF-16 has more than three bytes.
  if (3 * label.length < longLabel) return body;
  const bytes = Buffer.from(body);
  if (bytes.length < longLabel) return body;
  keep(file, keyOf(labelhash, highestVersion), bytes);
  return bytes;
}

const keyOf = (labelhash: Hex, highestVersion: number) => `${labelhash}${highestVersion}`;

function keep(file: LabelFile, key: string, bytes: Uint8Array): void {
  const bodies =
    kept.get(file) ?? new LRUCache({ maxSize: keptBytes, sizeCalculation: ({ length }) => length });
  bodies.set(key, bytes);
  kept.set(file, bodies);
}

/** The JSON of a label of `longLabel` bytes or more, undefined if there is none. */
function longJson(file: LabelFile, labelhash: Hex, highestVersion: number): Uint8Array | undefined {
  const body = healedBody(file, labelhash, highestVersion);
  if (typeof body === "string") throw new Error("The label is not long.");
  return body?.subarray(beforeLabel.length, -afterLabel.length);
}

/** Labels are looked up in pieces, so that other requests get their turn in between. */
const healedAtOnce = 500;
const sentAtOnce = 2000;
/** Labels of more bytes are read only when they are sent. */
const heldLength = 1000;
/** Bytes of such labels after which a piece ends. */
const pieceLength = 256 * 1024;

/** The labels of a list of labelhashes; the long ones are still in the file. */
export type HealedList = {
  /** Bytes of all labels together; those of short ones as UTF-16 units. */
  bytes: number;
  /** The most bytes of labels in memory while the pieces are read one after another. */
  heldBytes: number;
  /** The labels in order, undefined where there is none, up to 2000 at a time. */
  pieces(): Pieces;
};

/** Lists of labels, undefined where there is none; a long label is a piece of its own, as JSON. */
export type Pieces = Generator<(string | undefined)[] | Uint8Array>;

/**
 * Heals labelhashes, which are given as their bytes one after another. They are looked up in the order of the file, which
 * saves a fifth of the time.
 */
export async function healList(
  file: LabelFile,
  digests: Uint8Array,
  highestVersion: number,
): Promise<HealedList> {
  const order = inOrderOfKeys(digests);
  const labels = new Array<string | undefined>(order.length);
  /** Bytes of the long labels by place. */
  const long = new Map<number, number>();
  let [shortBytes, longBytes, longest] = [0, 0, 0];
  for (let start = 0; start < order.length; start += healedAtOnce) {
    const places = order.subarray(start, start + healedAtOnce);
    const healed = file.healShort(digests, highestVersion, places, heldLength);
    for (let i = 0; i < places.length; i++) {
      const label = healed[i];
      const place = places[i] ?? 0;
      if (typeof label === "number") {
        long.set(place, label);
        longBytes += label;
        longest = Math.max(longest, label);
      } else {
        labels[place] = label;
        if (label !== undefined) shortBytes += label.length;
      }
    }
    await new Promise(setImmediate);
  }
  const digestAt = (place: number) => digests.subarray(place * digestLength, (place + 1) * digestLength);
  const labelAt = (place: number) => file.healAll(digestAt(place), highestVersion)[0];
  const jsonAt = (place: number) =>
    longJson(file, `0x${Buffer.from(digestAt(place)).toString("hex")}`, highestVersion);
  return {
    bytes: shortBytes + longBytes,
    heldBytes: shortBytes + (longest === 0 ? 0 : Math.max(longest, pieceLength)),
    pieces: () => (long.size === 0 ? slicesOf(labels) : piecesOf(labels, long, { labelAt, jsonAt })),
  };
}

function* slicesOf(labels: (string | undefined)[]): Pieces {
  for (let start = 0; start < labels.length; start += sentAtOnce)
    yield labels.slice(start, start + sentAtOnce);
}

type Reader = {
  labelAt(place: number): string | undefined;
  jsonAt(place: number): Uint8Array | undefined;
};

function* piecesOf(
  labels: (string | undefined)[],
  long: Map<number, number>,
  { labelAt, jsonAt }: Reader,
): Pieces {
  let piece: (string | undefined)[] = [];
  let length = 0;
  for (let place = 0; place < labels.length; place++) {
    const bytes = long.get(place) ?? 0;
    const json = bytes < longLabel ? undefined : jsonAt(place);
    if (json === undefined) {
      length += bytes;
      piece.push(bytes === 0 ? labels[place] : labelAt(place));
      if (piece.length < sentAtOnce && length < pieceLength) continue;
    }
    if (piece.length > 0) yield piece;
    if (json !== undefined) yield json;
    piece = [];
    length = 0;
  }
  if (piece.length > 0) yield piece;
}

/** Places of the digests in the order of their first 12 bits, which is close enough to that of the file. */
function inOrderOfKeys(digests: Uint8Array): Uint32Array {
  const count = digests.length / digestLength;
  const bitsAt = (i: number) =>
    ((digests[i * digestLength] ?? 0) << 4) | ((digests[i * digestLength + 1] ?? 0) >> 4);
  const next = new Uint32Array(4097);
  for (let i = 0; i < count; i++) next[bitsAt(i) + 1] = (next[bitsAt(i) + 1] ?? 0) + 1;
  for (let bits = 1; bits < 4096; bits++) next[bits] = (next[bits] ?? 0) + (next[bits - 1] ?? 0);
  const order = new Uint32Array(count);
  for (let i = 0; i < count; i++) {
    const place = next[bitsAt(i)] ?? 0;
    order[place] = i;
    next[bitsAt(i)] = place + 1;
  }
  return order;
}

/** A heal of this many milliseconds is slow: its label has a hundred kilobytes or more. */
const slowMs = 5;

/** Where heals wait after a slow one. */
export type HealLine = {
  /** Whether heals have to wait at the moment. */
  isFormed(): boolean;
  /** Runs `heal` in its turn. */
  join(heal: () => void): void;
  /** Takes the milliseconds that a heal took which did not wait. */
  observe(milliseconds: number): void;
};

/**
 * Heals run at once, until one was slow: those that come before the process has looked for what else has arrived then wait
 * in line, a few milliseconds of them at a time. Many long labels delay other requests no more than one does.
 */
export function createHealLine(): HealLine {
  const waiting: (() => void)[] = [];
  let isFormed = false;
  const turn = () => {
    const until = performance.now() + slowMs;
    while (waiting.length > 0 && performance.now() < until) waiting.shift()?.();
    isFormed = waiting.length > 0;
    if (isFormed) setImmediate(turn);
  };
  return {
    isFormed: () => isFormed,
    join: (heal) => void waiting.push(heal),
    observe: (milliseconds) => {
      if (milliseconds < slowMs || isFormed) return;
      isFormed = true;
      setImmediate(turn);
    },
  };
}

/** Clients always pin the same label set, so the same query comes again and again. */
function rememberLast(parse: (query: string) => PinResult): (query: string) => PinResult {
  let lastQuery = "";
  let lastResult = parse(lastQuery);
  return (query) => {
    if (query !== lastQuery) {
      lastResult = parse(query);
      lastQuery = query;
    }
    return lastResult;
  };
}

function decoded(text: string): string {
  if (!text.includes("%")) return text;
  try {
    return decodeURIComponent(text);
  } catch {
    return "";
  }
}

/** The label set that a request wants; absent parts are not restricted. */
type Pin = { [Part in keyof LabelSetPin]: LabelSetPin[Part] | undefined };

/** A pin, or the 400 that says what is wrong with it. */
type PinResult = { pin: Pin; fault?: undefined } | { pin?: undefined; fault: Answer };

/** The pin in a query string. The first of repeated parameters counts, and an empty one counts as absent. */
function pinOfQuery(query: string): PinResult {
  const parameters = new URLSearchParams(query);
  return checkedPin(parameters.get("label_set_id") ?? "", parameters.get("label_set_version") ?? "");
}

/** The pin of an id and a version as text, empty meaning absent. Checks in the order version, id, version without id. */
export function checkedPin(labelSetId: string, versionText: string): PinResult {
  const labelSetVersion = parseLabelSetVersion(versionText);
  if (versionText !== "" && labelSetVersion === undefined) {
    return refused("label_set_version must be a non-negative integer");
  }
  if (labelSetId !== "" && !isLabelSetId(labelSetId)) {
    return refused(`label_set_id must have ${labelSetIdRule}`);
  }
  if (labelSetVersion !== undefined && labelSetId === "") {
    return refused("label_set_id is required when label_set_version is given");
  }
  return { pin: { labelSetId: labelSetId === "" ? undefined : labelSetId, labelSetVersion } };
}

/** The 400 for a pin that the label set cannot serve; undefined if it can. */
export function refusedPin(pin: Pin, facts: LabelSetFacts): Answer | undefined {
  const mismatch = pinMismatch(pin, facts);
  if (mismatch === undefined) return undefined;
  return errorAnswer(
    400,
    mismatch === "id"
      ? `Label set id mismatch: the server holds "${facts.labelSetId}", the client requested "${pin.labelSetId}"`
      : "Requested label set version is higher than available label set version",
  );
}

function refused(error: string): PinResult {
  return { fault: errorAnswer(400, error) };
}
