import {
  closeSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join, resolve } from "node:path";
import { createProgressLog, type Output } from "../../src/log/progress-log.ts";
import { encodeHeader, encodeRecord } from "../formats/ensrainbow.ts";
import type { FormatName } from "../formats/formats.ts";
import { ingest } from "../ingest/ingest.ts";
import type { Input } from "../ingest/read-input.ts";
import { type DatabaseReader, flush, readDatabase } from "../store/database.ts";

/**
 * Writes the labels of one version to an `.ensrainbow` file, in the order of their labelhashes, and returns their
 * number. The file appears at `path` only when it is complete.
 */
export function exportVersion(reader: DatabaseReader, version: number, path: string, stderr: Output): number {
  mkdirSync(dirname(path), { recursive: true });
  const partPath = `${path}.part`;
  // A symbolic link is removed, and "wx" never follows one.
  rmSync(partPath, { force: true });
  const file = openSync(partPath, "wx");
  const progress = createProgressLog(stderr);
  try {
    const { labelSetId } = reader.facts;
    const total = reader.versions.find((row) => row.version === version)?.recordsCount ?? 0;
    let records = 0;
    writeFileSync(file, encodeHeader({ labelSetId, labelSetVersion: version }));
    const add = (rows: readonly (readonly [unknown, string, number])[]) => {
      writeFileSync(file, Buffer.concat(rows.map(([, label]) => encodeRecord(label))));
      records += rows.length;
      progress("exporting", records, total && records / total);
    };
    for (const rows of reader.labels(version)) add(rows);
    add(reader.collisions(version));
    flush(partPath);
    renameSync(partPath, path);
    return records;
  } catch (error) {
    rmSync(partPath, { force: true });
    throw error;
  } finally {
    closeSync(file);
  }
}

type Conversion = {
  labelSetId: string;
  /** The database with the versions before. */
  onto?: string | undefined;
  output?: string | undefined;
  format: FormatName;
};

/**
 * Converts an input into a sorted `.ensrainbow` file with every label once, without those of the database `onto`. A
 * temporary database ingests the input, so that all checks of `ingest` apply.
 */
export async function convert(input: Input, { onto, output, ...asked }: Conversion, stderr: Output) {
  const labelSetVersion =
    onto === undefined ? 0 : readDatabase(onto, ({ facts }) => facts.highestLabelSetVersion + 1);
  const target = output ?? `${asked.labelSetId}_${labelSetVersion}.ensrainbow`;
  mkdirSync(dirname(target), { recursive: true });
  const folder = mkdtempSync(`${target}.convert-`);
  const databasePath = join(folder, "labels.sqlite");
  try {
    // The ingest replaces its database, and never writes into it.
    if (onto !== undefined) symlinkSync(resolve(onto), databasePath);
    const { added, counts } = await ingest({
      ...{ ...asked, databasePath, labelSetVersion, input, stderr, invalidAllowed: 0 },
      checkpointBytes: Number.POSITIVE_INFINITY,
      now: () => new Date(),
    });
    readDatabase(databasePath, (reader) => exportVersion(reader, labelSetVersion, target, stderr));
    return { added, repeated: counts.accepted - added, version: labelSetVersion, target };
  } finally {
    rmSync(folder, { recursive: true });
  }
}
