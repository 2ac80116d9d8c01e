import { statSync } from "node:fs";
import Database from "better-sqlite3";
import { type LabelFile, openLabelFile } from "../../src/labels/label-file.ts";
import type { LabelSetFacts } from "../../src/labels/label-set.ts";
import type { Log } from "../../src/log/json-log.ts";

/** A row of table `labels`; its key is the first 52 bits of the label's keccak-256. */
type LabelRow = [key: number, label: string];
/** A row of table `collisions`. */
type CollisionRow = [labelhash: Buffer, label: string];
/** A row of table `versions`. */
type VersionRow = { version: number; recordsCount: number; ingestedAt: string };

/** A label database, open to be read from end to end; single labels are healed by a `LabelFile`. */
export type DatabaseReader = {
  facts: LabelSetFacts;
  versions: VersionRow[];
  /** Rows in the order of their keys, in lists of some thousand; only those of `version` if it is given. */
  labels(version?: number): Generator<LabelRow[]>;
  collisions(version?: number): CollisionRow[];
  /** How many rows (of both tables) a version has. */
  countOf(version: number): number;
  close(): void;
};

const rowsAtOnce = 4096;

/** Opens the label database at `path`. Throws `LabelFileError` as `openLabelFile` does. */
export function openDatabaseReader(path: string): DatabaseReader {
  const { facts, close } = openLabelFile(path);
  close();
  const database = new Database(path, { readonly: true, fileMustExist: true });
  database.pragma("mmap_size = 2147418112");
  database.exec("BEGIN");
  const page = database
    .prepare<[number], LabelRow>(
      `SELECT key, label FROM labels WHERE key > ? ORDER BY key LIMIT ${rowsAtOnce}`,
    )
    .raw();
  const pageOfVersion = database
    .prepare<[number, number], LabelRow>(
      `SELECT key, label FROM labels WHERE key > ? AND version = ? ORDER BY key LIMIT ${rowsAtOnce}`,
    )
    .raw();
  const countOf = database
    .prepare<[{ version: number }], number>(
      `SELECT (SELECT count(*) FROM labels WHERE version = @version)
        + (SELECT count(*) FROM collisions WHERE version = @version)`,
    )
    .pluck();

  return {
    facts,
    versions: database
      .prepare<[], VersionRow>(
        "SELECT version, records_count AS recordsCount, ingested_at AS ingestedAt FROM versions ORDER BY version",
      )
      .all(),
    labels: function* (version) {
      for (let last = -1; ; ) {
        const rows = version === undefined ? page.all(last) : pageOfVersion.all(last, version);
        const lastRow = rows.at(-1);
        if (lastRow === undefined) return;
        yield rows;
        [last] = lastRow;
      }
    },
    collisions: (version) =>
      database
        .prepare<[number | null], CollisionRow>(
          "SELECT labelhash, label FROM collisions WHERE version = ifnull(?, version) ORDER BY labelhash",
        )
        .raw()
        .all(version ?? null),
    // Grouping would sort all rows; a scan for each of the few versions does not.
    countOf: (version) => countOf.get({ version }) ?? 0,
    close: () => void database.close(),
  };
}

/** The label database at a path where the file may be replaced at any time. */
export type LiveDatabase = {
  /** The attached database; undefined while there is none. Do not keep it across an await. */
  current(): LabelFile | undefined;
  /** As `current`, but kept open until `release` is called, whatever happens at the path. */
  borrow(): { file: LabelFile; release: () => void } | undefined;
  /** Attaches the file at the path if it has changed; always, if `isForced`. */
  reload(options: { isForced: boolean }): void;
  /** How often a database was attached, and how often that failed. */
  counts: { attached: number; failed: number };
  close(): void;
};

/** Opens nothing before the first `reload`. A file that cannot be used never replaces one that can. */
export function createLiveDatabase(path: string, log: Log): LiveDatabase {
  const counts = { attached: 0, failed: 0 };
  let attached: { file: LabelFile; borrowers: number; isRetired: boolean } | undefined;
  let lastSeen: string | undefined = "not looked yet";

  const retire = () => {
    if (attached === undefined) return;
    attached.isRetired = true;
    if (attached.borrowers === 0) attached.file.close();
    attached = undefined;
  };

  return {
    counts,
    current: () => attached?.file,
    borrow: () => {
      const borrowed = attached;
      if (borrowed === undefined) return undefined;
      borrowed.borrowers++;
      return {
        file: borrowed.file,
        release: () => {
          borrowed.borrowers--;
          if (borrowed.isRetired && borrowed.borrowers === 0) borrowed.file.close();
        },
      };
    },
    reload: ({ isForced }) => {
      const seen = identityOf(path);
      if (seen === lastSeen && !isForced) return;
      if (seen === undefined && attached === undefined)
        log("info", "waiting for the label database", { path });
      lastSeen = seen;
      if (seen === undefined) {
        if (attached !== undefined) log("warn", "label database is gone, serving the old one on", { path });
        return;
      }
      try {
        const file = openLabelFile(path);
        retire();
        attached = { file, borrowers: 0, isRetired: false };
        counts.attached++;
        log("info", "label database attached", { path, ...file.facts });
      } catch (error) {
        counts.failed++;
        log("error", "label database refused", { path, reason: (error as Error).message });
      }
    },
    close: retire,
  };
}

/** Changes when another file is at the path; undefined if there is none. */
function identityOf(path: string): string | undefined {
  const stats = statSync(path, { throwIfNoEntry: false });
  return stats && `${stats.dev} ${stats.ino} ${stats.size} ${stats.mtimeMs}`;
}
