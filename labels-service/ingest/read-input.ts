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
import { createCsvParser } from "../formats/csv.ts";
import { createEnsrainbowParser } from "../formats/ensrainbow.ts";
import type { Format } from "../formats/formats.ts";
import {
  type Checkpoint,
  InputError,
  type LabelParser,
  type RowSink,
  startOfInput,
} from "../formats/parser.ts";
import { createSqlDumpParser } from "../formats/sql-dump.ts";
import { createTextParser } from "../formats/text.ts";
import { openSpill, type Spill, type SpillState } from "./label-sorter.ts";
import type { Input } from "./open-input.ts";
import type { Progress } from "./progress.ts";
import { createIntake, type IntakeCounts, noRows, type Remark } from "./verify-rows.ts";

/** What a later process needs to go on where this one stopped. */
type Manifest = {
  task: string;
  checkpoint: Checkpoint;
  counts: IntakeCounts;
  rejectsLength: number;
  spill: SpillState;
  isComplete: boolean;
};

const parsers: Record<Format, (sink: RowSink, from: Checkpoint) => LabelParser> = {
  sql: createSqlDumpParser,
  ensrainbow: createEnsrainbowParser,
  csv: createCsvParser,
  text: createTextParser,
};

const shownRejects = 5;

/**
 * Reads, checks and parks all rows of an input; goes on from the last checkpoint in `folder` if it is of the
 * same `task`. Throws `InvalidRowsError` after the whole input was read, unless `skipInvalid`.
 */
export async function takeIn({
  input,
  chunks,
  format,
  folder,
  task,
  skipInvalid,
  checkpointBytes,
  progress,
  onIgnored,
  onResume,
}: {
  input: Input;
  chunks: AsyncGenerator<Buffer>;
  format: Format;
  folder: string;
  task: string;
  skipInvalid: boolean;
  checkpointBytes: number;
  progress: Progress;
  onIgnored: (remark: Remark) => void;
  onResume: (rows: number) => void;
}): Promise<{ spill: Spill; counts: IntakeCounts; hasRejects: boolean }> {
  const manifestPath = join(folder, "manifest.json");
  const resumed = input.identity === undefined ? undefined : readManifest(manifestPath, task);
  if (resumed === undefined) rmSync(manifestPath, { force: true });
  else onResume(resumed.counts.accepted);
  const counts = { ...(resumed?.counts ?? noRows) };
  const rejects = openRejects(join(folder, "rejects.txt"), resumed?.rejectsLength ?? 0);
  const spill = openSpill(join(folder, "spill"), resumed?.spill);

  if (resumed?.isComplete !== true) {
    const sink = createIntake({
      spill,
      counts,
      position: () => parser.position(),
      onInvalid: rejects.add,
      onIgnored,
    });
    const parser = parsers[format](sink, resumed?.checkpoint ?? startOfInput);
    const save = (isComplete: boolean) =>
      writeManifest(manifestPath, {
        task,
        checkpoint: parser.checkpoint(),
        counts,
        rejectsLength: rejects.length(),
        spill: spill.checkpoint(),
        isComplete,
      });
    let unread = resumed?.checkpoint.offset ?? 0;
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
        save(false);
        sinceCheckpoint = 0;
      }
    } catch (error) {
      if (!isDamage(error)) throw error;
      sink.invalid(`the packed input is damaged or cut off from here on: ${(error as Error).message}`);
    }
    await parser.end();
    if (counts.invalid === 0 || skipInvalid) save(true);
  }
  const first = rejects.first();
  rejects.close();
  if (counts.invalid > 0 && !skipInvalid) {
    spill.close();
    throw new InvalidRowsError(counts, first);
  }
  return { spill, counts, hasRejects: counts.invalid > 0 };
}

/** Whether zlib failed at its input. */
function isDamage(error: unknown): boolean {
  return error instanceof Error && "code" in error && /^Z_/.test(String(error.code));
}

function openRejects(path: string, length: number) {
  const file = openSync(path, "a+");
  ftruncateSync(file, length);
  let written = length;
  return {
    add: (remark: Remark) => {
      written += writeSync(file, `${remark.position}: ${remark.reason}\n`);
    },
    /** The first lines; those of before a resumption too. */
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
    const manifest: Manifest = JSON.parse(readFileSync(path, "utf8"));
    return manifest.task === task ? manifest : undefined;
  } catch {
    // No manifest, or one that was being written: reading starts anew, which is always right.
    return undefined;
  }
}

function writeManifest(path: string, manifest: Manifest): void {
  writeFileSync(`${path}.new`, JSON.stringify(manifest), { flush: true });
  renameSync(`${path}.new`, path);
}

/** Rows of the input are no labels; none of it was used. */
export class InvalidRowsError extends InputError {
  override name = "InvalidRowsError";
  constructor({ accepted, invalid, ignored }: IntakeCounts, first: readonly string[]) {
    const all = (accepted + invalid + ignored).toLocaleString("en-US");
    super(
      `${invalid.toLocaleString("en-US")} of ${all} rows are invalid, so nothing was ingested (--skip-invalid leaves them out): ` +
        `${first.join("; ")}${invalid > first.length ? "; …" : ""}`,
    );
  }
}
