import { copyFileSync, linkSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { escapeControls } from "../../src/json-log.ts";
import { openLabelFile } from "../../src/labels/label-file.ts";
import { type IngestOptions, type IngestReport, ingest } from "../ingest/ingest.ts";
import { openInput } from "../ingest/open-input.ts";
import { createProgress } from "../ingest/progress.ts";
import { openDatabaseReader } from "../store/database-reader.ts";
import { type Command, formatUsage, parseCommandLine, parseFormat, UsageError } from "./command-line.ts";
import { exportVersion } from "./export.ts";

/** `convert`: a CSV file to an `.ensrainbow` file. */
export const convertCommand: Command = {
  usage: `<file|-> --label-set-id ID [--onto DATABASE] [--output FILE] ${formatUsage}`,
  purpose: "turn a CSV file into an .ensrainbow file: version 0, or the next version of a database",
  run: async (args, { stdin, stdout, stderr }) => {
    const { values, operand } = parseCommandLine(
      args,
      {
        "label-set-id": { type: "string" },
        onto: { type: "string" },
        output: { type: "string" },
        format: { type: "string" },
      },
      "file to convert",
    );
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
    const [written, left] = [added, counts.accepted - added].map((count) => count.toLocaleString("en-US"));
    stdout.write(
      `Wrote ${written} labels of version ${facts.highestLabelSetVersion} of "${labelSetId}" to ${escapeControls(path)}; ` +
        `${left} were repeated or known.\n`,
    );
  },
};

export type ConvertOptions = Omit<IngestOptions, "databasePath" | "labelSetVersion" | "checkpointBytes"> & {
  /** A label database whose next version the file becomes; without one it becomes version 0. */
  onto: string | undefined;
  /** Path of the `.ensrainbow` file; undefined: by convention `<id>_<version>.ensrainbow`. */
  output: string | undefined;
};

/**
 * Turns an input into an `.ensrainbow` file: sorted, every label once, and without those that `onto` has. The input is
 * ingested into a temporary database, so that all checks of `ingest` apply. Returns path and report.
 */
export async function convert({
  onto,
  output,
  ...options
}: ConvertOptions): Promise<IngestReport & { path: string }> {
  const labelSetVersion = onto === undefined ? 0 : highestVersionOf(onto) + 1;
  const path = output ?? `${options.labelSetId}_${labelSetVersion}.ensrainbow`;
  mkdirSync(dirname(path), { recursive: true });
  const folder = mkdtempSync(`${path}.convert-`);
  const databasePath = join(folder, "labels.sqlite");
  try {
    if (onto !== undefined) linkOrCopy(onto, databasePath);
    const checkpointBytes = Number.POSITIVE_INFINITY;
    const report = await ingest({ ...options, databasePath, labelSetVersion, checkpointBytes });
    const reader = openDatabaseReader(databasePath);
    try {
      exportVersion(reader, labelSetVersion, path, options.progress);
    } finally {
      reader.close();
    }
    return { ...report, path };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function highestVersionOf(path: string): number {
  const file = openLabelFile(path);
  file.close();
  return file.facts.highestLabelSetVersion;
}

/** The ingest replaces its database and never writes into it, so a second name for the same file will do. */
function linkOrCopy(from: string, to: string): void {
  try {
    linkSync(from, to);
  } catch {
    copyFileSync(from, to);
  }
}
