import { closeSync, fdatasyncSync, ftruncateSync, openSync, readSync, writeFileSync } from "node:fs";
import { labelKey } from "../../src/labels/digests.ts";
import type { LabelBatch } from "../store/database.ts";

/**
 * Sorts labels by key on their way into a database, with little memory. It writes them to one file, in 1024 parts by
 * the first bits of their labelhash, then reads and sorts part by part.
 */
export type LabelSorter = ReturnType<typeof openLabelSorter>;

/** Locations of the parts in the file: offset and length of each piece of a part in turn. */
export type SorterState = { length: number; parts: number[][] };

const partCount = 1024;
const bufferSize = 16 * 1024;
/** The 52 bits of the key, rounded up to bytes. */
const keyLength = 7;
const headLength = keyLength + 4;
/** Bytes of a part that are sorted at once: their row numbers fit into 22 bits. */
const sliceSize = 32 * 1024 * 1024;
const batchLength = 4096;

/** Opens a sorter with its file at `path`, empty or as `state` describes it. */
export function openLabelSorter(
  path: string,
  { length, parts }: SorterState = { length: 0, parts: Array.from({ length: partCount }, () => []) },
) {
  const file = openSync(path, "a+");
  ftruncateSync(file, length);
  let fileLength = length;
  // Rows that are not in the file yet: a buffer per part, and its used bytes.
  const pending = Buffer.allocUnsafeSlow(partCount * bufferSize);
  const taken = new Uint32Array(partCount);

  const write = (part: number, bytes: Buffer) => {
    writeFileSync(file, bytes);
    parts[part]?.push(fileLength, bytes.length);
    fileLength += bytes.length;
  };
  const flush = (part: number) => {
    const [start, length] = [part * bufferSize, taken[part] ?? 0];
    if (length > 0) write(part, pending.subarray(start, start + length));
    taken[part] = 0;
  };
  const flushAll = () => {
    for (let part = 0; part < partCount; part++) flush(part);
  };

  return {
    add: (digest: Uint8Array, bytes: Uint8Array, start: number, end: number): void => {
      const part = ((digest[0] ?? 0) << 2) | ((digest[1] ?? 0) >> 6);
      const length = headLength + end - start;
      if ((taken[part] ?? 0) + length > bufferSize) flush(part);
      const isLong = length > bufferSize;
      const rows = isLong ? Buffer.allocUnsafe(length) : pending;
      const rowAt = isLong ? 0 : part * bufferSize + (taken[part] ?? 0);
      // A row is 7 bytes of the labelhash, the label's length in 4 bytes (little-endian), and the label.
      for (let i = 0; i < keyLength; i++) rows[rowAt + i] = digest[i] ?? 0;
      const labelAt = rows.writeUInt32LE(end - start, rowAt + keyLength);
      if (length > 60) rows.set(bytes.subarray(start, end), labelAt);
      else for (let i = start; i < end; i++) rows[labelAt + i - start] = bytes[i] ?? 0;
      if (isLong) write(part, rows);
      else taken[part] = (taken[part] ?? 0) + length;
    },
    /** All labels in the order of their keys, repeated as often as they were added. */
    batches: function* (): Generator<LabelBatch> {
      flushAll();
      for (const pieces of parts) {
        for (const slice of readSlices(file, pieces)) yield* sortBatches(slice);
      }
    },
    /** Flushes what was added to disk, and returns its location. */
    checkpoint: (): SorterState => {
      flushAll();
      fdatasyncSync(file);
      return { length: fileLength, parts };
    },
    close: () => closeSync(file),
  };
}

function* readSlices(file: number, pieces: number[]): Generator<Buffer> {
  for (let next = 0; next < pieces.length; ) {
    const slice: Buffer[] = [];
    for (let length = 0; next < pieces.length && length < sliceSize; next += 2) {
      const [offset = 0, size = 0] = [pieces[next], pieces[next + 1]];
      const piece = Buffer.allocUnsafe(size);
      if (readSync(file, piece, 0, size, offset) < size) {
        throw new Error("The temporary file of the ingest is shorter than it was written.");
      }
      slice.push(piece);
      length += size;
    }
    yield Buffer.concat(slice);
  }
}

/** Rows of a slice, sorted by key. They share the first 10 bits of their keys. */
function* sortBatches(slice: Buffer): Generator<LabelBatch> {
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
      batch.keys.push(labelKey(slice, at));
      batch.labels.push(slice.toString("utf8", labelAt, labelAt + slice.readUInt32LE(at + keyLength)));
    }
    yield batch;
  }
}
