import type { Command } from "@commander-js/extra-typings";
import { counted, escapeControls, spanOf } from "../../src/log/json-log.ts";
import { labelSetVersions } from "../formats/ensrainbow.ts";
import { formats } from "../formats/formats.ts";
import { type IngestReport, ingest } from "../ingest/ingest.ts";
import { openInput } from "../ingest/read-input.ts";
import { type CommandContext, databaseCommand, formatOption, wholeNumber } from "./command-line.ts";

/** `ingest`: one label set version into the label database. */
export const addIngest = (program: Command, context: CommandContext) =>
  databaseCommand(program, "ingest", context)
    .argument("<file|->", "the file, or standard input")
    .description("add a label set version to the database")
    .option("--label-set-id <id>", "the label set; .ensrainbow files name it")
    .option("--label-set-version <n>", "its version, likewise", wholeNumber(labelSetVersions))
    .addOption(formatOption())
    .option("--skip-invalid", "leaves invalid rows out, and lists them", false)
    .option("--checkpoint-mb <n>", "how often it can resume", wholeNumber({ min: 1, max: 1_000_000 }), 256)
    .action(async (file, { database: databasePath, checkpointMb, ...asked }) => {
      const started = performance.now();
      const report = await ingest({
        ...{ ...asked, databasePath, stderr: context.stderr },
        input: openInput(file, context.stdin),
        checkpointBytes: checkpointMb * 1_000_000,
        now: () => new Date(),
      });
      context.stdout.write(summary(report, databasePath, (performance.now() - started) / 1000));
    });

function summary({ format, facts, counts, added, rejectsPath }: IngestReport, path: string, seconds: number) {
  const rows = counts.accepted + counts.invalid + counts.ignored;
  const lines = [
    `Ingested version ${facts.highestLabelSetVersion} of "${facts.labelSetId}" from ${format}: ` +
      `${counted(rows, "row")} in ${spanOf(seconds)} (${number(Math.round(rows / seconds))} rows/s).`,
    `${counted(added, "new label")}, ${number(counts.accepted - added)} known before` +
      `${counts.invalid > 0 ? `, ${counted(counts.invalid, "invalid row")}` : ""}` +
      `${counts.ignored > 0 ? `, ${counted(counts.ignored, "ignored row")}` : ""}.`,
    `${escapeControls(path)} holds ${counted(facts.recordsCount, "label")}.`,
  ];
  if (rejectsPath !== undefined) lines.push(`The invalid rows are listed in ${escapeControls(rejectsPath)}.`);
  if (formats[format].keepsCarriageReturns && counts.endingInCarriageReturn > 0) {
    lines.push(
      `${number(counts.endingInCarriageReturn)} labels end in a carriage return: was this a Windows text file?`,
    );
  }
  return `${lines.join("\n")}\n`;
}

const number = (value: number) => value.toLocaleString("en-US");
