import { createReadStream, type Stats, statSync } from "node:fs";
import { basename } from "node:path";
import { Readable } from "node:stream";
import { createGunzip } from "node:zlib";
import { InputError } from "../formats/parser.ts";

/** A file or standard input as a stream, unpacked if it is gzip. */
export type Input = {
  name: string;
  /** Path, size, modification time and inode of a file; undefined for input that can be read only once. */
  identity: string | undefined;
  /** Bytes of the file on disk; undefined for standard input and pipes. */
  size: number | undefined;
  bytesRead(): number;
  /** Unpacked bytes. Fails with zlib's error if the packing is damaged. */
  chunks(): AsyncGenerator<Buffer>;
};

const chunkSize = 1024 * 1024;

/** Opens `path`, or standard input for "-". Throws an `InputError` if it is absent, a folder or a device. */
export function openInput(path: string, standardInput: Readable): Input {
  const stats = path === "-" ? undefined : readFileStats(path);
  let read = 0;
  const raw = async function* () {
    const stream = stats ? createReadStream(path, { highWaterMark: chunkSize }) : standardInput;
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      read += chunk.length;
      yield chunk;
    }
  };
  return {
    name: stats ? basename(path) : "standard input",
    identity: stats?.isFile() ? `${path} ${stats.size} ${stats.mtimeMs} ${stats.ino}` : undefined,
    size: stats?.isFile() ? stats.size : undefined,
    bytesRead: () => read,
    chunks: () => unpack(raw()),
  };
}

function readFileStats(path: string): Stats {
  const stats = statSync(path, { throwIfNoEntry: false });
  if (stats === undefined) throw new InputError(`There is no file ${JSON.stringify(path)}.`);
  if (stats.isDirectory()) throw new InputError(`${JSON.stringify(path)} is a folder, not a file.`);
  // A device may have no end, or block indefinitely.
  if (!stats.isFile() && !stats.isFIFO())
    throw new InputError(`${JSON.stringify(path)} is a device, not a file.`);
  return stats;
}

/** Highest ratio of unpacked to packed bytes, and the unpacked size up to which any ratio is fine. */
const [highestRatio, unsuspiciousSize] = [100, 16 * 1024 * 1024];

async function* unpack(raw: AsyncGenerator<Buffer>): AsyncGenerator<Buffer> {
  const { head, all } = await peek(raw, 2);
  if (head[0] !== 0x1f || head[1] !== 0x8b) {
    yield* all;
    return;
  }
  const gunzip = createGunzip({ chunkSize });
  const packed = Readable.from(all, { objectMode: false, highWaterMark: chunkSize });
  packed.on("error", (error) => gunzip.destroy(error)).pipe(gunzip);
  try {
    let length = 0;
    for await (const chunk of gunzip as AsyncIterable<Buffer>) {
      length += chunk.length;
      if (length > unsuspiciousSize && length > highestRatio * gunzip.bytesWritten) {
        throw new InputError(
          `The packed input unpacks to more than ${highestRatio} times its size; no list of labels does.`,
        );
      }
      yield chunk;
    }
  } finally {
    packed.destroy();
  }
}

/**
 * First `length` bytes of a stream, fewer if it is shorter, and the whole stream with them. If the stream fails early,
 * `all` fails at that place.
 */
export async function peek(
  chunks: AsyncGenerator<Buffer>,
  length: number,
): Promise<{ head: Buffer; all: AsyncGenerator<Buffer> }> {
  const parts: Buffer[] = [];
  let failure: { error: unknown } | undefined;
  try {
    for (let have = 0; have < length; ) {
      const { value, done } = await chunks.next();
      if (done) break;
      parts.push(value);
      have += value.length;
    }
  } catch (error) {
    failure = { error };
  }
  const all = async function* () {
    yield* parts;
    if (failure !== undefined) throw failure.error;
    yield* chunks;
  };
  return { head: Buffer.concat(parts), all: all() };
}
