import { statSync } from "node:fs";
import { labelDatabaseSchemaVersion } from "../../src/labels/label-set.ts";
import { counted, escapeControls } from "../../src/log/json-log.ts";
import { openDatabaseReader } from "../store/database.ts";
import { command, databaseOption } from "./command-line.ts";

/** `stats`: what the label database holds. */
export const statsCommand = command({
  options: databaseOption,
  purpose: "show what the database holds",
  run: ({ database: path }, { stdout }) => {
    const scan = openDatabaseReader(path);
    const { facts, versions } = scan;
    const collisions = scan.collisions().length;
    scan.close();
    const { size } = statSync(path);
    const lines = [
      ["database", escapeControls(path)],
      ["schema version", String(labelDatabaseSchemaVersion)],
      ["label set", facts.labelSetId],
      ["highest version", String(facts.highestLabelSetVersion)],
      ["labels", number(facts.recordsCount)],
      ["colliding keys", number(collisions)],
      ["size", `${number(size)} bytes`],
      ["bytes a label", facts.recordsCount === 0 ? "-" : (size / facts.recordsCount).toFixed(1)],
      ...versions.map(({ version, recordsCount, ingestedAt }) => [
        `version ${version}`,
        `${counted(recordsCount, "label")}, ingested ${escapeControls(ingestedAt)}`,
      ]),
    ];
    stdout.write(lines.map(([name = "", value]) => `${name.padEnd(16)} ${value}\n`).join(""));
  },
});

function number(value: number): string {
  return value.toLocaleString("en-US");
}
