import { copyFileSync, linkSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { openLabelFile } from "../../src/labels/label-file.ts";
import { openDatabaseReader } from "../store/database.ts";
import { exportVersion } from "./export-version.ts";
import { type IngestOptions, type IngestReport, ingest } from "./ingest.ts";

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
