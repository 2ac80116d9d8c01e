import { copyFileSync, linkSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Command } from "@commander-js/extra-typings";
import { counted, escapeControls } from "../../src/log/json-log.ts";
import { factsOf, ingest } from "../ingest/ingest.ts";
import { openInput } from "../ingest/read-input.ts";
import { openDatabaseReader } from "../store/database.ts";
import { type CommandContext, formatOption, path } from "./command-line.ts";
import { exportVersion } from "./export.ts";

/**
 * `convert`: a CSV file to an `.ensrainbow` file, sorted, every label once, and without those that a database has. The input
 * is ingested into a temporary database, so that all checks of `ingest` apply.
 */
export const addConvert = (program: Command, { stdin, stdout, stderr }: CommandContext) =>
  program
    .command("convert <file|->")
    .description("turn a CSV file into an .ensrainbow file: version 0, or the next version of a database")
    .requiredOption("--label-set-id <id>", "the label set")
    .option("--onto <database>", "the database that has the versions before", path)
    .option("--output <file>", "<label set id>_<version>.ensrainbow by default", path)
    .addOption(formatOption().default("csv" as const))
    .action(async (file, { labelSetId, onto, output, format }) => {
      const labelSetVersion = onto === undefined ? 0 : factsOf(onto).highestLabelSetVersion + 1;
      const target = output ?? `${labelSetId}_${labelSetVersion}.ensrainbow`;
      mkdirSync(dirname(target), { recursive: true });
      const folder = mkdtempSync(`${target}.convert-`);
      const databasePath = join(folder, "labels.sqlite");
      try {
        if (onto !== undefined) linkOrCopy(onto, databasePath);
        const { added, counts } = await ingest({
          ...{ databasePath, labelSetId, labelSetVersion, format, stderr },
          input: openInput(file, stdin),
          skipInvalid: false,
          checkpointBytes: Number.POSITIVE_INFINITY,
          now: () => new Date(),
        });
        const reader = openDatabaseReader(databasePath);
        exportVersion(reader, labelSetVersion, target, stderr);
        reader.close();
        stdout.write(
          `Wrote ${counted(added, "label")} of version ${labelSetVersion} of "${labelSetId}" to ${escapeControls(target)}; ` +
            `repeated or known before: ${(counts.accepted - added).toLocaleString("en-US")}.\n`,
        );
      } finally {
        rmSync(folder, { recursive: true });
      }
    });

/** The ingest replaces its database and never writes into it, so a second name for the same file will do. */
function linkOrCopy(from: string, to: string): void {
  try {
    linkSync(from, to);
  } catch {
    copyFileSync(from, to);
  }
}
