import { createReadStream, type Stats, statSync } from "node:fs";
import { basename } from "node:path";
import { Readable } from "node:stream";
import { createGunzip } from "node:zlib";
import { InputError } from "../formats/parser.ts";

/** A file or standard input, read as a stream and unpacked if it is gzip. */
export type Input = {
  name: string;
  /** Path, size and time of change of a file, to recognise it; undefined for what can be read only once. */
  identity: string | undefined;
  /** Bytes of the file on disk; undefined for standard input and pipes. */
  size: number | undefined;
  /** How many of these were read so far. */
  bytesRead(): number;
  /** The unpacked bytes. Fails with zlib's error where the packing is damaged. */
  chunks(): AsyncGenerator<Buffer>;
};

const chunkSize = 1024 * 1024;

/** Opens `path`, or standard input for "-". Throws `InputError` when there is no such file. */
export function openInput(path: string, standardInput: Readable): Input {
  const stats = path === "-" ? undefined : fileStats(path);
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
    chunks: () => unpacked(raw()),
  };
}

function fileStats(path: string): Stats {
  const stats = statSync(path, { throwIfNoEntry: false });
  if (stats === undefined) throw new InputError(`There is no file ${JSON.stringify(path)}.`);
  if (stats.isDirectory()) throw new InputError(`${JSON.stringify(path)} is a folder, not a file.`);
  // They may have no end, or wait for ever.
  if (!stats.isFile() && !stats.isFIFO())
    throw new InputError(`${JSON.stringify(path)} is a device, not a file.`);
  return stats;
}

/** How much longer than the packed input the unpacked one may be; and up to how many bytes nobody cares. */
const [highestRatio, unsuspiciousSize] = [100, 16 * 1024 * 1024];

async function* unpacked(raw: AsyncGenerator<Buffer>): AsyncGenerator<Buffer> {
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
 * The first bytes of a stream (`length` of them, or as many as there are) and the whole stream, those bytes included. A
 * stream that fails early fails when `all` comes to that place.
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
