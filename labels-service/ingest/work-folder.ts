import { mkdirSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";

/** The folder in which the next label database for `databasePath` is prepared. */
export function ingestFolder(databasePath: string): string {
  return `${databasePath}.ingest`;
}

/**
 * Reserves the folder for this process until the returned function is called or the process dies: the lock is SQLite's,
 * which the operating system releases. Throws `FolderInUseError` if another process has it.
 */
export function lockFolder(folder: string): () => void {
  mkdirSync(folder, { recursive: true });
  const lock = new Database(join(folder, "lock.sqlite"), { timeout: 0 });
  try {
    lock.exec("BEGIN EXCLUSIVE");
  } catch (error) {
    lock.close();
    throw new FolderInUseError("Another ingest into this database is running.", { cause: error });
  }
  return () => void lock.close();
}

/** Another process is preparing the next database. */
export class FolderInUseError extends Error {
  override name = "FolderInUseError";
}
