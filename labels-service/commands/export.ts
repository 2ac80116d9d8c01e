import { closeSync, mkdirSync, openSync, renameSync, rmSync, writeSync } from "node:fs";
import { dirname } from "node:path";
import { escapeControls } from "../../src/json-log.ts";
import { encodeHeader, encodeRecord } from "../formats/ensrainbow.ts";
import { createProgress, type Progress } from "../ingest/progress.ts";
import { type DatabaseReader, openDatabaseReader } from "../store/database-reader.ts";
import { flush } from "../store/database-writer.ts";
import {
  type Command,
  highestVersionNumber,
  parseCommandLine,
  UsageError,
  wholeNumber,
} from "./command-line.ts";

/** `export`: the labels that one version added, as an `.ensrainbow` file. */
export const exportCommand: Command = {
  usage: "[--label-set-version N] [--output FILE] [--database PATH]",
  purpose: "write one version (by default the highest) to an .ensrainbow file",
  run: async (args, { database, stdout, stderr }) => {
    const { values } = parseCommandLine(
      args,
      { "label-set-version": { type: "string" }, output: { type: "string" }, database: { type: "string" } },
      undefined,
    );
    const reader = openDatabaseReader(values.database ?? database);
    try {
      const { labelSetId, highestLabelSetVersion: highest } = reader.facts;
      const text = values["label-set-version"];
      const range = { min: 0, max: highestVersionNumber };
      const version = wholeNumber("label-set-version", text, range) ?? highest;
      if (version > highest) {
        throw new UsageError(`The database holds versions 0 to ${highest}, not ${version}.`);
      }
      const path = values.output ?? `${labelSetId}_${version}.ensrainbow`;
      mkdirSync(dirname(path), { recursive: true });
      const records = exportVersion(reader, version, path, createProgress(stderr));
      stdout.write(
        `Wrote ${records.toLocaleString("en-US")} labels of version ${version} of "${labelSetId}" to ${escapeControls(path)}.\n`,
      );
    } finally {
      reader.close();
    }
  },
};

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
  const file = openSync(partPath, "w");
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
