import { readFileSync } from "node:fs";
import { findPackageJSON } from "node:module";
import { z } from "zod/v4";

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
