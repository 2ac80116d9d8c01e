import { createHash } from "node:crypto";
import { constants, zstdCompressSync, zstdDecompressSync } from "node:zlib";
import { headerFields } from "../rpc/block-proofs.ts";
import { ArchiveError, limits } from "./manifest.ts";

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

/** A block: the fields of its header that archives keep, and of its content what was asked for; all of it if `receipts` are there. */
export type ArchivedBlock = {
  header: Record<string, string> & { number: string; hash: string; parentHash: string; logsBloom: string };
  transactions: ArchivedTransaction[];
  logs: ArchivedLog[];
  receipts?: ArchivedReceipt[] | undefined;
};

// What a block's hash covers, and what Ponder stores of a header beyond it.
const keptFields = [...headerFields, "hash", "size", "totalDifficulty"];

/** The fields of a block's header that archives keep, those that are hexadecimal text. */
export function keptHeader(block: Record<string, unknown>): ArchivedBlock["header"] {
  const kept = keptFields.flatMap((field) => (isHex(block[field]) ? [[field, block[field]]] : []));
  return Object.fromEntries(kept) as ArchivedBlock["header"];
}

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
  const unpack = wordsOf(packed);
  let characters = 0;
  return Array.from(linesOf(unpack.text, mostOfLine), (packedLine, place) => {
    const line = unpack.line(packedLine);
    characters += line.length;
    if (characters > limits.text) throw new ArchiveError(`it has more than ${limits.text} characters`);
    return blockOf(line, place);
  });
}

const mostOfLine = 32 * 1024 * 1024;

/** The lines of a text, one after the other. Throws an ArchiveError at one that is longer than `most`. */
export function* linesOf(text: string, most: number): Generator<string> {
  for (let start = 0; start < text.length; ) {
    const end = text.indexOf("\n", start);
    const line = text.slice(start, end < 0 ? text.length : end);
    if (line.length > most) throw new ArchiveError(`a line has more than ${most} characters`);
    yield line;
    start += line.length + 1;
  }
}

function blockOf(line: string, place: number): ArchivedBlock {
  if (!isLean(line)) throw new ArchiveError(`line ${place + 1} is not a block`);
  let parsed: unknown;
  try {
    parsed = JSON.parse(line);
  } catch (error) {
    throw new ArchiveError(`line ${place + 1} is not JSON`, { cause: error });
  }
  const [given, transactions, logs, receipts] = Array.isArray(parsed) ? parsed : [];
  const header = keptHeader(Object(given));
  const isBlock =
    isHeader(header) &&
    isListOf(transactions, isTransaction) &&
    isListOf(logs, (log) => isLog(log, transactions.length)) &&
    (receipts === undefined || isListOf(receipts, isReceipt));
  if (!isBlock) throw new ArchiveError(`line ${place + 1} is not a block`);
  return { header, transactions, logs, receipts } as ArchivedBlock;
}

// A text of lists alone takes forty times its size when it is parsed. No list of a block is shorter than twenty characters, but for a few in
// the headers of former releases.
function isLean(line: string): boolean {
  let [lists, keys] = [0, 0];
  for (let i = 0; i < line.length; i++) {
    const code = line.charCodeAt(i);
    if (code === bracket || code === brace) lists += 1;
    else if (code === colon) keys += 1;
  }
  return lists <= 50 + line.length / 20 && keys <= mostKeys;
}

const [bracket, brace, colon] = [91, 123, 58];
const mostKeys = 200;

const hexPattern = /^0x[0-9a-f]*$/i;
const isHex = (value: unknown, length?: number): value is string =>
  typeof value === "string" && hexPattern.test(value) && (length ?? value.length) === value.length;
const isCount = (value: unknown) => Number.isSafeInteger(value) && Number(value) >= 0;
const isListOf = (value: unknown, isOne: (one: unknown) => boolean): value is unknown[] =>
  Array.isArray(value) && value.every(isOne);
const [addressLength, hashLength] = [42, 66];

function isHeader({ number, hash, parentHash, logsBloom }: Partial<ArchivedBlock["header"]>): boolean {
  const isWhole = isHex(hash, hashLength) && isHex(parentHash, hashLength) && isHex(logsBloom);
  return isWhole && isHex(number) && isCount(Number(number));
}

function isTransaction(value: unknown): boolean {
  if (!Array.isArray(value)) return false;
  const [index, hash, from, to] = value;
  const isSent = isCount(index) && isHex(hash, hashLength) && isHex(from, addressLength);
  return isSent && (to === null || isHex(to, addressLength));
}

function isLog(value: unknown, transactions: number): boolean {
  if (!Array.isArray(value)) return false;
  const [index, place, address, topics, data] = value;
  const isPlaced = isCount(index) && isCount(place) && Number(place) < transactions;
  const isOfEvent = isListOf(topics, (topic) => isHex(topic, hashLength)) && topics.length <= 4;
  return isPlaced && isHex(address, addressLength) && isOfEvent && isHex(data) && data.length % 2 === 0;
}

function isReceipt(value: unknown): boolean {
  if (!Array.isArray(value)) return false;
  const [type, statusOrRoot, gas, logCount] = value;
  return isHex(type) && isHex(statusOrRoot) && isHex(gas) && isCount(logCount);
}

// --- Words: hashes, topics and addresses, of which most occur several times ---

// In the text "~" and "^" stand for the next word of 32 and of 20 bytes, "#…;" and "@…;" for an earlier one, by its place to
// base 36. Bytes take half the space of hex, and no compressor finds repeated hashes as cheaply as a place names them.
const wordsInText = /[0-9a-f]{64}|[0-9a-f]{40}(?![0-9a-f])/g;
const placesInText = /~|\^|([#@])([0-9a-z]{1,7});/g;
const paddedWord = /^0{24}/;

function packWords(text: string): Buffer {
  const long = new Map<string, number>();
  const short = new Map<string, number>();
  const packed = text.replace(wordsInText, (word) => {
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

/** The text of a packed segment, and what puts the words back into its lines, in their order. */
function wordsOf(packed: Buffer) {
  if (packed.length < 8) throw new ArchiveError("it has no words");
  const [longCount, shortCount] = [packed.readUInt32LE(0), packed.readUInt32LE(4)];
  const shortStart = 8 + longCount * 32;
  const textStart = shortStart + shortCount * 20;
  if (textStart > packed.length) throw new ArchiveError("it ends within its words");
  const long = cut(packed.subarray(8, shortStart), 64);
  const short = cut(packed.subarray(shortStart, textStart), 40);
  let [nextLong, nextShort] = [0, 0];
  const line = (text: string) => {
    let length = text.length;
    return text.replace(placesInText, (mark, kind?: string, place = "") => {
      const word =
        kind === undefined
          ? mark === "~"
            ? long[nextLong++]
            : short[nextShort++]
          : (kind === "#" ? long : short)[Number.parseInt(place, 36)];
      length += word?.length ?? 0;
      // A text of nothing but places would grow twentyfold.
      if (word === undefined || length > limits.text) throw new ArchiveError(`it names no word by ${mark}`);
      return word;
    });
  };
  return { text: packed.toString("utf8", textStart), line };
}

function cut(bytes: Buffer, digits: number): string[] {
  const text = bytes.toString("hex");
  return Array.from({ length: text.length / digits }, (_, i) => text.slice(i * digits, (i + 1) * digits));
}
