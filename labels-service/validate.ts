import { digestOfText } from "../src/ens/keccak.ts";
import { labelKey } from "../src/labels/digests.ts";
import type { Progress } from "./ingest/progress.ts";
import type { LabelScan } from "./store/database-reader.ts";

/** What a full check found: every fault is counted, the first ones are described. */
export type Validation = { labels: number; faults: number; descriptions: string[] };

const describedFaults = 20;

/**
 * Checks all that readers of the database rely on: every label has the keccak-256 it is stored under, versions
 * run from 0 to the highest, and all counts are those of the rows.
 */
export function validate(scan: LabelScan, progress: Progress): Validation {
  const { facts, versions } = scan;
  const result: Validation = { labels: 0, faults: 0, descriptions: [] };
  const fault = (description: string) => {
    result.faults++;
    if (result.descriptions.length < describedFaults) result.descriptions.push(description);
  };

  for (const rows of scan.labels()) {
    for (const [key, label] of rows) {
      if (labelKey(digestOfText(label)) !== key) fault(`The label under key ${key} has another labelhash.`);
    }
    result.labels += rows.length;
    progress.report("validating", result.labels, facts.recordsCount && result.labels / facts.recordsCount);
  }
  for (const [labelhash, label] of scan.collisions()) {
    if (!digestOfText(label).equals(labelhash)) {
      fault(`The colliding label under 0x${labelhash.toString("hex")} has another labelhash.`);
    }
    result.labels++;
  }
  progress.finish();

  if (result.labels !== facts.recordsCount) {
    fault(`There are ${result.labels} labels, but ${facts.recordsCount} are recorded.`);
  }
  let ofRecordedVersions = 0;
  for (const { version, recordsCount } of versions) {
    const count = scan.countOf(version);
    ofRecordedVersions += count;
    if (count !== recordsCount) {
      fault(`Version ${version} has ${count} labels, but ${recordsCount} are recorded.`);
    }
  }
  const strays = result.labels - ofRecordedVersions;
  if (strays !== 0) fault(`${strays} labels are of versions that are not recorded.`);
  const recorded = versions.map(({ version }) => version).join(", ");
  const expected = Array.from({ length: facts.highestLabelSetVersion + 1 }, (_, i) => i).join(", ");
  if (recorded !== expected) fault(`Versions ${recorded || "none"} are recorded; expected ${expected}.`);
  return result;
}
