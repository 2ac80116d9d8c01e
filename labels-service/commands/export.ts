import { closeSync, mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import type { Command } from "@commander-js/extra-typings";
import { counted, escapeControls } from "../../src/log/json-log.ts";
import { encodeHeader, encodeRecord, labelSetVersions } from "../formats/ensrainbow.ts";
import { createProgress, type Output } from "../ingest/progress.ts";
import { createFile, type DatabaseReader, flush, openDatabaseReader } from "../store/database.ts";
import { type CommandContext, databaseCommand, path, wholeNumber } from "./command-line.ts";

/** `export`: the labels that one version added, as an `.ensrainbow` file. */
export const addExport = (program: Command, context: CommandContext) =>
  databaseCommand(program, "export", context)
    .description("write one version (by default the highest) to an .ensrainbow file")
    .option("--label-set-version <n>", "the version", wholeNumber(labelSetVersions))
    .option("--output <file>", "<label set id>_<version>.ensrainbow by default", path)
    .action(({ database, labelSetVersion, output }) => {
      const reader = openDatabaseReader(database);
      try {
        const { labelSetId, highestLabelSetVersion: highest } = reader.facts;
        const version = labelSetVersion ?? highest;
        if (version > highest)
          throw new Error(`The database holds versions 0 to ${highest}, not ${version}.`);
        const target = output ?? `${labelSetId}_${version}.ensrainbow`;
        mkdirSync(dirname(target), { recursive: true });
        const records = exportVersion(reader, version, target, context.stderr);
        context.stdout.write(
          `Wrote ${counted(records, "label")} of version ${version} of "${labelSetId}" to ${escapeControls(target)}.\n`,
        );
      } finally {
        reader.close();
      }
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
