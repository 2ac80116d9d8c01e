import type { Command } from "@commander-js/extra-typings";
import { digestOfText } from "../../src/ens/keccak.ts";
import { labelKey } from "../../src/labels/digests.ts";
import { counted } from "../../src/log/json-log.ts";
import { createProgress, type Output } from "../ingest/progress.ts";
import { type DatabaseReader, openDatabaseReader } from "../store/database.ts";
import { type CommandContext, databaseCommand } from "./command-line.ts";

/** `validate`: a full check of the label database; fails when it finds an error. */
export const addValidate = (program: Command, context: CommandContext) =>
  databaseCommand(program, "validate", context)
    .description("check every label and every count of the database")
    .action(({ database }) => {
      const { stdout, stderr } = context;
      const reader = openDatabaseReader(database);
      try {
        const { labels, faults, descriptions } = validate(reader, stderr);
        const checked = `${counted(labels, "label")} of "${reader.facts.labelSetId}"`;
        if (faults > 0) {
          for (const description of descriptions) stderr.write(`${description}\n`);
          throw new Error(`${counted(faults, "fault")} in ${checked}.`);
        }
        stdout.write(`${checked}, versions 0 to ${reader.facts.highestLabelSetVersion}: no faults.\n`);
      } finally {
        reader.close();
      }
    });

/** What a full check found: all faults are counted, the first ones described. */
export type Validation = { labels: number; faults: number; descriptions: string[] };

const describedFaults = 20;

/**
 * Checks all that readers of the database rely on: every label has the keccak-256 it is stored under, versions run from 0
 * to the highest, and all counts agree with the rows.
 */
export function validate(reader: DatabaseReader, stderr: Output): Validation {
  const result: Validation = { labels: 0, faults: 0, descriptions: [] };
  const report = (description: string) => {
    result.faults++;
    if (result.descriptions.length < describedFaults) result.descriptions.push(description);
  };
  result.labels = checkLabels(reader, stderr, report);
  checkCounts(reader, result.labels, report);
  return result;
}

function checkLabels(reader: DatabaseReader, stderr: Output, report: (fault: string) => void): number {
  const progress = createProgress(stderr);
  const { recordsCount } = reader.facts;
  let labels = 0;
  for (const rows of reader.labels()) {
    for (const [key, label] of rows) {
      if (labelKey(digestOfText(label)) !== key) report(`The label under key ${key} has another labelhash.`);
    }
    labels += rows.length;
    progress("validating", labels, recordsCount && labels / recordsCount);
  }
  for (const [labelhash, label] of reader.collisions()) {
    if (!digestOfText(label).equals(labelhash)) {
      report(`The colliding label under 0x${labelhash.toString("hex")} has another labelhash.`);
    }
    labels++;
  }
  return labels;
}

function checkCounts(
  { facts, versions, countOf }: DatabaseReader,
  labels: number,
  report: (fault: string) => void,
) {
  if (labels !== facts.recordsCount) {
    report(`There are ${labels} labels, but ${facts.recordsCount} are recorded.`);
  }
  let ofRecordedVersions = 0;
  for (const { version, recordsCount } of versions) {
    const count = countOf(version);
    ofRecordedVersions += count;
    if (count !== recordsCount) {
      report(`Version ${version} has ${count} labels, but ${recordsCount} are recorded.`);
    }
  }
  const strays = labels - ofRecordedVersions;
  if (strays !== 0) report(`${strays} labels are of versions that are not recorded.`);
  const recorded = versions.map(({ version }) => version).join(", ");
  const expected = Array.from({ length: facts.highestLabelSetVersion + 1 }, (_, i) => i).join(", ");
  if (recorded !== expected) report(`Versions ${recorded || "none"} are recorded; expected ${expected}.`);
}
