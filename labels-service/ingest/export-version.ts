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
    let records = 0;
    const total = reader.versions.find((row) => row.version === version)?.recordsCount ?? 0;
    for (const part of fileParts(reader, version)) {
      for (let done = 0; done < part.bytes.length; ) done += writeSync(file, part.bytes, done);
      records = part.records;
      progress.report("exporting", records, total && records / total);
    }
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

const partSize = 1024 * 1024;

/** The bytes of the file in parts, each with the number of records up to its end. */
function* fileParts(
  reader: DatabaseReader,
  labelSetVersion: number,
): Generator<{ bytes: Buffer; records: number }> {
  let parts = [encodeHeader({ labelSetId: reader.facts.labelSetId, labelSetVersion })];
  let length = 0;
  let records = 0;
  for (const labels of labelsOf(reader, labelSetVersion)) {
    for (const label of labels) {
      const bytes = encodeRecord(label);
      parts.push(bytes);
      length += bytes.length;
    }
    records += labels.length;
    if (length < partSize) continue;
    yield { bytes: Buffer.concat(parts), records };
    parts = [];
    length = 0;
  }
  yield { bytes: Buffer.concat(parts), records };
}

function* labelsOf(reader: DatabaseReader, version: number): Generator<string[]> {
  for (const rows of reader.labels(version)) yield rows.map(([, label]) => label);
  yield reader.collisions(version).map(([, label]) => label);
}
