import { createHash } from "node:crypto";
import { constants, zstdCompressSync, zstdDecompressSync } from "node:zlib";
import { ArchiveError } from "./manifest.ts";

/** A transaction of which only these fields are kept: index, hash, sender, recipient. */
type ArchivedTransaction = [index: number, hash: string, from: string, to: string | null];

/** A log: its index in the block, the place of its transaction in the block's list, and what it says. */
type ArchivedLog = [index: number, place: number, address: string, topics: string[], data: string];

/** What a receipt has besides its logs, which follow those of the receipts before it. */
export type ArchivedReceipt = [
  type: string,
  statusOrRoot: string,
  cumulativeGasUsed: string,
  logCount: number,
];

/** A block's whole header as a node gave it, and of its content what was asked for; all of it if `receipts` are there. */
export type ArchivedBlock = {
  header: Record<string, unknown> & { number: string; hash: string; parentHash: string; logsBloom: string };
  transactions: ArchivedTransaction[];
  logs: ArchivedLog[];
  receipts?: ArchivedReceipt[] | undefined;
};

/** A segment as a file: its bytes, their SHA-256 by which the file is named, and how many bytes they decompress to. */
type SegmentFile = { bytes: Buffer; hash: string; size: number };

const level = 12;

/** A segment of blocks: one line of JSON for each, with repeated words taken out, compressed with zstd. */
export function encodeSegment(blocks: readonly ArchivedBlock[]): SegmentFile {
  const lines = blocks.map(({ header, transactions, logs, receipts }) =>
    JSON.stringify(
      receipts === undefined ? [header, transactions, logs] : [header, transactions, logs, receipts],
    ),
  );
  const packed = packWords(lines.join("\n"));
  const bytes = zstdCompressSync(packed, { params: { [constants.ZSTD_c_compressionLevel]: level } });
  return { bytes, hash: hashOf(bytes), size: packed.length };
}

/** The name of a segment with these bytes: their SHA-256. */
export const hashOf = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex");

/** The blocks of a segment of `size` bytes when decompressed. Throws an ArchiveError if it is not one, before it fills memory. */
export function decodeSegment(bytes: Uint8Array, size: number): ArchivedBlock[] {
  let packed: Buffer;
  try {
    packed = zstdDecompressSync(bytes, { maxOutputLength: Math.max(1, size) });
  } catch (error) {
    throw new ArchiveError(`it cannot be decompressed to ${size} bytes`, { cause: error });
  }
  const text = unpackWords(packed);
  return text === "" ? [] : text.split("\n").map(blockOf);
}

function blockOf(line: string, place: number): ArchivedBlock {
  let parsed: unknown;
  try {
    parsed = JSON.parse(line);
  } catch (error) {
    throw new ArchiveError(`line ${place + 1} is not JSON`, { cause: error });
  }
  const [header, transactions, logs, receipts] = Array.isArray(parsed) ? parsed : [];
  const isBlock =
    isHeader(header) &&
    isListOf(transactions, isTransaction) &&
    isListOf(logs, (log) => isLog(log, transactions.length)) &&
    (receipts === undefined || isListOf(receipts, isReceipt));
  if (!isBlock) throw new ArchiveError(`line ${place + 1} is not a block`);
  return { header, transactions, logs, receipts } as ArchivedBlock;
}

const isText = (value: unknown): value is string => typeof value === "string" && value.startsWith("0x");
const isCount = (value: unknown) => Number.isSafeInteger(value) && Number(value) >= 0;
const isListOf = (value: unknown, isOne: (one: unknown) => boolean): value is unknown[] =>
  Array.isArray(value) && value.every(isOne);

function isHeader(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  const { number, hash, parentHash, logsBloom } = value as Record<string, unknown>;
  return [number, hash, parentHash, logsBloom].every(isText) && isCount(Number(number));
}

function isTransaction(value: unknown): boolean {
  if (!Array.isArray(value)) return false;
  const [index, hash, from, to] = value;
  return isCount(index) && isText(hash) && isText(from) && (to === null || isText(to));
}

function isLog(value: unknown, transactions: number): boolean {
  if (!Array.isArray(value)) return false;
  const [index, place, address, topics, data] = value;
  const isPlaced = isCount(index) && isCount(place) && Number(place) < transactions;
  return isPlaced && isText(address) && isListOf(topics, isText) && topics.length <= 4 && isText(data);
}

function isReceipt(value: unknown): boolean {
  if (!Array.isArray(value)) return false;
  const [type, statusOrRoot, gas, logCount] = value;
  return isText(type) && isText(statusOrRoot) && isText(gas) && isCount(logCount);
}

// --- Words: hashes, topics and addresses, of which most occur several times ---

// In the text "~" and "^" stand for the next word of 32 and of 20 bytes, "#…;" and "@…;" for an earlier one, by its place to
// base 36. Bytes take half the space of hex, and no compressor finds repeated hashes as cheaply as a place names them.
const marks = /[~^#@]/g;
const wordsInText = /[0-9a-f]{64}|[0-9a-f]{40}(?![0-9a-f])/g;
const placesInText = /~|\^|([#@])([0-9a-z]{1,7});/g;
const paddedWord = /^0{24}/;
const mostText = 64 * 1024 * 1024;

function packWords(text: string): Buffer {
  const escaped = text.replace(marks, (mark) => `\\u00${mark.charCodeAt(0).toString(16)}`);
  const long = new Map<string, number>();
  const short = new Map<string, number>();
  const packed = escaped.replace(wordsInText, (word) => {
    // Small numbers and padding are what compression is good at.
    if (paddedWord.test(word)) return word;
    const [words, next, reference] = word.length === 64 ? [long, "~", "#"] : [short, "^", "@"];
    const place = words.get(word);
    if (place !== undefined) return `${reference}${place.toString(36)};`;
    words.set(word, words.size);
    return next;
  });
  const counts = Buffer.alloc(8);
  counts.writeUInt32LE(long.size, 0);
  counts.writeUInt32LE(short.size, 4);
  const bytes = Buffer.from([...long.keys(), ...short.keys()].join(""), "hex");
  return Buffer.concat([counts, bytes, Buffer.from(packed)]);
}

function unpackWords(packed: Buffer): string {
  if (packed.length < 8) throw new ArchiveError("it has no words");
  const [longCount, shortCount] = [packed.readUInt32LE(0), packed.readUInt32LE(4)];
  const shortStart = 8 + longCount * 32;
  const textStart = shortStart + shortCount * 20;
  if (textStart > packed.length) throw new ArchiveError("it ends within its words");
  const long = wordsOf(packed.subarray(8, shortStart), 64);
  const short = wordsOf(packed.subarray(shortStart, textStart), 40);
  let [nextLong, nextShort, length] = [0, 0, 0];
  return packed.toString("utf8", textStart).replace(placesInText, (mark, kind?: string, place = "") => {
    const word =
      kind === undefined
        ? mark === "~"
          ? long[nextLong++]
          : short[nextShort++]
        : (kind === "#" ? long : short)[Number.parseInt(place, 36)];
    length += word?.length ?? 0;
    // A text of nothing but places would grow twentyfold.
    if (word === undefined || length > mostText) throw new ArchiveError(`it names no word by ${mark}`);
    return word;
  });
}

function wordsOf(bytes: Buffer, digits: number): string[] {
  const text = bytes.toString("hex");
  return Array.from({ length: text.length / digits }, (_, i) => text.slice(i * digits, (i + 1) * digits));
}
