import { counted, escapeControls } from "../../src/log/json-log.ts";
import { convert } from "../ingest/convert.ts";
import { createProgress } from "../ingest/progress.ts";
import { openInput } from "../ingest/read-input.ts";
import { command, formatOption, parseFormat, UsageError } from "./command-line.ts";

/** `convert`: a CSV file to an `.ensrainbow` file. */
export const convertCommand = command({
  operand: "file to convert",
  needs: { "label-set-id": "ID" },
  options: { onto: "DATABASE", output: "FILE", ...formatOption },
  purpose: "turn a CSV file into an .ensrainbow file: version 0, or the next version of a database",
  run: async ({ values, operand }, { stdin, stdout, stderr }) => {
    const labelSetId = values["label-set-id"];
    if (labelSetId === undefined) throw new UsageError("--label-set-id is needed.");
    const { path, added, counts, facts } = await convert({
      input: openInput(operand, stdin),
      labelSetId,
      onto: values.onto,
      output: values.output,
      format: parseFormat(values.format) ?? "csv",
      skipInvalid: false,
      progress: createProgress(stderr),
      now: () => new Date(),
      onIgnored: ({ position, reason }) => stderr.write(`Ignored ${position}: ${reason}.\n`),
      onResume: () => {},
    });
    stdout.write(
      `Wrote ${counted(added, "label")} of version ${facts.highestLabelSetVersion} of "${labelSetId}" to ${escapeControls(path)}; ` +
        `repeated or known before: ${(counts.accepted - added).toLocaleString("en-US")}.\n`,
    );
  },
});
