import { readFileSync } from "node:fs";
import { findPackageJSON } from "node:module";
import type { Log } from "../../log/json-log.ts";
import { shared } from "./shared-reading.ts";

/** Versions of this program and of what it runs on, as `/api/config` shows them. */
export type Versions = ReturnType<typeof readVersions>;

/** Reads the versions of the installed packages: `nsDb` and `nsIndexer` are this program's. */
export function readVersions() {
  const program = versionIn(findPackageJSON(import.meta.url));
  return {
    runtime: process.versions.node,
    indexingFramework: versionIn(findPackageJSON("ponder", import.meta.url)),
    nsDb: program,
    nsIndexer: program,
    nsNormalize: versionIn(findPackageJSON("@adraffy/ens-normalize", import.meta.url)),
  };
}

const versionIn = (path = ""): string => JSON.parse(readFileSync(path, "utf8")).version;

/** Versions of the source of labels: of its software, and of the schema of its database. */
export type LabelsVersion = { version: string; schemaVersion: number };

/**
 * Reads what the source of labels says of itself, which may be upgraded while this program runs: the last response, or "unknown" and
 * the schema that this program expects.
 */
export function createLabelsVersion(
  describe: () => Promise<LabelsVersion>,
  schemaVersion: number,
  log: Log,
): () => Promise<LabelsVersion> {
  const read = shared("The version of the label source", describe, { everyMs: 5_000, log });
  return async () => (await read()).value ?? { version: "unknown", schemaVersion };
}
