import { copyFileSync, linkSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { openLabelFile } from "../../src/labels/label-file.ts";
import { counted, escapeControls } from "../../src/log/json-log.ts";
import { ingest } from "../ingest/ingest.ts";
import { openInput } from "../ingest/read-input.ts";
import { openDatabaseReader } from "../store/database.ts";
import { command, formatOption, parseFormat, UsageError } from "./command-line.ts";
import { exportVersion } from "./export.ts";

/**
 * `convert`: a CSV file to an `.ensrainbow` file, sorted, every label once, and without those that a database has. The input
 * is ingested into a temporary database, so that all checks of `ingest` apply.
 */
export const convertCommand = command({
  operand: "file to convert",
  needs: { "label-set-id": "ID" },
  options: { onto: "DATABASE", output: "FILE", ...formatOption },
  purpose: "turn a CSV file into an .ensrainbow file: version 0, or the next version of a database",
  run: async ({ values, operand }, { stdin, stdout, stderr }) => {
    const { "label-set-id": labelSetId, onto } = values;
    if (labelSetId === undefined) throw new UsageError("--label-set-id is needed.");
    const labelSetVersion = onto === undefined ? 0 : highestVersionOf(onto) + 1;
    const path = values.output ?? `${labelSetId}_${labelSetVersion}.ensrainbow`;
    mkdirSync(dirname(path), { recursive: true });
    const folder = mkdtempSync(`${path}.convert-`);
    const databasePath = join(folder, "labels.sqlite");
    try {
      if (onto !== undefined) linkOrCopy(onto, databasePath);
      const { added, counts } = await ingest({
        ...{ databasePath, labelSetId, labelSetVersion, stderr },
        input: openInput(operand, stdin),
        format: parseFormat(values.format) ?? "csv",
        skipInvalid: false,
        checkpointBytes: Number.POSITIVE_INFINITY,
        now: () => new Date(),
      });
      const reader = openDatabaseReader(databasePath);
      exportVersion(reader, labelSetVersion, path, stderr);
      reader.close();
      stdout.write(
        `Wrote ${counted(added, "label")} of version ${labelSetVersion} of "${labelSetId}" to ${escapeControls(path)}; ` +
          `repeated or known before: ${(counts.accepted - added).toLocaleString("en-US")}.\n`,
      );
    } finally {
      rmSync(folder, { recursive: true });
    }
  },
});

/** The ingest replaces its database and never writes into it, so a second name for the same file will do. */
function linkOrCopy(from: string, to: string): void {
  try {
    linkSync(from, to);
  } catch {
    copyFileSync(from, to);
  }
}

function highestVersionOf(path: string): number {
  const file = openLabelFile(path);
  file.close();
  return file.facts.highestLabelSetVersion;
}
