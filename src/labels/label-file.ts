import Database from "better-sqlite3";
import type { Hex } from "viem";
import packageJson from "../../package.json" with { type: "json" };
import { digestLength } from "../ens/keccak.ts";
import { isPreimage, labelKey } from "./digests.ts";
import { type LabelSetFacts, labelDatabaseSchemaVersion, labelSetIdPattern } from "./label-set.ts";
import { countHeal, type LabelSource, LabelSourceError } from "./source.ts";

/** A label database, open for reading. It goes on reading the file that it opened, even if another replaces it. */
export type LabelFile = ReturnType<typeof openLabelFile>;

/** A short label, the number of bytes of a long one, or undefined if there is none. */
export type ShortHeal = string | number | undefined;

/** `application_id` of a label database: "ENSL". */
export const labelDatabaseApplicationId = 0x45_4e_53_4c;

/**
 * Opens a label database. Throws a `LabelSourceError` if the file is absent or not a finished label database of this
 * schema version.
 * @example openLabelFile("data/labels.sqlite").heal("0x4f5b812789fc606be1b3b16908db13fc7a9adf7ca72641f84d75b47069d3d7f0", 0) // "eth"
 */
export function openLabelFile(path: string) {
  const database = openDatabase(path);
  try {
    const facts = readFacts(database, path);
    // The memory map serves the pages. The transaction saves a file lock for each lookup.
    database.pragma("mmap_size = 2147418112");
    database.pragma("cache_size = -16384");
    database.exec("BEGIN");
    return {
      facts,
      /** Labels that each version added, as counted by its ingest. */
      versions: database
        .prepare<[], { version: number; recordsCount: number; ingestedAt: string }>(
          "SELECT version, records_count AS recordsCount, ingested_at AS ingestedAt FROM versions ORDER BY version",
        )
        .all(),
      ...prepareLookups(database),
      /** Within a transaction, for statements that read from end to end. */
      database,
      close: () => void database.close(),
    };
  } catch (error) {
    database.close();
    throw error instanceof LabelSourceError
      ? error
      : createUnusableError(path, (error as Error).message, error);
  }
}

/** Opens a label database as a label source in this process, which answers synchronously. */
export function openFileSource(path: string, labelSetVersion: number): LabelSource {
  const file = openLabelFile(path);
  return {
    heal: (labelhash) => countHeal(file.heal(labelhash, labelSetVersion)),
    describe: async () => ({
      ...file.facts,
      version: packageJson.version,
      schemaVersion: labelDatabaseSchemaVersion,
    }),
    close: () => file.close(),
  };
}

function prepareLookups(database: Database.Database) {
  const byKey = database
    .prepare<[number], [version: number, label: string]>("SELECT version, label FROM labels WHERE key = ?")
    .raw();
  const byLabelhash = database
    .prepare<[Buffer], [version: number, label: string]>(
      "SELECT version, label FROM collisions WHERE labelhash = ?",
    )
    .raw();
  const hasCollisions = database.prepare("SELECT 1 FROM collisions").get() !== undefined;

  const healAt = (digests: Uint8Array, start: number, highestVersion: number): string | undefined => {
    const row = byKey.get(labelKey(digests, start));
    if (row === undefined) return undefined;
    const [version, label] = row;
    if (isPreimage(label, digests, start)) return version <= highestVersion ? label : undefined;
    const other = byLabelhash.get(Buffer.from(digests.subarray(start, start + digestLength)));
    if (other === undefined || other[0] > highestVersion) return undefined;
    return isPreimage(other[1], digests, start) ? other[1] : undefined;
  };

  // Fetching one value a row is faster than two. A LEFT JOIN keeps the order of its left side.
  const byKeys = database
    .prepare<[(number | null)[]], string | number | null>(
      `SELECT iif(version <= ?, iif(octet_length(label) <= ?, label, octet_length(label)), NULL)
        FROM (VALUES ${new Array(keysAtOnce).fill("(?)").join(", ")}) AS wanted
          LEFT JOIN labels ON labels.key = wanted.column1`,
    )
    .pluck();
  const healAll = (
    digests: Uint8Array,
    highestVersion: number,
    { places, longest }: { places: Uint32Array; longest: number },
  ): ShortHeal[] => {
    const answers: ShortHeal[] = [];
    for (let start = 0; start < places.length; start += keysAtOnce) {
      const asked = places.subarray(start, start + keysAtOnce);
      const parameters: (number | null)[] = [highestVersion, longest];
      for (let i = 0; i < asked.length; i++) {
        parameters.push(labelKey(digests, (asked[i] ?? 0) * digestLength));
      }
      while (parameters.length < keysAtOnce + 2) parameters.push(null);
      const labels = byKeys.all(parameters);
      for (let i = 0; i < asked.length; i++) {
        const at = (asked[i] ?? 0) * digestLength;
        const label = labels[i] ?? undefined;
        const isAnswer = typeof label === "string" ? isPreimage(label, digests, at) : label || !hasCollisions;
        answers.push(isAnswer ? label : healAt(digests, at, highestVersion));
      }
    }
    return answers;
  };

  const oneDigest = Buffer.alloc(digestLength);
  return {
    /**
     * Label of a labelhash, if a label set version of at most `highestVersion` has it. Throws a `TypeError` unless the
     * labelhash has 64 digits.
     */
    heal: (labelhash: Hex, highestVersion: number): string | undefined => {
      if (oneDigest.write(labelhash.slice(2), "hex") < digestLength)
        throw new TypeError(`${JSON.stringify(labelhash)} is not a labelhash.`);
      return healAt(oneDigest, 0, highestVersion);
    },
    /**
     * Heals the labelhashes at `places`, in that order, at a fraction of the cost of `heal`. `digests` has 32 bytes for
     * each. A label of more than `longest` bytes is neither read nor checked: the result is its number of bytes. Keep
     * lists short, since all labels are held in memory.
     */
    healAll,
  };
}

const keysAtOnce = 100;

function openDatabase(path: string): Database.Database {
  try {
    return new Database(path, { readonly: true, fileMustExist: true });
  } catch (error) {
    throw createUnusableError(path, "there is no such file, or it cannot be read", error);
  }
}

function readFacts(database: Database.Database, path: string): LabelSetFacts {
  if (database.pragma("application_id", { simple: true }) !== labelDatabaseApplicationId) {
    throw createUnusableError(path, "it is not a label database");
  }
  const schemaVersion = database.pragma("user_version", { simple: true });
  if (schemaVersion !== labelDatabaseSchemaVersion) {
    throw createUnusableError(
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
  if (facts === undefined) throw createUnusableError(path, "it was not finished; ingest the label set again");
  if (!labelSetIdPattern.test(facts.labelSetId))
    throw createUnusableError(path, "its label set id is malformed");
  return facts;
}

const createUnusableError = (path: string, reason: string, cause?: unknown) =>
  new LabelSourceError(`Label database ${JSON.stringify(path)} cannot be used: ${reason}.`, { cause });
