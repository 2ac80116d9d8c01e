import packageJson from "../../package.json" with { type: "json" };
import { openLabelFile } from "./label-file.ts";
import { labelDatabaseSchemaVersion } from "./label-set.ts";
import { counted, type LabelSource } from "./source.ts";

/** Reads labels from a label database in this process; every answer is synchronous. */
export function openFileSource(path: string, labelSetVersion: number): LabelSource {
  const file = openLabelFile(path);
  return {
    heal: (labelhash) => counted(file.heal(labelhash, labelSetVersion)),
    describe: async () => ({
      ...file.facts,
      version: packageJson.version,
      schemaVersion: labelDatabaseSchemaVersion,
    }),
    close: () => file.close(),
  };
}
