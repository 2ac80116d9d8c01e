import { statSync } from "node:fs";
import type { Command } from "@commander-js/extra-typings";
import { labelDatabaseSchemaVersion } from "../../src/labels/label-set.ts";
import { counted, escapeControls } from "../../src/log/json-log.ts";
import { openDatabaseReader } from "../store/database.ts";
import { type CommandContext, databaseCommand } from "./command-line.ts";

/** `stats`: what the label database holds. */
export const addStats = (program: Command, context: CommandContext) =>
  databaseCommand(program, "stats", context)
    .description("show what the database holds")
    .action(({ database: path }) => {
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
      context.stdout.write(lines.map(([name = "", value]) => `${name.padEnd(16)} ${value}\n`).join(""));
    });

function number(value: number): string {
  return value.toLocaleString("en-US");
}
