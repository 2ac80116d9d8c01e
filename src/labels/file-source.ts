import packageJson from "../../package.json" with { type: "json" };
import { checkedLabelhash } from "./checked-labelhash.ts";
import { labelCounters } from "./counters.ts";
import { openLabelFile } from "./label-file.ts";
import { labelDatabaseSchemaVersion } from "./label-set.ts";
import type { LabelSource } from "./source.ts";

/** Reads labels from a label database in this process; every answer is synchronous. */
export function openFileSource(path: string, labelSetVersion: number): LabelSource {
  const file = openLabelFile(path);
  return {
    heal: (labelhash) => {
      const label = file.heal(checkedLabelhash(labelhash), labelSetVersion);
      if (label === undefined) labelCounters.unknown++;
      else labelCounters.healed++;
      return label;
    },
    describe: async () => ({
      ...file.facts,
      version: packageJson.version,
      schemaVersion: labelDatabaseSchemaVersion,
    }),
    close: () => file.close(),
  };
}
