import { closeSync, mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { counted, escapeControls } from "../../src/log/json-log.ts";
import { encodeHeader, encodeRecord, labelSetVersions } from "../formats/ensrainbow.ts";
import { createProgress, type Output } from "../ingest/progress.ts";
import { createFile, type DatabaseReader, flush, openDatabaseReader } from "../store/database.ts";
import { command, databaseOption, UsageError, wholeNumber } from "./command-line.ts";

/** `export`: the labels that one version added, as an `.ensrainbow` file. */
export const exportCommand = command({
  options: { "label-set-version": "N", output: "FILE", ...databaseOption },
  purpose: "write one version (by default the highest) to an .ensrainbow file",
  run: ({ values, database }, { stdout, stderr }) => {
    const reader = openDatabaseReader(database);
    try {
      const { labelSetId, highestLabelSetVersion: highest } = reader.facts;
      const text = values["label-set-version"];
      const version = wholeNumber("label-set-version", text, labelSetVersions) ?? highest;
      if (version > highest) {
        throw new UsageError(`The database holds versions 0 to ${highest}, not ${version}.`);
      }
      const path = values.output ?? `${labelSetId}_${version}.ensrainbow`;
      mkdirSync(dirname(path), { recursive: true });
      const records = exportVersion(reader, version, path, stderr);
      stdout.write(
        `Wrote ${counted(records, "label")} of version ${version} of "${labelSetId}" to ${escapeControls(path)}.\n`,
      );
    } finally {
      reader.close();
    }
  },
});

/**
 * Writes the labels of one version as an `.ensrainbow` file, in the order of their labelhashes. The file appears at `path`
 * only when it is complete. Returns the number of labels.
 */
export function exportVersion(reader: DatabaseReader, version: number, path: string, stderr: Output): number {
  const partPath = `${path}.part`;
  const file = createFile(partPath);
  const progress = createProgress(stderr);
  try {
    const { labelSetId } = reader.facts;
    const total = reader.versions.find((row) => row.version === version)?.recordsCount ?? 0;
    let records = 0;
    writeFileSync(file, encodeHeader({ labelSetId, labelSetVersion: version }));
    const add = (rows: readonly (readonly [unknown, string])[]) => {
      writeFileSync(file, Buffer.concat(rows.map(([, label]) => encodeRecord(label))));
      records += rows.length;
      progress.report("exporting", records, total && records / total);
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
    progress.finish();
    closeSync(file);
  }
}
