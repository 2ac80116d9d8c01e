import { readFileSync } from "node:fs";
import { findPackageJSON } from "node:module";
import type { Log } from "../log/json-log.ts";
import { shareReading } from "./shared-reading.ts";

/** Versions of this program and of what it runs on, as `/api/config` shows them. */
export type Versions = ReturnType<typeof readVersions>;

/** Reads the versions of the installed packages: `nsDb` and `nsIndexer` are this program's. */
export function readVersions() {
  const program = readVersion(findPackageJSON(import.meta.url));
  return {
    runtime: process.versions.node,
    indexingFramework: readVersion(findPackageJSON("ponder", import.meta.url)),
    nsDb: program,
    nsIndexer: program,
    nsNormalize: readVersion(findPackageJSON("@adraffy/ens-normalize", import.meta.url)),
  };
}

const readVersion = (path = ""): string => JSON.parse(readFileSync(path, "utf8")).version;

/**
 * Versions of the label source: of its software and of its database's schema; once known, of its label set, and how
 * many labels it has.
 */
export type LabelsVersion = {
  version: string;
  schemaVersion: number;
  highestLabelSetVersion?: number;
  recordsCount?: number;
};

/**
 * Reads the label source's versions, which may change at any time. Before its first response: "unknown" and
 * `schemaVersion`.
 */
export function createLabelsVersion(
  describe: () => Promise<LabelsVersion>,
  schemaVersion: number,
  log: Log,
): () => Promise<LabelsVersion> {
  const read = shareReading("The version of the label source", describe, { everyMs: 5_000, log });
  return async () => (await read()).value ?? { version: "unknown", schemaVersion };
}
