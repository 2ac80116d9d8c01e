import { isUtf8 } from "node:buffer";
import {
  closeSync,
  ftruncateSync,
  openSync,
  readFileSync,
  readSync,
  renameSync,
  rmSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import { computeDigest, keccak256 } from "../../src/ens/keccak.ts";
import { isSameDigest } from "../../src/labels/digests.ts";
import { escapeControls } from "../../src/log/json-log.ts";
import type { Output, ReportProgress } from "../../src/log/progress-log.ts";
import { type FormatName, formats } from "../formats/formats.ts";
import { InputError, type LabelParser, type RowSink } from "../formats/parser.ts";
import { type LabelSorter, openLabelSorter, type SorterState } from "./label-sorter.ts";
import type { Input } from "./read-input.ts";

/** Rows so far by result, and accepted labels that end in a carriage return. */
export type RowCounts = {
  accepted: number;
  invalid: number;
  ignored: number;
  endingInCarriageReturn: number;
};

/** State from which a later process resumes. */
type Manifest = {
  /** Only work on the same task is resumed. */
  task: string;
  counts: RowCounts;
  rejectsLength: number;
  spill: SorterState;
};

export type ReadOptions = {
  input: Input;
  chunks: AsyncGenerator<Buffer>;
  format: FormatName;
  /** Folder of all files until the rows are in the database. */
  folder: string;
  task: string;
  /** Invalid rows that are left out and listed. One more fails the ingest. */
  invalidAllowed: number;
  /** Unpacked bytes between two checkpoints, from which a killed process resumes. */
  checkpointBytes: number;
  progress: ReportProgress;
  stderr: Output;
};

/** The rows of an input, ready to be written. */
export type ReadRows = { sorter: LabelSorter; counts: RowCounts };

/**
 * Reads and verifies all rows of an input, and collects their labels in a sorter. Rows before the last checkpoint of
 * the same `task` in `folder` are only parsed. Throws an `InputError` for invalid rows after it has read all of them,
 * if there are more than `invalidAllowed`.
 */
export async function readRows(options: ReadOptions): Promise<ReadRows> {
  const { input, folder, task, invalidAllowed, stderr } = options;
  const manifestPath = join(folder, "manifest.json");
  const resumed = input.identity === undefined ? undefined : readManifest(manifestPath, task);
  const counts = resumed?.counts ?? { accepted: 0, invalid: 0, ignored: 0, endingInCarriageReturn: 0 };
  if (resumed === undefined) rmSync(manifestPath, { force: true });
  else
    stderr.write(`Resuming after ${counts.accepted.toLocaleString("en-US")} rows that were read before.\n`);
  const rejects = openRejects(join(folder, "rejects.txt"), resumed?.rejectsLength ?? 0);
  const sorter = openLabelSorter(join(folder, "spill"), resumed?.spill);
  const verifier = createRowVerifier({ sorter, counts, position: () => parser.position(), rejects, stderr });
  const sink = skipRows(counts.accepted + counts.invalid + counts.ignored, verifier);
  const parser = formats[options.format].createParser(sink);
  const save = () =>
    writeManifest(manifestPath, {
      task,
      counts,
      rejectsLength: rejects.length(),
      spill: sorter.checkpoint(),
    });

  await parseAll(options, parser, { sink, counts, save });
  save();
  const first = rejects.first();
  rejects.close();
  if (counts.invalid > invalidAllowed) {
    sorter.close();
    throw createInvalidRowsError(counts, first);
  }
  return { sorter, counts };
}

async function parseAll(
  { input, chunks, checkpointBytes, progress }: ReadOptions,
  parser: LabelParser,
  { sink, counts, save }: { sink: RowSink; counts: RowCounts; save: () => void },
): Promise<void> {
  let sinceCheckpoint = 0;
  try {
    for await (const chunk of chunks) {
      parser.push(chunk);
      progress("reading", counts.accepted, input.size && input.bytesRead() / input.size);
      sinceCheckpoint += chunk.length;
      if (sinceCheckpoint < checkpointBytes) continue;
      save();
      sinceCheckpoint = 0;
    }
  } catch (error) {
    // zlib failed because of its input.
    const isDamage = error instanceof Error && "code" in error && /^Z_/.test(String(error.code));
    if (!isDamage) throw error;
    sink.invalid(`the packed input is damaged or cut off from here on: ${error.message}`);
  }
  parser.end();
}

/** The sink without the first rows, which were verified before: a parser returns the same rows each time. */
function skipRows(count: number, sink: RowSink): RowSink {
  if (count === 0) return sink;
  let left = count;
  const isNew = () => left-- <= 0;
  return {
    label: (...row) => void (isNew() && sink.label(...row)),
    invalid: (reason) => void (isNew() && sink.invalid(reason)),
    ignored: (reason) => void (isNew() && sink.ignored(reason)),
  };
}

type Verifier = {
  sorter: Pick<LabelSorter, "add">;
  counts: RowCounts;
  position: LabelParser["position"];
  rejects: { add(line: string): void };
  stderr: Output;
};

/**
 * Verifies and counts each row: the label must be valid UTF-8, and a given labelhash its keccak-256. Adds labels to the
 * sorter, and lists invalid rows.
 */
function createRowVerifier({ sorter, counts, position, rejects, stderr }: Verifier): RowSink {
  const invalid = (reason: string) => {
    counts.invalid++;
    rejects.add(`${position()}: ${reason}\n`);
  };

  return {
    label: (bytes, start, end, given) => {
      if (!isAscii(bytes, start, end) && !isUtf8(bytes.subarray(start, end))) {
        invalid("the label is not valid UTF-8");
        return;
      }
      const digest = computeDigest(bytes.subarray(start, end));
      if (given !== undefined && !isSameDigest(digest, given)) {
        const label = escapeControls(
          JSON.stringify(bytes.toString("utf8", start, Math.min(end, start + 200))),
        );
        invalid(
          `the labelhash is not that of the label ${label}, which has ${keccak256(bytes.subarray(start, end))}`,
        );
        return;
      }
      counts.accepted++;
      if (end > start && bytes[end - 1] === 0x0d) counts.endingInCarriageReturn++;
      sorter.add(digest, bytes, start, end);
    },
    invalid,
    ignored: (reason) => {
      counts.ignored++;
      stderr.write(`Ignored ${position()}: ${reason}.\n`);
    },
  };
}

function isAscii(bytes: Buffer, start: number, end: number): boolean {
  let bits = 0;
  for (let i = start; i < end; i++) bits |= bytes[i] ?? 0;
  return bits < 0x80;
}

const shownRejects = 5;
/** Bytes after which the list of invalid rows ends. It may need fifty times the space of the rows. */
const longestRejects = 64 * 1024 * 1024;

function openRejects(path: string, length: number) {
  const file = openSync(path, "a+");
  ftruncateSync(file, length);
  let [written, pending] = [length, ""];
  const flush = () => {
    writeSync(file, pending);
    pending = "";
  };
  const append = (text: string) => {
    pending += text;
    written += Buffer.byteLength(text);
    if (pending.length > 65_536) flush();
  };
  return {
    add: (line: string) => {
      if (written >= longestRejects) return;
      append(line);
      if (written >= longestRejects) append("Further rows are not listed.\n");
    },
    /** The first lines, including those from before a resumption. */
    first: () => {
      flush();
      const head = Buffer.alloc(8192);
      const lines = head.toString("utf8", 0, readSync(file, head, 0, head.length, 0)).split("\n");
      return lines.slice(0, Math.min(shownRejects, lines.length - 1));
    },
    /** Bytes in the file, which has all lines then. */
    length: () => {
      flush();
      return written;
    },
    close: () => closeSync(file),
  };
}

function readManifest(path: string, task: string): Manifest | undefined {
  try {
    const manifest: Manifest = JSON.parse(readFileSync(path, "utf8"));
    return manifest.task === task ? manifest : undefined;
  } catch {
    // Without a complete manifest, reading from the beginning is always right.
    return undefined;
  }
}

function writeManifest(path: string, manifest: Manifest): void {
  writeFileSync(`${path}.new`, JSON.stringify(manifest), { flush: true });
  renameSync(`${path}.new`, path);
}

function createInvalidRowsError(
  { accepted, invalid, ignored }: RowCounts,
  first: readonly string[],
): InputError {
  const [some, all] = [invalid, accepted + invalid + ignored].map((count) => count.toLocaleString("en-US"));
  return new InputError(
    `${some} of ${all} rows are invalid, so nothing was ingested (ingest --skip-invalid leaves them out): ` +
      `${first.join("; ")}${invalid > first.length ? "; …" : ""}`,
  );
}
