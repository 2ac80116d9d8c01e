import { closeSync, fdatasyncSync, ftruncateSync, openSync, readSync, writeSync } from "node:fs";
import type { LabelBatch } from "../store/database-writer.ts";

/**
 * Labels on their way into a database, parked in one file in 1024 parts by the first bits of their labelhash.
 * Reading them back part by part gives them in the order of their keys, with little memory.
 */
export type Spill = {
  /** Adds the label in `bytes` from `start` to `end`, whose labelhash is `digest`. */
  add(digest: Uint8Array, bytes: Uint8Array, start: number, end: number): void;
  /** All labels, each list in the order of its keys; of equal labels all are given. */
  batches(): Generator<LabelBatch>;
  /** Makes all that was added durable and says how to find it again. */
  checkpoint(): SpillState;
  close(): void;
};

/** Where the parts lie in the file: for each part, offset and length of its pieces in turn. */
export type SpillState = { length: number; parts: number[][] };

const partCount = 1024;
const bufferSize = 16 * 1024;
/** The 52 bits of the key, rounded up to bytes. */
const keyLength = 7;
const headLength = keyLength + 4;
/** Bytes of a part that are read and sorted at once; row numbers of that many bytes fit into 22 bits. */
const sliceSize = 32 * 1024 * 1024;
const batchLength = 4096;

/** Opens the spill file at `path`: an empty one, or the one that `state` describes. */
export function openSpill(path: string, state: SpillState = emptyState()): Spill {
  const file = openSync(path, state.length === 0 ? "w+" : "r+");
  ftruncateSync(file, state.length);
  const { parts } = state;
  const buffers: Buffer[] = [];
  const used = new Uint32Array(partCount);
  let fileLength = state.length;

  const write = (part: number, bytes: Uint8Array) => {
    for (let done = 0; done < bytes.length; ) {
      done += writeSync(file, bytes, done, bytes.length - done, fileLength + done);
    }
    parts[part]?.push(fileLength, bytes.length);
    fileLength += bytes.length;
  };
  const flushPart = (part: number) => {
    const length = used[part] ?? 0;
    if (length === 0) return;
    write(part, (buffers[part] ?? Buffer.alloc(0)).subarray(0, length));
    used[part] = 0;
  };
  const flushAll = () => {
    for (let part = 0; part < partCount; part++) flushPart(part);
  };

  return {
    add: (digest, bytes, start, end) => {
      const part = ((digest[0] ?? 0) << 2) | ((digest[1] ?? 0) >> 6);
      const length = headLength + end - start;
      if ((used[part] ?? 0) + length > bufferSize) flushPart(part);
      if (length > bufferSize) {
        const row = Buffer.allocUnsafe(length);
        writeRow(row, 0, digest, bytes, start, end);
        write(part, row);
        return;
      }
      const buffer = buffers[part] ?? Buffer.allocUnsafeSlow(bufferSize);
      buffers[part] = buffer;
      const at = used[part] ?? 0;
      writeRow(buffer, at, digest, bytes, start, end);
      used[part] = at + length;
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

function emptyState(): SpillState {
  return { length: 0, parts: Array.from({ length: partCount }, () => []) };
}

function writeRow(
  row: Buffer,
  at: number,
  digest: Uint8Array,
  bytes: Uint8Array,
  start: number,
  end: number,
) {
  const length = end - start;
  for (let i = 0; i < keyLength; i++) row[at + i] = digest[i] ?? 0;
  row[at + keyLength] = length;
  row[at + keyLength + 1] = length >> 8;
  row[at + keyLength + 2] = length >> 16;
  row[at + keyLength + 3] = length >> 24;
  const labelAt = at + headLength;
  if (length > 48) row.set(bytes.subarray(start, end), labelAt);
  else for (let i = 0; i < length; i++) row[labelAt + i] = bytes[start + i] ?? 0;
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
