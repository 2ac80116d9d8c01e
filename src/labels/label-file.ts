import Database from "better-sqlite3";
import type { Hex } from "viem";
import { keccak256OfText } from "./keccak.ts";
import { isLabelSetId, type LabelSetFacts, labelDatabaseSchemaVersion } from "./label-set.ts";

/** A label database, open for reading. All answers are those of the file as it was when it was opened. */
export type LabelFile = {
  path: string;
  facts: LabelSetFacts;
  /** The label, if a label set of at most `highestVersion` brought it. Expects a normalised labelhash. */
  heal(labelhash: Hex, highestVersion: number): string | undefined;
  /** As `heal`, for each labelhash in order. Half the cost a label; keep lists short, answers are in memory. */
  healAll(labelhashes: readonly Hex[], highestVersion: number): (string | undefined)[];
  close(): void;
};

/** `application_id` of a label database: "ENSL". */
export const labelDatabaseApplicationId = 0x45_4e_53_4c;

/**
 * The key under which a label is stored: the first 52 bits of its labelhash, which a JavaScript number holds
 * exactly. Labels that share a key are told apart by their keccak-256; the second one is kept in `collisions`.
 */
export function labelKey(labelhash: Hex): number {
  let key = 0;
  for (let i = 2; i < 15; i++) {
    const code = labelhash.charCodeAt(i);
    // The value of a lower-case hex digit, without a branch.
    key = key * 16 + (code & 15) + (code >> 6) * 9;
  }
  return key;
}

/** Opens a label database. Throws `LabelFileError` when there is none, or not a finished one of this schema. */
export function openLabelFile(path: string): LabelFile {
  const database = openDatabase(path);
  try {
    const facts = readFacts(database, path);
    // Pages are read through the memory map. The transaction saves taking file locks for each lookup.
    database.pragma("mmap_size = 2147418112");
    database.pragma("cache_size = -16384");
    database.exec("BEGIN");
    return { path, facts, ...lookups(database), close: () => void database.close() };
  } catch (error) {
    database.close();
    throw error instanceof LabelFileError ? error : new LabelFileError(path, messageOf(error), error);
  }
}

function lookups(database: Database.Database): Pick<LabelFile, "heal" | "healAll"> {
  const byKey = database
    .prepare<[number], [version: number, label: string]>("SELECT version, label FROM labels WHERE key = ?")
    .raw();
  // One value a row is fetched faster than two. A LEFT JOIN keeps the order of its left side.
  const byKeys = database
    .prepare<[(number | null)[]], string | null>(
      `SELECT iif(version <= ?, label, NULL)
        FROM (VALUES ${new Array(keysAtOnce).fill("(?)").join(", ")}) AS wanted
        LEFT JOIN labels ON labels.key = wanted.column1`,
    )
    .pluck();
  const byLabelhash = database
    .prepare<[Buffer], [version: number, label: string]>(
      "SELECT version, label FROM collisions WHERE labelhash = ?",
    )
    .raw();
  const hasCollisions = database.prepare("SELECT 1 FROM collisions").get() !== undefined;

  const heal = (labelhash: Hex, highestVersion: number): string | undefined => {
    const row = byKey.get(labelKey(labelhash));
    if (row === undefined) return undefined;
    const [version, label] = row;
    if (isPreimage(label, labelhash)) return version <= highestVersion ? label : undefined;
    const [otherVersion, otherLabel] = byLabelhash.get(Buffer.from(labelhash.slice(2), "hex")) ?? [0];
    if (otherLabel === undefined || !isPreimage(otherLabel, labelhash)) return undefined;
    return otherVersion <= highestVersion ? otherLabel : undefined;
  };

  const healSome = (labelhashes: readonly Hex[], start: number, end: number, highestVersion: number) => {
    const parameters: (number | null)[] = [highestVersion];
    for (let i = start; i < end; i++) parameters.push(labelKey(labelhashes[i] ?? "0x"));
    while (parameters.length <= keysAtOnce) parameters.push(null);
    return byKeys.all(parameters);
  };

  return {
    heal,
    healAll: (labelhashes, highestVersion) => {
      const answers: (string | undefined)[] = [];
      for (let start = 0; start < labelhashes.length; start += keysAtOnce) {
        const end = Math.min(start + keysAtOnce, labelhashes.length);
        const labels = healSome(labelhashes, start, end, highestVersion);
        for (let i = start; i < end; i++) {
          const labelhash = labelhashes[i] ?? "0x";
          const label = labels[i - start] ?? undefined;
          const isAnswer = label === undefined ? !hasCollisions : isPreimage(label, labelhash);
          answers.push(isAnswer ? label : heal(labelhash, highestVersion));
        }
      }
      return answers;
    },
  };
}

/** As many keys are looked up by one statement. */
const keysAtOnce = 50;

const hexDigits = Buffer.from("0123456789abcdef");

/** Whether `labelhash` is the keccak-256 of the label's UTF-8 bytes. */
export function isPreimage(label: string, labelhash: Hex): boolean {
  const digest = keccak256OfText(label);
  for (let i = 0; i < 32; i++) {
    const byte = digest[i] ?? 0;
    if (hexDigits[byte >> 4] !== labelhash.charCodeAt(2 * i + 2)) return false;
    if (hexDigits[byte & 15] !== labelhash.charCodeAt(2 * i + 3)) return false;
  }
  return true;
}

function openDatabase(path: string): Database.Database {
  try {
    return new Database(path, { readonly: true, fileMustExist: true });
  } catch (error) {
    throw new LabelFileError(path, "there is no such file, or it cannot be read", error);
  }
}

function readFacts(database: Database.Database, path: string): LabelSetFacts {
  if (database.pragma("application_id", { simple: true }) !== labelDatabaseApplicationId) {
    throw new LabelFileError(path, "it is not a label database");
  }
  const schemaVersion = database.pragma("user_version", { simple: true });
  if (schemaVersion !== labelDatabaseSchemaVersion) {
    throw new LabelFileError(
      path,
      `its schema version is ${schemaVersion}, this program reads ${labelDatabaseSchemaVersion}; ingest the label set again`,
    );
  }
  const facts = database
    .prepare<[], LabelSetFacts>(
      `SELECT label_set_id AS labelSetId, highest_label_set_version AS highestLabelSetVersion,
        records_count AS recordsCount FROM label_set`,
    )
    .get();
  if (facts === undefined) throw new LabelFileError(path, "it was not finished; ingest the label set again");
  if (!isLabelSetId(facts.labelSetId)) throw new LabelFileError(path, "its label set id is malformed");
  return facts;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** The file is no label database that this program can read. */
export class LabelFileError extends Error {
  override name = "LabelFileError";
  constructor(path: string, reason: string, cause?: unknown) {
    super(`Label database ${JSON.stringify(path)} cannot be used: ${reason}.`, { cause });
  }
}
