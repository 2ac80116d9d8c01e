import { computeDigest } from "../../src/ens/keccak.ts";
import { isPreimage, labelKey } from "../../src/labels/digests.ts";
import { createProgressLog, type Output } from "../../src/log/progress-log.ts";
import type { DatabaseReader } from "../store/database.ts";

const describedFaults = 20;

/**
 * Checks what readers of the database rely on: every label's keccak-256, versions from 0 to the highest, and counts
 * that match the rows. Counts all faults, and describes the first 20.
 */
export function validate({ facts, versions, ...rows }: DatabaseReader, stderr: Output) {
  const found = { labels: 0, faults: 0, descriptions: [] as string[] };
  const report = (description: string) => {
    found.faults++;
    if (found.descriptions.length < describedFaults) found.descriptions.push(description);
  };
  const counts = new Map<number, number>();
  const count = (version: number) => {
    found.labels++;
    counts.set(version, (counts.get(version) ?? 0) + 1);
  };
  const progress = createProgressLog(stderr);
  for (const some of rows.labels()) {
    for (const [key, label, version] of some) {
      if (labelKey(computeDigest(label)) !== key) report(`The label under key ${key} has another labelhash.`);
      count(version);
    }
    progress("validating", found.labels, facts.recordsCount && found.labels / facts.recordsCount);
  }
  for (const [labelhash, label, version] of rows.collisions()) {
    if (!isPreimage(label, labelhash))
      report(`The colliding label under 0x${labelhash.toString("hex")} has another labelhash.`);
    count(version);
  }
  if (found.labels !== facts.recordsCount)
    report(`There are ${found.labels} labels, but ${facts.recordsCount} are recorded.`);
  let strays = found.labels;
  for (const { version, recordsCount } of versions) {
    const has = counts.get(version) ?? 0;
    strays -= has;
    if (has !== recordsCount)
      report(`Version ${version} has ${has} labels, but ${recordsCount} are recorded.`);
  }
  if (strays > 0) report(`${strays} labels are of versions that are not recorded.`);
  const recorded = versions.map(({ version }) => version).join(", ");
  const expected = Array.from({ length: facts.highestLabelSetVersion + 1 }, (_, i) => i).join(", ");
  if (recorded !== expected) report(`Versions ${recorded || "none"} are recorded; expected ${expected}.`);
  return found;
}
