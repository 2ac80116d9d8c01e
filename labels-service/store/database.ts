import { closeSync, constants, copyFileSync, fsyncSync, openSync, rmSync } from "node:fs";
import Database from "better-sqlite3";
import { computeDigest } from "../../src/ens/keccak.ts";
import { labelKey } from "../../src/labels/digests.ts";
import { type LabelFile, labelDatabaseApplicationId, openLabelFile } from "../../src/labels/label-file.ts";
import { type LabelSetFacts, labelDatabaseSchemaVersion } from "../../src/labels/label-set.ts";

// docs/labels.md documents the layout for other programs. Pages are small because a lookup in a large label set mostly
// waits for memory, and touches less of it this way.
const schema = `
  PRAGMA page_size = 1024;
  CREATE TABLE labels (key INTEGER PRIMARY KEY, version INTEGER NOT NULL, label TEXT NOT NULL) STRICT;
  CREATE TABLE collisions (
    labelhash BLOB PRIMARY KEY, version INTEGER NOT NULL, label TEXT NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE versions (
    version INTEGER PRIMARY KEY, records_count INTEGER NOT NULL, ingested_at TEXT NOT NULL
  ) STRICT;
  CREATE TABLE label_set (
    label_set_id TEXT NOT NULL, highest_label_set_version INTEGER NOT NULL, records_count INTEGER NOT NULL
  ) STRICT;
  PRAGMA application_id = ${labelDatabaseApplicationId};
  PRAGMA user_version = ${labelDatabaseSchemaVersion};
`;

// Readers of this schema version do not need the table, so it is created for the first version that is fetched.
const sources =
  "CREATE TABLE IF NOT EXISTS sources (version INTEGER PRIMARY KEY, sha256 TEXT NOT NULL) STRICT";

/** Labels and their keys, in the same order. Ascending keys are written fastest. */
export type LabelBatch = { keys: number[]; labels: string[] };

/** A label database in the making, which readers refuse before `finish`. */
export type LabelDatabaseWriter = ReturnType<typeof createWriter>;

/** Creates a label database for version 0 of a label set at `path`, and replaces a file there. */
export function createLabelDatabase(path: string, labelSetId: string): LabelDatabaseWriter {
  rmSync(path, { force: true });
  const database = new Database(path);
  database.exec(schema);
  return createWriter(database, path, { labelSetId, highestLabelSetVersion: 0, recordsCount: 0 });
}

/** Creates the next version at `path` from a copy of the label database `base`, which stays unchanged. */
export function extendLabelDatabase(path: string, base: string, facts: LabelSetFacts): LabelDatabaseWriter {
  rmSync(path, { force: true });
  copyFileSync(base, path, constants.COPYFILE_FICLONE | constants.COPYFILE_EXCL);
  const database = new Database(path);
  return createWriter(database, path, { ...facts, highestLabelSetVersion: facts.highestLabelSetVersion + 1 });
}

function createWriter(database: Database.Database, path: string, facts: LabelSetFacts) {
  // There is nothing to roll back to: after a crash the file is deleted, never read.
  database.exec("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA locking_mode = EXCLUSIVE");
  database.exec("PRAGMA cache_size = -65536; BEGIN; DELETE FROM label_set");
  const version = facts.highestLabelSetVersion;
  const insert = createInserter(database, version);
  let added = 0;

  return {
    /** Adds the labels that the database lacks. The others keep their lower version. */
    add: (batch: LabelBatch): void => {
      added += insert(batch);
    },
    /** Stores the counts and the SHA-256 of the file that was fetched, makes the file durable and closes it. */
    finish: (now: Date, sha256?: string): LabelSetFacts => {
      const finished = { ...facts, recordsCount: facts.recordsCount + added };
      database.prepare("INSERT INTO versions VALUES (?, ?, ?)").run(version, added, now.toISOString());
      database
        .prepare("INSERT INTO label_set VALUES (?, ?, ?)")
        .run(facts.labelSetId, version, finished.recordsCount);
      if (sha256 !== undefined) {
        database.exec(sources);
        database.prepare("INSERT INTO sources VALUES (?, ?)").run(version, sha256);
      }
      database.exec("COMMIT");
      database.close();
      flush(path);
      return finished;
    },
    abandon: (): void => {
      database.close();
      rmSync(path, { force: true });
    },
  };
}

const rowsWrittenAtOnce = 32;

function createInserter(database: Database.Database, version: number): (batch: LabelBatch) => number {
  const insertOf = (count: number) => {
    const rows = new Array(count).fill(`(?, ${version}, ?)`).join(", ");
    return database.prepare<[(number | string)[]]>(
      `INSERT INTO labels VALUES ${rows} ON CONFLICT DO NOTHING`,
    );
  };
  const [insertMany, insertOne] = [insertOf(rowsWrittenAtOnce), insertOf(1)];
  const labelAt = database.prepare<[number], string>("SELECT label FROM labels WHERE key = ?").pluck();
  const insertCollision = database.prepare<[Buffer, number, string]>(
    "INSERT INTO collisions VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
  );

  return ({ keys, labels }) => {
    let added = 0;
    for (let start = 0; start < keys.length; start += rowsWrittenAtOnce) {
      const end = Math.min(start + rowsWrittenAtOnce, keys.length);
      const parameters: (number | string)[] = [];
      for (let i = start; i < end; i++) parameters.push(keys[i] ?? 0, labels[i] ?? "");
      const isWhole = end - start === rowsWrittenAtOnce;
      const changes = isWhole ? insertMany.run(parameters).changes : 0;
      added += changes;
      if (changes === rowsWrittenAtOnce) continue;
      // The batch ends, or some labels are there already, or share their key with another label.
      for (let i = start; i < end; i++) {
        const [key, label] = [keys[i] ?? 0, labels[i] ?? ""];
        const there = labelAt.get(key);
        if (there === undefined) added += insertOne.run([key, label]).changes;
        else if (there !== label)
          added += insertCollision.run(Buffer.from(computeDigest(label)), version, label).changes;
      }
    }
    return added;
  };
}

/** Batch of `labels`, with their keys. */
export function createBatch(labels: string[]): LabelBatch {
  const keys = labels.map((label) => labelKey(computeDigest(label)));
  return { keys, labels };
}

/** Row of the table `labels`. Its key is the first 52 bits of the label's keccak-256. */
type LabelRow = [key: number, label: string, version: number];
type CollisionRow = [labelhash: Buffer, label: string, version: number];

/** Reads a label database from end to end. A `LabelFile` heals single labels. */
export type DatabaseReader = ReturnType<typeof createReader> & Pick<LabelFile, "facts" | "versions">;

const rowsReadAtOnce = 4096;

/**
 * Returns what `read` returns for the label database at `path`. Throws a `LabelSourceError` as `openLabelFile` does.
 */
export function readDatabase<T>(path: string, read: (reader: DatabaseReader) => T): T {
  const { facts, versions, database, close } = openLabelFile(path);
  try {
    return read({ facts, versions, ...createReader(database) });
  } finally {
    close();
  }
}

function createReader(database: Database.Database) {
  const page = database
    .prepare<[number, number | null], LabelRow>(
      `SELECT key, label, version FROM labels WHERE key > ? AND version = ifnull(?, version) ORDER BY key LIMIT ${rowsReadAtOnce}`,
    )
    .raw();
  const collisions = database
    .prepare<[number | null], CollisionRow>(
      "SELECT labelhash, label, version FROM collisions WHERE version = ifnull(?, version) ORDER BY labelhash",
    )
    .raw();
  return {
    /** Rows in the order of their keys, in lists of up to 4,096; those of `version` if given. */
    labels: function* (version?: number): Generator<LabelRow[]> {
      for (let last: number | undefined = -1; last !== undefined; ) {
        const rows: LabelRow[] = page.all(last, version ?? null);
        if (rows.length > 0) yield rows;
        last = rows.at(-1)?.[0];
      }
    },
    collisions: (version?: number): CollisionRow[] => collisions.all(version ?? null),
    /** SHA-256 of the file that a version was fetched as; undefined if it was ingested from another one. */
    sourceOf: (version: number): string | undefined => {
      const hasSources = database.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'sources'").get();
      if (hasSources === undefined) return undefined;
      const sum = database.prepare<[number], string>("SELECT sha256 FROM sources WHERE version = ?").pluck();
      return sum.get(version);
    },
  };
}

/** Waits until the content of the file or folder is on disk. */
export function flush(path: string): void {
  const file = openSync(path, "r");
  try {
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}
