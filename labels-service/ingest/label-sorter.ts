import { closeSync, fdatasyncSync, ftruncateSync, readSync, writeSync } from "node:fs";
import { createFile, type LabelBatch, reopenFile } from "../store/database.ts";

/**
 * Sorts labels by key on their way into a database, with little memory: they are written to one file, in 1024 parts by
 * the first bits of their labelhash, and read back and sorted part by part.
 */
export type LabelSorter = {
  /** Adds the label in `bytes` from `start` to `end`, whose labelhash is `digest`. */
  add(digest: Uint8Array, bytes: Uint8Array, start: number, end: number): void;
  /** All labels in the order of their keys, repeated ones as often as they were added. */
  batches(): Generator<LabelBatch>;
  /** Makes durable what was added, and returns where it is. */
  checkpoint(): SorterState;
  close(): void;
};

/** Where the parts are in the file: for each part, offset and length of its pieces in turn. */
export type SorterState = { length: number; parts: number[][] };

const partCount = 1024;
const bufferSize = 16 * 1024;
/** The 52 bits of the key, rounded up to bytes. */
const keyLength = 7;
const headLength = keyLength + 4;
/** Bytes of a part that are read and sorted at once: their row numbers fit into 22 bits. */
const sliceSize = 32 * 1024 * 1024;
const batchLength = 4096;

/** Opens a sorter with its file at `path`: an empty one, or the one that `state` describes. */
export function openLabelSorter(path: string, state: SorterState = emptyState()): LabelSorter {
  const file = state.length === 0 ? createFile(path) : reopenFile(path);
  ftruncateSync(file, state.length);
  const { parts } = state;
  const pending: Rows[] = Array.from({ length: partCount }, () => ({ bytes: noBytes, length: 0 }));
  let fileLength = state.length;

  const write = (part: number, bytes: Uint8Array) => {
    for (let done = 0; done < bytes.length; ) {
      done += writeSync(file, bytes, done, bytes.length - done, fileLength + done);
    }
    parts[part]?.push(fileLength, bytes.length);
    fileLength += bytes.length;
  };
  const flushPart = (part: number, rows: Rows) => {
    if (rows.length === 0) return;
    write(part, rows.bytes.subarray(0, rows.length));
    rows.length = 0;
  };
  const flushAll = () => {
    for (const [part, rows] of pending.entries()) flushPart(part, rows);
  };

  return {
    add: (digest, bytes, start, end) => {
      const part = ((digest[0] ?? 0) << 2) | ((digest[1] ?? 0) >> 6);
      const length = headLength + end - start;
      let rows = pending[part] ?? { bytes: noBytes, length: 0 };
      if (rows.length + length > bufferSize) flushPart(part, rows);
      if (length > bufferSize) rows = { bytes: Buffer.allocUnsafe(length), length: 0 };
      else if (rows.bytes === noBytes) rows.bytes = Buffer.allocUnsafeSlow(bufferSize);
      addHead(rows, digest, end - start);
      addLabel(rows, bytes, start, end);
      if (length > bufferSize) flushPart(part, rows);
    },
    batches: function* () {
      flushAll();
      for (const pieces of parts) {
        for (const slice of slices(file, pieces)) yield* sortedBatches(slice);
      }
    },
    checkpoint: () => {
      flushAll();
      fdatasyncSync(file);
      return { length: fileLength, parts };
    },
    close: () => closeSync(file),
  };
}

function emptyState(): SorterState {
  return { length: 0, parts: Array.from({ length: partCount }, () => []) };
}

/** Rows one after another: 7 bytes of the labelhash, the label's length in 4 bytes, little-endian, and the label. */
type Rows = { bytes: Buffer; length: number };

const noBytes = Buffer.alloc(0);

function addHead(rows: Rows, digest: Uint8Array, labelLength: number): void {
  const { bytes, length } = rows;
  for (let i = 0; i < keyLength; i++) bytes[length + i] = digest[i] ?? 0;
  bytes[length + keyLength] = labelLength;
  bytes[length + keyLength + 1] = labelLength >> 8;
  bytes[length + keyLength + 2] = labelLength >> 16;
  bytes[length + keyLength + 3] = labelLength >> 24;
  rows.length = length + headLength;
}

function addLabel(rows: Rows, source: Uint8Array, start: number, end: number): void {
  const { bytes, length } = rows;
  const labelLength = end - start;
  if (labelLength > 48) bytes.set(source.subarray(start, end), length);
  else for (let i = 0; i < labelLength; i++) bytes[length + i] = source[start + i] ?? 0;
  rows.length = length + labelLength;
}

function* slices(file: number, pieces: number[]): Generator<Buffer> {
  for (let next = 0; next < pieces.length; ) {
    let length = 0;
    const first = next;
    do {
      length += pieces[next + 1] ?? 0;
      next += 2;
    } while (next < pieces.length && length + (pieces[next + 1] ?? 0) <= sliceSize);
    const slice = Buffer.allocUnsafe(length);
    for (let piece = first, at = 0; piece < next; piece += 2) {
      const [offset = 0, size = 0] = [pieces[piece], pieces[piece + 1]];
      readExactly(file, slice.subarray(at, at + size), offset);
      at += size;
    }
    yield slice;
  }
}

function readExactly(file: number, target: Buffer, offset: number): void {
  for (let done = 0; done < target.length; ) {
    const count = readSync(file, target, done, target.length - done, offset + done);
    if (count === 0) throw new Error("The temporary file of the ingest is shorter than it was written.");
    done += count;
  }
}

/** The rows of one slice, sorted by key; rows of a slice share the first 10 bits of their key. */
function* sortedBatches(slice: Buffer): Generator<LabelBatch> {
  const offsets: number[] = [];
  for (let at = 0; at < slice.length; at += headLength + slice.readUInt32LE(at + keyLength)) offsets.push(at);

  // 42 bits of the key, then 22 bits of row number, sorted as 64-bit integers.
  const order = new BigUint64Array(offsets.length);
  const halves = new Uint32Array(order.buffer);
  for (const [row, at] of offsets.entries()) {
    const middle = slice.readUInt32BE(at + 2);
    halves[2 * row + 1] = ((slice[at + 1] ?? 0) << 26) | (middle >>> 6);
    halves[2 * row] = ((middle & 0x3f) << 26) | (((slice[at + 6] ?? 0) >> 4) << 22) | row;
  }
  order.sort();

  for (let start = 0; start < order.length; start += batchLength) {
    const end = Math.min(start + batchLength, order.length);
    const batch: LabelBatch = { keys: [], labels: [] };
    for (let i = start; i < end; i++) {
      const at = offsets[(halves[2 * i] ?? 0) & 0x3fffff] ?? 0;
      const labelAt = at + headLength;
      batch.keys.push(keyAt(slice, at));
      batch.labels.push(slice.toString("utf8", labelAt, labelAt + slice.readUInt32LE(at + keyLength)));
    }
    yield batch;
  }
}

function keyAt(slice: Buffer, at: number): number {
  const low = (slice.readUInt16BE(at + 4) << 4) | ((slice[at + 6] ?? 0) >> 4);
  return slice.readUInt32BE(at) * 2 ** 20 + low;
}
