import { existsSync, mkdirSync, renameSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { openLabelFile } from "../../src/labels/label-file.ts";
import { isLabelSetId, type LabelSetFacts } from "../../src/labels/label-set.ts";
import { readEnsrainbowHeader } from "../formats/ensrainbow.ts";
import { detectFormat, detectionLength, type Format } from "../formats/formats.ts";
import { InputError } from "../formats/parser.ts";
import {
  createLabelDatabase,
  extendLabelDatabase,
  flush,
  type LabelDatabaseWriter,
} from "../store/database-writer.ts";
import type { Spill } from "./label-sorter.ts";
import { type Input, peek } from "./open-input.ts";
import type { Progress } from "./progress.ts";
import { takeIn } from "./read-input.ts";
import type { IntakeCounts, Remark } from "./verify-rows.ts";
import { ingestFolder, lockFolder } from "./work-folder.ts";

export type IngestOptions = {
  input: Input;
  databasePath: string;
  /** Both may be left out for `.ensrainbow` files, which name them. */
  labelSetId?: string | undefined;
  labelSetVersion?: number | undefined;
  format?: Format | undefined;
  skipInvalid: boolean;
  /** Bytes of unpacked input between two points from which a killed ingest goes on. */
  checkpointBytes: number;
  progress: Progress;
  now: () => Date;
  onIgnored: (remark: Remark) => void;
  onResume: (rows: number) => void;
};

export type IngestReport = {
  format: Format;
  facts: LabelSetFacts;
  counts: IntakeCounts;
  /** Labels that the database did not have. */
  added: number;
  /** Where the invalid rows are listed, if there were any. */
  rejectsPath: string | undefined;
};

/**
 * Brings one label set version into the label database at `databasePath`. The new database is built beside it
 * and renamed into place at the end, so that it is there wholly or not at all. What was read before a crash
 * is used again. Throws `InputError` for input that cannot be used and `IngestError` for what the rules forbid.
 */
export async function ingest(options: IngestOptions): Promise<IngestReport> {
  const chunks = options.input.chunks();
  try {
    return await ingestChunks(options, chunks);
  } finally {
    options.progress.finish();
    await chunks.return(undefined);
  }
}

async function ingestChunks(options: IngestOptions, chunks: AsyncGenerator<Buffer>): Promise<IngestReport> {
  const { head, all } = await peek(chunks, detectionLength);
  const format = options.format ?? detectFormat(head, options.input.name);
  const labelSet = wantedLabelSet(options, format, head);
  const base = existsSync(options.databasePath) ? factsOf(options.databasePath) : undefined;
  checkSequence(labelSet, base);

  mkdirSync(dirname(options.databasePath), { recursive: true });
  const folder = ingestFolder(options.databasePath);
  const unlock = lockFolder(folder);
  try {
    const { spill, counts, hasRejects } = await takeIn({
      ...options,
      chunks: all,
      format,
      folder,
      task: [options.input.identity, labelSet.id, labelSet.version, format, options.skipInvalid].join(" "),
    });
    const nextPath = join(folder, "next.sqlite");
    const writer = base
      ? extendLabelDatabase(nextPath, options.databasePath, base)
      : createLabelDatabase(nextPath, labelSet.id);
    build(writer, spill, counts, options.progress);
    const facts = writer.finish(options.now());
    spill.close();
    const rejectsPath = join(dirname(options.databasePath), `${labelSet.id}_${labelSet.version}.rejects.txt`);
    if (hasRejects) renameSync(join(folder, "rejects.txt"), rejectsPath);
    renameSync(nextPath, options.databasePath);
    flush(dirname(options.databasePath));
    rmSync(folder, { recursive: true });
    return {
      format,
      facts,
      counts,
      added: facts.recordsCount - (base?.recordsCount ?? 0),
      rejectsPath: hasRejects ? rejectsPath : undefined,
    };
  } catch (error) {
    // Anything else (a full disk, say) may go away: what was read so far is kept for the next try.
    if (error instanceof InputError) rmSync(folder, { recursive: true });
    throw error;
  } finally {
    unlock();
  }
}

function factsOf(path: string): LabelSetFacts {
  const file = openLabelFile(path);
  file.close();
  return file.facts;
}

function wantedLabelSet({ labelSetId, labelSetVersion }: IngestOptions, format: Format, head: Buffer) {
  const header = format === "ensrainbow" ? readEnsrainbowHeader(head) : undefined;
  const id = labelSetId ?? header?.labelSetId;
  const version = labelSetVersion ?? header?.labelSetVersion;
  if (id === undefined || version === undefined) {
    throw new IngestError(
      "--label-set-id and --label-set-version are needed: only .ensrainbow files name them.",
    );
  }
  if (!isLabelSetId(id)) {
    throw new IngestError(`"${id}" is no label set id: it has 1 to 50 characters, only a to z and "-".`);
  }
  if (header && (header.labelSetId !== id || header.labelSetVersion !== version)) {
    throw new IngestError(
      `The file is version ${header.labelSetVersion} of "${header.labelSetId}", not version ${version} of "${id}".`,
    );
  }
  return { id, version };
}

function checkSequence({ id, version }: { id: string; version: number }, base: LabelSetFacts | undefined) {
  if (base === undefined) {
    if (version === 0) return;
    throw new IngestError(
      `There is no database yet, so only version 0 can be ingested, not version ${version}.`,
    );
  }
  if (base.labelSetId !== id) {
    throw new IngestError(
      `The database holds label set "${base.labelSetId}"; "${id}" does not belong into it.`,
    );
  }
  const next = base.highestLabelSetVersion + 1;
  if (version !== next) {
    throw new IngestError(
      `The database holds versions 0 to ${next - 1}; only version ${next} can be ingested, not version ${version}.`,
    );
  }
}

function build(writer: LabelDatabaseWriter, spill: Spill, counts: IntakeCounts, progress: Progress): void {
  let rows = 0;
  try {
    for (const batch of spill.batches()) {
      writer.add(batch);
      rows += batch.labels.length;
      progress.report("writing", rows, rows / counts.accepted);
    }
    if (rows !== counts.accepted) {
      throw new Error(
        `${counts.accepted} labels were read, but ${rows} came to the database; nothing was kept.`,
      );
    }
  } catch (error) {
    writer.abandon();
    throw error;
  }
}

/** The rules of label sets forbid it; nothing was written. */
export class IngestError extends Error {
  override name = "IngestError";
}
