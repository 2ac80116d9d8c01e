import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Refusal } from "../log/refusal.ts";

// src/ponder contains all use of Ponder beyond its documented interface. Like everything outside src/api it counts for
// Ponder's build id: a change here means a new index, built from cached blocks.

/** The release whose internals this folder describes. */
const ponderVersion = "0.17.7";

/** The message for a Ponder whose internals differ from those of `ponderVersion`. */
export const describeUnsupported = (difference: string) =>
  `Unsupported Ponder version: ${difference}. Install Ponder ${ponderVersion}, which src/ponder was written for, or adapt src/ponder.`;

/** Ponder's internals differ from what this program expects; the message names what differs. */
export class PonderDiffersError extends Refusal {
  override name = "PonderDiffersError";
  constructor(difference: string, cause?: unknown) {
    super(describeUnsupported(difference), { cause });
  }
}

/** Throws PonderDiffersError unless the Ponder in a folder is the expected release. */
export function requireExpectedVersion(
  folder = fileURLToPath(new URL("../../node_modules/ponder", import.meta.url)),
): void {
  const { version } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as { version?: unknown };
  if (version !== ponderVersion) throw new PonderDiffersError(`Ponder ${String(version)} is installed`);
}

/**
 * The value, checked to have these paths, such as `options.command`. Throws PonderDiffersError that names missing ones.
 */
export function membersOfPonder<Members>(value: unknown, what: string, ...paths: readonly string[]): Members {
  const step = (inner: unknown, name: string) =>
    (inner as Record<string, unknown> | null | undefined)?.[name];
  const missing = paths.filter((path) => path.split(".").reduce(step, value) === undefined);
  if (missing.length > 0) throw new PonderDiffersError(`${what} lacks ${missing.join(", ")}`);
  return value as Members;
}

/**
 * Members of an unexported Ponder module, by its path under `dist/esm`. Throws PonderDiffersError if one is missing.
 */
export function moduleOfPonder<Parts>(path: string, ...names: (keyof Parts & string)[]): Parts {
  const file = new URL(`../../node_modules/ponder/dist/esm/${path}`, import.meta.url);
  // ponder: under `dev`, Vite would give import() another instance of the module.
  return membersOfPonder(createRequire(import.meta.url)(fileURLToPath(file)), path, ...names);
}
