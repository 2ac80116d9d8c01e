import { existsSync, lstatSync, mkdirSync, renameSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import Database from "better-sqlite3";
import {
  type LabelSetFacts,
  type LabelSetPin,
  labelSetIdPattern,
  labelSetIdRule,
} from "../../src/labels/label-set.ts";
import { countNoun } from "../../src/log/json-log.ts";
import { createProgressLog, type ReportProgress } from "../../src/log/progress-log.ts";
import { detectFormat, detectionLength, type FormatName, formats } from "../formats/formats.ts";
import { InputError } from "../formats/parser.ts";
import {
  createLabelDatabase,
  extendLabelDatabase,
  flush,
  type LabelDatabaseWriter,
  readDatabase,
} from "../store/database.ts";
import { peek } from "./read-input.ts";
import { type ReadOptions, type ReadRows, type RowCounts, readRows } from "./read-rows.ts";

export type IngestOptions = Pick<ReadOptions, "input" | "invalidAllowed" | "checkpointBytes" | "stderr"> & {
  databasePath: string;
  /** Both are optional for formats whose files name them. */
  labelSetId?: string | undefined;
  labelSetVersion?: number | undefined;
  format?: FormatName | undefined;
  /** Labels that the version must add, if they are known. */
  records?: number | undefined;
  /** SHA-256 of the file in hexadecimal; the database keeps it if given. */
  sha256?: string | undefined;
  now: () => Date;
};

export type IngestReport = {
  format: FormatName;
  facts: LabelSetFacts;
  counts: RowCounts;
  added: number;
  /** List of the invalid rows, if there are any. */
  rejectsPath: string | undefined;
};

/**
 * Adds a label set version to the label database at `databasePath`. Builds the new database beside it and renames it at
 * the end, so that all of it appears or nothing, and reuses what was read before a crash. Throws an `InputError` for
 * unusable input, and an error for a version out of sequence.
 */
export async function ingest(options: IngestOptions): Promise<IngestReport> {
  const chunks = options.input.chunks();
  try {
    return await ingestChunks(options, chunks);
  } finally {
    await chunks.return(undefined);
  }
}

async function ingestChunks(options: IngestOptions, chunks: AsyncGenerator<Buffer>): Promise<IngestReport> {
  const progress = createProgressLog(options.stderr);
  const { head, all } = await peek(chunks, detectionLength);
  const format = options.format ?? detectFormat(head, options.input.name);
  const labelSet = chooseLabelSet(options, format, head);
  const base = existsSync(options.databasePath)
    ? readDatabase(options.databasePath, ({ facts }) => facts)
    : undefined;
  checkSequence(labelSet, base);

  const folder = ingestFolder(options.databasePath);
  const unlock = lockFolder(folder);
  try {
    const { labelSetId, labelSetVersion } = labelSet;
    const rows = await readRows({
      ...options,
      ...{ progress, chunks: all, format, folder },
      task: [options.input.identity, labelSetId, labelSetVersion, format, options.invalidAllowed].join(" "),
    });
    const { sorter, counts } = rows;
    const nextPath = join(folder, "next.sqlite");
    const writer = base
      ? extendLabelDatabase(nextPath, options.databasePath, base)
      : createLabelDatabase(nextPath, labelSetId);
    write(writer, rows, progress);
    const facts = writer.finish(options.now(), options.sha256);
    sorter.close();
    const added = facts.recordsCount - (base?.recordsCount ?? 0);
    if (options.records !== undefined && options.records !== added)
      throw new InputError(
        `The file has ${countNoun(added, "new label")}, not ${options.records.toLocaleString("en-US")}, so nothing was ingested.`,
      );
    const rejectsPath = join(dirname(options.databasePath), `${labelSetId}_${labelSetVersion}.rejects.txt`);
    const hasRejects = counts.invalid > 0;
    if (hasRejects) renameSync(join(folder, "rejects.txt"), rejectsPath);
    renameSync(nextPath, options.databasePath);
    flush(dirname(options.databasePath));
    rmSync(folder, { recursive: true });
    return {
      format,
      facts,
      counts,
      added,
      rejectsPath: hasRejects ? rejectsPath : undefined,
    };
  } catch (error) {
    // Other errors, such as a full disk, may be temporary: the next try reuses what was read.
    if (error instanceof InputError) rmSync(folder, { recursive: true });
    throw error;
  } finally {
    unlock();
  }
}

function chooseLabelSet(
  { labelSetId: id, labelSetVersion: version }: IngestOptions,
  format: FormatName,
  head: Buffer,
): LabelSetPin {
  const named = formats[format].labelSetOf?.(head);
  const [labelSetId, labelSetVersion] = [id ?? named?.labelSetId, version ?? named?.labelSetVersion];
  if (labelSetId === undefined || labelSetVersion === undefined) {
    throw new Error("--label-set-id and --label-set-version are needed: only .ensrainbow files name them.");
  }
  if (!labelSetIdPattern.test(labelSetId)) {
    throw new Error(`"${labelSetId}" is not a label set id: it has ${labelSetIdRule}.`);
  }
  if (named && (named.labelSetId !== labelSetId || named.labelSetVersion !== labelSetVersion)) {
    throw new Error(
      `The file is version ${named.labelSetVersion} of "${named.labelSetId}", not version ${labelSetVersion} of "${labelSetId}".`,
    );
  }
  return { labelSetId, labelSetVersion };
}

/** Throws unless a version can be added to a database with `base`; undefined if there is no database. */
export function checkSequence({ labelSetId, labelSetVersion }: LabelSetPin, base: LabelSetFacts | undefined) {
  if (base === undefined) {
    if (labelSetVersion === 0) return;
    throw new Error(
      `There is no database yet, so only version 0 can be ingested, not version ${labelSetVersion}.`,
    );
  }
  if (base.labelSetId !== labelSetId) {
    throw new Error(
      `The database holds label set "${base.labelSetId}"; "${labelSetId}" does not belong in it.`,
    );
  }
  const next = base.highestLabelSetVersion + 1;
  if (labelSetVersion !== next) {
    throw new Error(
      `The database holds versions 0 to ${next - 1}; only version ${next} can be ingested, not version ${labelSetVersion}.`,
    );
  }
}

function write(writer: LabelDatabaseWriter, { sorter, counts }: ReadRows, progress: ReportProgress): void {
  let written = 0;
  try {
    for (const batch of sorter.batches()) {
      writer.add(batch);
      written += batch.labels.length;
      progress("writing", written, written / counts.accepted);
    }
    if (written !== counts.accepted) {
      throw new Error(
        `${counts.accepted} labels were read, but ${written} reached the database; nothing was kept.`,
      );
    }
  } catch (error) {
    writer.abandon();
    throw error;
  }
}

/** The folder that prepares the next label database for `databasePath`. */
export function ingestFolder(databasePath: string): string {
  return `${databasePath}.ingest`;
}

/**
 * Locks the folder until the returned function is called or the process dies: the operating system releases SQLite's
 * lock. Throws if another process or user has it.
 */
export function lockFolder(folder: string): () => void {
  createPrivateFolder(folder);
  const lock = new Database(join(folder, "lock.sqlite"), { timeout: 0 });
  try {
    lock.exec("BEGIN EXCLUSIVE");
  } catch (error) {
    lock.close();
    throw new Error("Another ingest into this database is running.", { cause: error });
  }
  return () => void lock.close();
}

/** Creates a folder that only this user can access. Removes one into which others could have put links. */
function createPrivateFolder(folder: string): void {
  mkdirSync(dirname(folder), { recursive: true });
  const there = lstatSync(folder, { throwIfNoEntry: false });
  if (there?.isDirectory() && process.getuid !== undefined && there.uid !== process.getuid())
    throw new Error(`${JSON.stringify(folder)} belongs to another user; remove it.`);
  if (there?.isDirectory() && (there.mode & 0o777) === 0o700) return;
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { mode: 0o700 });
}
