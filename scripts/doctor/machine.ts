import { accessSync, constants, existsSync } from "node:fs";
import { statfs } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import type { Config } from "../../src/config/environment.ts";
import { openLabels } from "../../src/labels/open-labels.ts";
import { holdEmbeddedDatabase } from "../preflight.ts";

/** What one check found: `remedy` says what to do about a warning or failure. */
export type Finding = { subject: string; state: "ok" | "warning" | "fail"; found: string; remedy?: string };

/** Findings about a subject. */
export const about = (subject: string) => ({
  ok: (found: string): Finding => ({ subject, state: "ok", found }),
  warning: (found: string, remedy: string): Finding => ({ subject, state: "warning", found, remedy }),
  fail: (found: string, remedy: string): Finding => ({ subject, state: "fail", found, remedy }),
});

/** A number of bytes for people. */
export const inGigabytes = (bytes: number) => `${(bytes / 1e9).toFixed(bytes < 1e10 ? 1 : 0)} GB`;

/** What is known of a database; without `freeBytes` if the space on its disk is unknown. */
export type Place = { findings: Finding[]; freeBytes?: number };

/** Tries the folder of the embedded database: rights, other processes, space. */
export async function examineEmbedded({ pgliteDirectory, namespace }: Config): Promise<Place> {
  const { ok, warning, fail } = about("database");
  let place = resolve(pgliteDirectory);
  while (!existsSync(place)) place = dirname(place);
  try {
    accessSync(place, constants.W_OK | constants.X_OK);
    if (place === resolve(pgliteDirectory)) holdEmbeddedDatabase(pgliteDirectory).release();
  } catch (error) {
    return {
      findings: [fail((error as Error).message, "Set PGLITE_DIRECTORY, or change the folder's owner.")],
    };
  }
  const { bavail, bsize } = await statfs(place);
  const found = `embedded in ${pgliteDirectory}, ${inGigabytes(bavail * bsize)} free`;
  const isSmall = namespace === "ens-test-env" || namespace === "holesky";
  const remedy = "Use Postgres (DATABASE_URL): the embedded database resumes no interrupted backfill.";
  return { findings: [isSmall ? ok(found) : warning(found, remedy)], freeBytes: bavail * bsize };
}

/** Tries the label source: set, versions, and how many labels it has. */
export async function examineLabels({ labelsUrl, labelSet, namespace }: Config): Promise<Finding[]> {
  const { ok, warning, fail } = about("labels");
  let outage: unknown = "nothing in 8 s";
  const signal = AbortSignal.timeout(8_000);
  const log = (_level: string, _message: string, fields?: Record<string, unknown>) => {
    outage = fields?.["reason"] ?? outage;
  };
  try {
    const labels = await openLabels({ url: labelsUrl, ...labelSet, signal, log });
    const { labelSetId, highestLabelSetVersion, recordsCount } = await labels.describe();
    await labels.close();
    const found = `set ${labelSetId}, versions 0 to ${highestLabelSetVersion}, ${recordsCount.toLocaleString("en")} labels`;
    // Mainnet's base set has 133,856,894 (docs/labels.md).
    const isPartial = namespace === "mainnet" && recordsCount < 100_000_000;
    return [isPartial ? warning(found, "Many names stay [labelhash]: see docs/labels.md.") : ok(found)];
  } catch (error) {
    const { name, message } = error as Error;
    if (signal.aborted)
      return [fail(`no answer: ${outage}`, "Start the label service, or correct LABELS_URL.")];
    if (!/^Label(Source|File)Error$/.test(name)) throw error;
    return [fail(message, "Correct LABELS_URL, or import the set (docs/labels.md).")];
  }
}
