import { readFileSync } from "node:fs";
import { findPackageJSON } from "node:module";
import { z } from "zod/v4";
import type { Log } from "../../log/json-log.ts";

/**
 * Versions of this program (`nsDb`, `nsIndexer`) and of what it runs on, as `/api/config` shows them; "unknown" if one
 * cannot be found.
 */
export type Versions = {
  runtime: string;
  indexingFramework: string;
  nsDb: string;
  nsIndexer: string;
  nsNormalize: string;
};

/** Reads the versions of the installed packages. */
export function readVersions(): Versions {
  const program = versionIn(() => findPackageJSON(import.meta.url));
  return {
    runtime: process.versions.node,
    indexingFramework: versionIn(() => findPackageJSON("ponder", import.meta.url)),
    nsDb: program,
    nsIndexer: program,
    nsNormalize: versionIn(() => findPackageJSON("@adraffy/ens-normalize", import.meta.url)),
  };
}

const manifest = z.object({ version: z.string().min(1) });

function versionIn(find: () => string | undefined): string {
  try {
    const path = find();
    if (path === undefined) return "unknown";
    return manifest.parse(JSON.parse(readFileSync(path, "utf8"))).version;
  } catch {
    return "unknown"; // An unexpected package layout is no reason to withhold the configuration.
  }
}

/** Versions of the source of labels: of its software, and of the schema of its database. */
export type LabelsVersion = { version: string; schemaVersion: number };

const askAgainMs = 60_000;

const firstRetryMs = 1_000;

/** Follows the versions of the source of labels, which may be upgraded while this program runs. */
export type LabelsVersionWatch = {
  /** The last known versions. Until the source first responds, "unknown" and the schema this program is written for. */
  current(): LabelsVersion;
  stop(): void;
};

/**
 * Asks the source of labels for its versions, at once and then every minute; after a failure with growing pauses (1 to
 * 60 s), meanwhile the last response counts. `log` gets the first of successive failures.
 */
export function watchLabelsVersion({
  describe,
  expectedSchemaVersion,
  log,
}: {
  describe: () => Promise<LabelsVersion>;
  expectedSchemaVersion: number;
  log: Log;
}): LabelsVersionWatch {
  let current: LabelsVersion = { version: "unknown", schemaVersion: expectedSchemaVersion };
  let timer: NodeJS.Timeout | undefined;
  let isStopped = false;

  const ask = async (failures: number) => {
    const pause = await describe().then(
      ({ version, schemaVersion }) => {
        current = { version, schemaVersion };
        return { ms: askAgainMs, failures: 0 };
      },
      (error: unknown) => {
        if (failures === 0 && !isStopped)
          log("warn", `The label source does not report its version: ${String(error)}`);
        return { ms: Math.min(firstRetryMs * 2 ** failures, askAgainMs), failures: failures + 1 };
      },
    );
    if (!isStopped) timer = setTimeout(() => void ask(pause.failures), pause.ms).unref();
  };
  void ask(0);

  return {
    current: () => current,
    stop: () => {
      isStopped = true;
      clearTimeout(timer);
    },
  };
}
