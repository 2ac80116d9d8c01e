import { closeSync, constants, copyFileSync, fsyncSync, openSync, rmSync } from "node:fs";
import Database from "better-sqlite3";
import { digestOfText } from "../../src/ens/keccak.ts";
import { labelKey } from "../../src/labels/digests.ts";
import { labelDatabaseApplicationId } from "../../src/labels/label-file.ts";
import { type LabelSetFacts, labelDatabaseSchemaVersion } from "../../src/labels/label-set.ts";

// The layout is documented in docs/labels.md for those who open the file with other programs. Pages are small because a
// look-up in a large label set mostly waits for memory, and touches less of it this way.
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

/** Labels and the keys they are stored under, in the same order. Ascending keys are written fastest. */
export type LabelBatch = { keys: number[]; labels: string[] };

/** A label database that is being built; readers refuse it until `finish` has been called. */
export type LabelDatabaseWriter = {
  /** Adds the labels that the database lacks; those it has keep their lower version. */
  add(batch: LabelBatch): void;
  /** Stores the counts, makes the file durable and closes it. */
  finish(now: Date): LabelSetFacts;
  /** Closes and deletes the file. */
  abandon(): void;
};

/** Starts a label database with a label set's version 0 at `path`, replacing what is there. */
export function createLabelDatabase(path: string, labelSetId: string): LabelDatabaseWriter {
  rmSync(path, { force: true });
  const database = new Database(path);
  database.exec(schema);
  return writer(database, path, { labelSetId, highestLabelSetVersion: 0, recordsCount: 0 });
}

/** Starts the next version at `path` from a copy of the label database `base`, which stays as it is. */
export function extendLabelDatabase(path: string, base: string, facts: LabelSetFacts): LabelDatabaseWriter {
  rmSync(path, { force: true });
  copyFileSync(base, path, constants.COPYFILE_FICLONE | constants.COPYFILE_EXCL);
  const database = new Database(path);
  return writer(database, path, { ...facts, highestLabelSetVersion: facts.highestLabelSetVersion + 1 });
}

function writer(database: Database.Database, path: string, facts: LabelSetFacts): LabelDatabaseWriter {
  // Nothing to roll back to: after a crash the file is deleted, never read.
  database.exec("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA locking_mode = EXCLUSIVE");
  database.exec("PRAGMA cache_size = -65536; BEGIN; DELETE FROM label_set");
  const version = facts.highestLabelSetVersion;
  const insert = createInserter(database, version);
  let added = 0;

  return {
    add: (batch) => {
      added += insert(batch);
    },
    finish: (now) => {
      const finished = { ...facts, recordsCount: facts.recordsCount + added };
      database.prepare("INSERT INTO versions VALUES (?, ?, ?)").run(version, added, now.toISOString());
      database
        .prepare("INSERT INTO label_set VALUES (?, ?, ?)")
        .run(facts.labelSetId, version, finished.recordsCount);
      database.exec("COMMIT");
      database.close();
      flush(path);
      return finished;
    },
    abandon: () => {
      database.close();
      rmSync(path, { force: true });
    },
  };
}

const rowsAtOnce = 32;

/** Inserts the labels of a batch that the database lacks, and returns how many they were. */
function createInserter(database: Database.Database, version: number): (batch: LabelBatch) => number {
  const insertRows = (count: number) =>
    database.prepare<[(number | string)[]]>(
      `INSERT INTO labels VALUES ${new Array(count).fill(`(?, ${version}, ?)`).join(", ")} ON CONFLICT DO NOTHING`,
    );
  const [insertOne, insertMany] = [insertRows(1), insertRows(rowsAtOnce)];
  const labelAt = database.prepare<[number], string>("SELECT label FROM labels WHERE key = ?").pluck();
  const insertCollision = database.prepare<[Buffer, number, string]>(
    "INSERT INTO collisions VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
  );

  const keepCollisions = ({ keys, labels }: LabelBatch, start: number, end: number) => {
    let kept = 0;
    for (let i = start; i < end; i++) {
      const [key, label] = [keys[i] ?? 0, labels[i] ?? ""];
      if (labelAt.get(key) === label) continue;
      kept += insertCollision.run(Buffer.from(digestOfText(label)), version, label).changes;
    }
    return kept;
  };

  return (batch) => {
    const { keys, labels } = batch;
    const parameters = new Array<number | string>(2 * rowsAtOnce);
    const whole = keys.length - (keys.length % rowsAtOnce);
    let added = 0;
    for (let start = 0; start < whole; start += rowsAtOnce) {
      for (let i = 0; i < rowsAtOnce; i++) {
        parameters[2 * i] = keys[start + i] ?? 0;
        parameters[2 * i + 1] = labels[start + i] ?? "";
      }
      const { changes } = insertMany.run(parameters);
      added += changes;
      if (changes < rowsAtOnce) added += keepCollisions(batch, start, start + rowsAtOnce);
    }
    for (let i = whole; i < keys.length; i++) {
      const { changes } = insertOne.run([keys[i] ?? 0, labels[i] ?? ""]);
      added += changes;
      if (changes === 0) added += keepCollisions(batch, i, i + 1);
    }
    return added;
  };
}

/**
 * Creates the file for reading and writing, instead of what is at `path`: a symbolic link is removed, never followed. Throws
 * if somebody else puts something there meanwhile. Returns its descriptor.
 */
export function createFile(path: string): number {
  rmSync(path, { force: true });
  return openSync(path, "wx+");
}

/** Opens a file that `createFile` created, for reading and writing; throws if it has become a symbolic link. */
export function reopenFile(path: string): number {
  return openSync(path, constants.O_RDWR | constants.O_NOFOLLOW);
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

/** The batch of `labels`, with their keys computed here. */
export function batchOf(labels: string[]): LabelBatch {
  const keys = labels.map((label) => labelKey(digestOfText(label)));
  return { keys, labels };
}
