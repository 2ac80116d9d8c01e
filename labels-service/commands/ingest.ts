import { counted, escapeControls } from "../../src/log/json-log.ts";
import { labelSetVersions } from "../formats/ensrainbow.ts";
import { formats } from "../formats/formats.ts";
import { type IngestReport, ingest } from "../ingest/ingest.ts";
import { duration } from "../ingest/progress.ts";
import { openInput } from "../ingest/read-input.ts";
import { command, databaseOption, formatOption, parseFormat, wholeNumber } from "./command-line.ts";

/** `ingest`: one label set version into the label database. */
export const ingestCommand = command({
  operand: "file to ingest",
  needs: { "label-set-id": "ID", "label-set-version": "N" },
  options: { ...databaseOption, ...formatOption, "skip-invalid": "", "checkpoint-mb": "N" },
  purpose: "add a label set version to the database",
  run: async ({ values, operand, database }, { stdin, stdout, stderr }) => {
    const checkpointMb = wholeNumber("checkpoint-mb", values["checkpoint-mb"], { min: 1, max: 1_000_000 });
    const started = performance.now();
    const report = await ingest({
      input: openInput(operand, stdin),
      databasePath: database,
      labelSetId: values["label-set-id"],
      labelSetVersion: wholeNumber("label-set-version", values["label-set-version"], labelSetVersions),
      format: parseFormat(values.format),
      skipInvalid: values["skip-invalid"] ?? false,
      checkpointBytes: (checkpointMb ?? 256) * 1_000_000,
      now: () => new Date(),
      stderr,
    });
    stdout.write(summary(report, database, (performance.now() - started) / 1000));
  },
});

function summary({ format, facts, counts, added, rejectsPath }: IngestReport, path: string, seconds: number) {
  const rows = counts.accepted + counts.invalid + counts.ignored;
  const lines = [
    `Ingested version ${facts.highestLabelSetVersion} of "${facts.labelSetId}" from ${format}: ` +
      `${counted(rows, "row")} in ${duration(seconds)} (${number(Math.round(rows / seconds))} rows/s).`,
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
