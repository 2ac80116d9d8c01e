import Database from "better-sqlite3";
import { openLabelFile } from "../src/labels/label-file.ts";
import type { LabelSetFacts } from "../src/labels/label-set.ts";

/** A row of table `labels`; its key is the first 52 bits of the label's keccak-256. */
export type LabelRow = [key: number, label: string];
/** A row of table `collisions`. */
export type CollisionRow = [labelhash: Buffer, label: string];
/** A row of table `versions`. */
export type VersionRow = { version: number; recordsCount: number; ingestedAt: string };

/** A label database, open to be read from end to end. */
export type LabelScan = {
  facts: LabelSetFacts;
  versions: VersionRow[];
  /** Rows in the order of their keys, in lists of some thousand; of one version only, if one is given. */
  labels(version?: number): Generator<LabelRow[]>;
  collisions(version?: number): CollisionRow[];
  /** How many rows (of both tables) each version has. */
  countByVersion(): { version: number; count: number }[];
  close(): void;
};

const rowsAtOnce = 4096;

/** Opens the label database at `path` for scans. Throws `LabelFileError` as `openLabelFile` does. */
export function openLabelScan(path: string): LabelScan {
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
    countByVersion: () =>
      database
        .prepare<[], { version: number; count: number }>(
          `SELECT version, count(*) AS count
            FROM (SELECT version FROM labels UNION ALL SELECT version FROM collisions)
            GROUP BY version ORDER BY version`,
        )
        .all(),
    close: () => void database.close(),
  };
}
