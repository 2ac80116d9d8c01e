import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { z } from "zod/v4";

// src/ponder holds all that this program knows of Ponder beyond its documented interface. Like everything outside
// src/api it counts for Ponder's build id: a change here means a new index, built from cached blocks.

/** The release whose internals this folder describes. */
const ponderVersion = "0.17.7";

/** What is said of a Ponder whose internals differ from those of `ponderVersion`. */
export const unsupported = (difference: string) =>
  `Unsupported Ponder version: ${difference}. Install Ponder ${ponderVersion}, which src/ponder was written for, or adapt src/ponder.`;

/** Ponder's internals differ from what this program expects; the message names the place. */
export class PonderDiffersError extends Error {
  override name = "PonderDiffersError";
  constructor(difference: string, cause?: unknown) {
    super(unsupported(difference), { cause });
  }
}

/** Throws PonderDiffersError unless the Ponder in a folder is the expected release. */
export function requireExpectedVersion(
  folder = fileURLToPath(new URL("../../node_modules/ponder", import.meta.url)),
): void {
  const { version } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as { version?: unknown };
  if (version !== ponderVersion) throw new PonderDiffersError(`Ponder ${String(version)} is installed`);
}

/** The checked value. Throws PonderDiffersError with each place under `place` that does not fit the schema. */
export function expectOfPonder<T>(schema: z.ZodType<T>, value: unknown, place?: string): T {
  const { data, error } = schema.safeParse(value);
  if (error === undefined) return data;
  const differences = error.issues.map(
    ({ path, message }) => `${[...(place === undefined ? [] : [place]), ...path].join(".")}: ${message}`,
  );
  throw new PonderDiffersError(differences.join("; "));
}

/** Checked parts of a module that Ponder does not export, by its path under `dist/esm`. Throws PonderDiffersError. */
export function moduleOfPonder<Parts>(parts: z.ZodType<Parts>, path: string): Parts {
  const place = new URL(`../../node_modules/ponder/dist/esm/${path}`, import.meta.url);
  // ponder: Vite, with which `dev` loads this file, would give import() another instance of the module.
  return expectOfPonder(parts, createRequire(import.meta.url)(fileURLToPath(place)), path);
}
