import { copyFileSync, linkSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { openLabelFile } from "../src/labels/label-file.ts";
import { exportVersion } from "./export.ts";
import { type IngestOptions, type IngestReport, ingest } from "./ingest/ingest.ts";
import { openLabelScan } from "./store/database-reader.ts";

export type ConvertOptions = Omit<IngestOptions, "databasePath" | "labelSetVersion" | "checkpointBytes"> & {
  /** A label database whose next version the file becomes; without one the file becomes version 0. */
  onto: string | undefined;
  /** Path of the `.ensrainbow` file; by its convention `<id>_<version>.ensrainbow` if it is undefined. */
  output: string | undefined;
};

/**
 * Turns an input into an `.ensrainbow` file: sorted, every label once, and without those that `onto` has.
 * It is ingested into a passing database, so that all checks of `ingest` hold. Returns path and report.
 */
export async function convert({
  onto,
  output,
  ...options
}: ConvertOptions): Promise<IngestReport & { path: string }> {
  const labelSetVersion = onto === undefined ? 0 : factsOf(onto).highestLabelSetVersion + 1;
  const path = output ?? `${options.labelSetId}_${labelSetVersion}.ensrainbow`;
  mkdirSync(dirname(path), { recursive: true });
  const folder = mkdtempSync(`${path}.convert-`);
  const databasePath = join(folder, "labels.sqlite");
  try {
    if (onto !== undefined) linkOrCopy(onto, databasePath);
    const checkpointBytes = Number.POSITIVE_INFINITY;
    const report = await ingest({ ...options, databasePath, labelSetVersion, checkpointBytes });
    const scan = openLabelScan(databasePath);
    try {
      exportVersion(scan, labelSetVersion, path, options.progress);
    } finally {
      scan.close();
    }
    return { ...report, path };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function factsOf(path: string) {
  const file = openLabelFile(path);
  file.close();
  return file.facts;
}

/** The ingest replaces its database and never writes into it, so that a second name of the same file will do. */
function linkOrCopy(from: string, to: string): void {
  try {
    linkSync(from, to);
  } catch {
    copyFileSync(from, to);
  }
}
