import { mkdirSync } from "node:fs";
import { dirname } from "node:path";
import { counted, escapeControls } from "../../src/log/json-log.ts";
import { labelSetVersions } from "../formats/ensrainbow.ts";
import { exportVersion } from "../ingest/export-version.ts";
import { createProgress } from "../ingest/progress.ts";
import { openDatabaseReader } from "../store/database.ts";
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
      const records = exportVersion(reader, version, path, createProgress(stderr));
      stdout.write(
        `Wrote ${counted(records, "label")} of version ${version} of "${labelSetId}" to ${escapeControls(path)}.\n`,
      );
    } finally {
      reader.close();
    }
  },
});
