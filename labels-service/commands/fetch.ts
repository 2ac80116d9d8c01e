import { existsSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { statfs } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { Readable } from "node:stream";
import { setTimeout } from "node:timers/promises";
import type { LabelSetPin } from "../../src/labels/label-set.ts";
import { countNoun, escapeControls } from "../../src/log/json-log.ts";
import { createProgressLog, formatMegabytes } from "../../src/log/progress-log.ts";
import type { FormatName } from "../formats/formats.ts";
import { checkSequence, type IngestOptions, ingestFolder, lockFolder } from "../ingest/ingest.ts";
import { openInput } from "../ingest/read-input.ts";
import { type DatabaseReader, readDatabase } from "../store/database.ts";
import {
  computeSum,
  DownloadError,
  type DownloadOptions,
  downloadFile,
  downloadText,
  sizeOf,
} from "./download.ts";

/** Where a label set version can be had. Without `sha256` the sum is in a file beside it. */
export type LabelSetSource = LabelSetPin & {
  format: FormatName;
  /** Places of the same file, in the order in which they are tried. */
  urls: [string, ...string[]];
  licenceUrl: string;
  sha256?: string;
  /** Labels that the version adds. */
  records?: number;
};

/** Finds a label set version on a server, or in the known places of The Graph's table. */
export function findLabelSet({ labelSetId, labelSetVersion }: LabelSetPin, server: string): LabelSetSource {
  const file = `${server}/labelsets/${labelSetId}_${labelSetVersion}.ensrainbow`;
  const set = { labelSetId, labelSetVersion };
  if (labelSetId !== "subgraph" || labelSetVersion !== 0)
    return { ...set, format: "ensrainbow", urls: [file], licenceUrl: `${file}.LICENSE.txt` };
  return {
    ...{ ...set, format: "sql", licenceUrl: `${server}/THE_GRAPH_LICENSE.txt` },
    urls: ["https://storage.googleapis.com/ens-files/ens_names.sql.gz", `${server}/ens_names.sql.gz`],
    sha256: "a6316b1e7770b1f3142f1f21d4248b849a5c6eb998e3e66336912c9750c41f31",
    records: 133_856_894,
  };
}

// One row of `searchlight` 0 is known to be wrong. A file that is damaged, or has another form, has many more.
const invalidAllowed = 10;

export type FetchOptions = DownloadOptions & {
  databasePath: string;
  /** Free bytes of the disk that has a folder. */
  freeBytes(folder: string): Promise<number>;
};

type IngestTask = Omit<IngestOptions, "now">;

/** Limits outside of tests. */
export const productionLimits = {
  idleMs: 30_000,
  wait: (ms: number) => setTimeout(ms),
  freeBytes: async (folder: string) => {
    const { bavail, bsize } = await statfs(folder);
    return bavail * bsize;
  },
};

/**
 * Downloads a label set version, and returns how to ingest it; undefined if the database has it. Resumes what an
 * earlier process left. Throws for another content, a version out of sequence, too little space, and what no place
 * sends.
 */
export async function fetchLabelSet(
  source: LabelSetSource,
  options: FetchOptions,
): Promise<IngestTask | undefined> {
  const { databasePath, stderr } = options;
  const { labelSetId, labelSetVersion, urls, format, records } = source;
  const held = existsSync(databasePath) ? readDatabase(databasePath, readHeld(labelSetVersion)) : undefined;
  const isThere = held?.labelSetId === labelSetId && held.records !== undefined;
  if (!isThere) checkSequence(source, held);
  const sha256 = source.sha256 ?? (await downloadSum(urls[0], options));
  if (isThere) {
    checkContent({ ...source, sha256 }, held);
    return undefined;
  }
  // `ingest` removes the folder with all that is in it.
  const folder = ingestFolder(databasePath);
  const path = join(folder, `${sha256}.download`);
  const unlock = lockFolder(folder);
  try {
    await download({ urls, sha256 }, path, options);
    await keepLicence(source, options);
  } finally {
    unlock();
  }
  const input = openInput(path, Readable.from([]));
  const task = { labelSetId, labelSetVersion, format, records, sha256, input, invalidAllowed };
  return { ...task, databasePath, stderr, checkpointBytes: 256_000_000 };
}

const readHeld =
  (version: number) =>
  ({ facts, versions, sourceOf }: DatabaseReader) => ({
    ...facts,
    records: versions.find((one) => one.version === version)?.recordsCount,
    sha256: sourceOf(version),
  });

type Held = ReturnType<ReturnType<typeof readHeld>>;

/** Throws if a version in the database has another content than its source. A count stands for an unknown sum. */
function checkContent({ labelSetId, labelSetVersion, sha256, records }: LabelSetSource, held: Held): void {
  const isSame =
    held.sha256 === undefined ? records === undefined || records === held.records : held.sha256 === sha256;
  if (isSame) return;
  throw new Error(
    `The database has another version ${labelSetVersion} of "${labelSetId}" with ${countNoun(held.records ?? 0, "label")}. ` +
      "A version is never replaced: keep it, or delete the database (npm run labels -- purge) and fetch all versions again.",
  );
}

async function downloadSum(url: string, options: FetchOptions): Promise<string> {
  const text = await downloadText(`${url}.sha256sum`, options);
  const [sum] = /^[0-9a-f]{64}(?=\s|$)/i.exec(text) ?? [];
  if (sum !== undefined) return sum.toLowerCase();
  throw new Error(`The file of the SHA-256 at ${new URL(url).host} does not begin with one.`);
}

/** Downloads a file of a known sum to `path`, from the first place that has it. */
async function download(
  { urls, sha256 }: { urls: string[]; sha256: string },
  path: string,
  options: FetchOptions,
): Promise<void> {
  const folder = dirname(path);
  const others = readdirSync(folder).filter((name) => name.endsWith(".download") && name !== basename(path));
  for (const name of others) rmSync(join(folder, name));
  const checkSize = await createSpaceCheck(options);
  const progress = createProgressLog(options.stderr, { format: formatMegabytes });
  if ((await computeSum(path, progress)) === sha256) return;
  const problems: string[] = [];
  for (const url of urls) {
    try {
      return await downloadFile(url, { path, sha256, progress, checkSize }, options);
    } catch (error) {
      if (!(error instanceof DownloadError)) throw error;
      problems.push(error.message);
    }
  }
  throw new Error(`${problems.join(" ")} The next run of this command resumes.`);
}

// The table of names: 6.4 GB of download become 4 GB of database and 3.5 GB of temporary files (docs/labels.md).
const spacePerByte = { database: 0.65, ingest: 0.55 };

/** Creates a check that the disk has room for a download of some bytes and for its ingest. */
async function createSpaceCheck({ databasePath, freeBytes }: FetchOptions): Promise<(bytes: number) => void> {
  const [folder, ingested] = [dirname(databasePath), ingestFolder(databasePath)];
  // What an earlier process left is used or overwritten. The ingest copies the database.
  const sizes = readdirSync(ingested).map((name) => sizeOf(join(ingested, name)));
  const room = sizes.reduce((sum, size) => sum + size, await freeBytes(folder)) - sizeOf(databasePath);
  return (bytes) => {
    const needed = bytes * (1 + spacePerByte.database + spacePerByte.ingest);
    if (needed <= room) return;
    throw new Error(
      `Free ${formatMegabytes(needed - room)} in ${JSON.stringify(folder)}, or choose another disk with --database: ` +
        `the download takes ${formatMegabytes(bytes)}, the database ${formatMegabytes(bytes * spacePerByte.database)}, ` +
        `and its ingest ${formatMegabytes(bytes * spacePerByte.ingest)} while it runs.`,
    );
  };
}

/** Keeps the licence beside the database. Without one it remarks that. */
async function keepLicence(source: LabelSetSource, options: FetchOptions): Promise<void> {
  const { labelSetId, labelSetVersion, licenceUrl } = source;
  const path = join(dirname(options.databasePath), `${labelSetId}_${labelSetVersion}.LICENSE.txt`);
  try {
    writeFileSync(path, await downloadText(licenceUrl, options));
  } catch (error) {
    options.stderr.write(`The licence text is not kept: ${escapeControls((error as Error).message)}\n`);
  }
}
