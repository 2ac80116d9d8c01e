import { closeSync, renameSync, rmSync, writeSync } from "node:fs";
import { encodeHeader, encodeRecord } from "../formats/ensrainbow.ts";
import { createFile, type DatabaseReader, flush } from "../store/database.ts";
import type { Progress } from "./progress.ts";

/**
 * Writes the labels of one version as an `.ensrainbow` file, in the order of their labelhashes. The file appears at `path`
 * only when it is complete. Returns the number of labels.
 */
export function exportVersion(
  reader: DatabaseReader,
  version: number,
  path: string,
  progress: Progress,
): number {
  const partPath = `${path}.part`;
  const file = createFile(partPath);
  try {
    const { labelSetId } = reader.facts;
    const total = reader.versions.find((row) => row.version === version)?.recordsCount ?? 0;
    let records = 0;
    write(file, encodeHeader({ labelSetId, labelSetVersion: version }));
    const add = (rows: readonly (readonly [unknown, string])[]) => {
      write(file, Buffer.concat(rows.map(([, label]) => encodeRecord(label))));
      records += rows.length;
      progress.report("exporting", records, total && records / total);
    };
    for (const rows of reader.labels(version)) add(rows);
    add(reader.collisions(version));
    progress.finish();
    closeSync(file);
    flush(partPath);
    renameSync(partPath, path);
    return records;
  } catch (error) {
    rmSync(partPath, { force: true });
    throw error;
  }
}

function write(file: number, bytes: Buffer): void {
  for (let done = 0; done < bytes.length; ) done += writeSync(file, bytes, done);
}
