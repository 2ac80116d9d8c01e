import {
  closeSync,
  constants,
  createReadStream,
  ftruncateSync,
  readFileSync,
  readSync,
  renameSync,
  rmSync,
  type Stats,
  statSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { basename, join } from "node:path";
import { Readable } from "node:stream";
import { createGunzip } from "node:zlib";
import { type FormatName, formatOf } from "../formats/formats.ts";
import { type Checkpoint, InputError, startOfInput } from "../formats/parser.ts";
import { createFile, reopenFile } from "../store/database.ts";
import { type LabelSorter, openLabelSorter, type SorterState } from "./label-sorter.ts";
import type { Progress } from "./progress.ts";
import { createRowVerifier, noRows, type Remark, type RowCounts } from "./verify-rows.ts";

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

/** What a later process needs to resume where this one stopped. */
type Manifest = {
  task: string;
  checkpoint: Checkpoint;
  counts: RowCounts;
  rejectsLength: number;
  spill: SorterState;
  isComplete: boolean;
};

export type ReadOptions = {
  input: Input;
  /** The input's unpacked bytes from its beginning. */
  chunks: AsyncGenerator<Buffer>;
  format: FormatName;
  /** Where everything is kept until the rows are in the database. */
  folder: string;
  /** Names what is done; only work on the same task is resumed. */
  task: string;
  skipInvalid: boolean;
  /** Unpacked bytes between two points from which a killed process resumes. */
  checkpointBytes: number;
  progress: Progress;
  onIgnored: (remark: Remark) => void;
  onResume: (rows: number) => void;
};

/** The rows of an input, ready to be written. */
export type ReadRows = { sorter: LabelSorter; counts: RowCounts; hasRejects: boolean };

/**
 * Reads and verifies all rows of an input and collects their labels in a sorter; resumes from the last checkpoint in
 * `folder` if it is of the same `task`. Throws `InvalidRowsError` after the whole input was read, unless `skipInvalid`.
 */
export async function readInput(options: ReadOptions): Promise<ReadRows> {
  const { input, folder, task, skipInvalid } = options;
  const manifestPath = join(folder, "manifest.json");
  const resumed = input.identity === undefined ? undefined : readManifest(manifestPath, task);
  if (resumed === undefined) rmSync(manifestPath, { force: true });
  else options.onResume(resumed.counts.accepted);
  const counts = { ...(resumed?.counts ?? noRows) };
  const rejects = openRejects(join(folder, "rejects.txt"), resumed?.rejectsLength ?? 0);
  const sorter = openLabelSorter(join(folder, "spill"), resumed?.spill);

  if (resumed?.isComplete !== true) {
    await readRows(options, { sorter, counts, rejects, from: resumed?.checkpoint ?? startOfInput }, (state) =>
      writeManifest(manifestPath, { task, counts, ...state }),
    );
  }
  const first = rejects.first();
  rejects.close();
  if (counts.invalid > 0 && !skipInvalid) {
    sorter.close();
    throw new InvalidRowsError(counts, first);
  }
  return { sorter, counts, hasRejects: counts.invalid > 0 };
}

type Targets = { sorter: LabelSorter; counts: RowCounts; rejects: Rejects; from: Checkpoint };

async function readRows(
  { input, chunks, format, skipInvalid, checkpointBytes, progress, onIgnored }: ReadOptions,
  { sorter, counts, rejects, from }: Targets,
  save: (state: Omit<Manifest, "task" | "counts">) => void,
): Promise<void> {
  const position = () => parser.position();
  const sink = createRowVerifier({ sorter, counts, position, onInvalid: rejects.add, onIgnored });
  const parser = formatOf(format).createParser(sink, from);
  const saveAs = (isComplete: boolean) =>
    save({
      checkpoint: parser.checkpoint(),
      rejectsLength: rejects.length(),
      spill: sorter.checkpoint(),
      isComplete,
    });
  let unread = from.offset;
  let sinceCheckpoint = 0;
  try {
    for await (const chunk of chunks) {
      const skipped = Math.min(unread, chunk.length);
      unread -= skipped;
      if (skipped === chunk.length) continue;
      parser.push(skipped === 0 ? chunk : chunk.subarray(skipped));
      progress.report("reading", counts.accepted, input.size && input.bytesRead() / input.size);
      sinceCheckpoint += chunk.length;
      if (sinceCheckpoint < checkpointBytes) continue;
      saveAs(false);
      sinceCheckpoint = 0;
    }
  } catch (error) {
    if (!isDamage(error)) throw error;
    sink.invalid(`the packed input is damaged or cut off from here on: ${(error as Error).message}`);
  }
  await parser.end();
  if (counts.invalid === 0 || skipInvalid) saveAs(true);
}

/** Whether zlib failed because of its input. */
function isDamage(error: unknown): boolean {
  return error instanceof Error && "code" in error && /^Z_/.test(String(error.code));
}

const shownRejects = 5;
/** Bytes after which the list of invalid rows ends: it may need fifty times as much room as the rows. */
const longestRejects = 64 * 1024 * 1024;

type Rejects = ReturnType<typeof openRejects>;

function openRejects(path: string, length: number) {
  const file = length === 0 ? createFile(path) : reopenFile(path);
  ftruncateSync(file, length);
  let written = length;
  return {
    add: (remark: Remark) => {
      if (written >= longestRejects) return;
      written += writeSync(file, `${remark.position}: ${remark.reason}\n`, written);
      if (written >= longestRejects) written += writeSync(file, "Further rows are not listed.\n", written);
    },
    /** The first lines, those from before a resumption included. */
    first: () => {
      const head = Buffer.alloc(8192);
      const lines = head.toString("utf8", 0, readSync(file, head, 0, head.length, 0)).split("\n");
      return lines.slice(0, Math.min(shownRejects, lines.length - 1));
    },
    length: () => written,
    close: () => closeSync(file),
  };
}

function readManifest(path: string, task: string): Manifest | undefined {
  try {
    const manifest: Manifest = JSON.parse(
      readFileSync(path, { encoding: "utf8", flag: constants.O_RDONLY | constants.O_NOFOLLOW }),
    );
    return manifest.task === task ? manifest : undefined;
  } catch {
    // No manifest, or an unfinished one: reading from the beginning is always right.
    return undefined;
  }
}

function writeManifest(path: string, manifest: Manifest): void {
  const file = createFile(`${path}.new`);
  writeFileSync(file, JSON.stringify(manifest), { flush: true });
  closeSync(file);
  renameSync(`${path}.new`, path);
}

/** Some rows of the input are not labels; nothing was used. */
class InvalidRowsError extends InputError {
  override name = "InvalidRowsError";
  constructor({ accepted, invalid, ignored }: RowCounts, first: readonly string[]) {
    const all = (accepted + invalid + ignored).toLocaleString("en-US");
    super(
      `${invalid.toLocaleString("en-US")} of ${all} rows are invalid, so nothing was ingested (--skip-invalid leaves them out): ` +
        `${first.join("; ")}${invalid > first.length ? "; …" : ""}`,
    );
  }
}
