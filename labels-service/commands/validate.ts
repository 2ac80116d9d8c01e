import { createProgress } from "../ingest/progress.ts";
import { openDatabaseReader } from "../store/database.ts";
import type { Command } from "./command.ts";
import { parseCommandLine } from "./command-line.ts";
import { validate } from "./validation.ts";

/** `validate`: a full check of the label database; fails when it finds an error. */
export const validateCommand: Command = {
  usage: "[--database PATH]",
  purpose: "check every label and every count of the database",
  run: async (args, { database, stdout, stderr }) => {
    const { values } = parseCommandLine(args, { database: { type: "string" } }, undefined);
    const reader = openDatabaseReader(values.database ?? database);
    try {
      const { labels, faults, descriptions } = validate(reader, createProgress(stderr));
      const checked = `${labels.toLocaleString("en-US")} labels of "${reader.facts.labelSetId}"`;
      if (faults > 0) {
        for (const description of descriptions) stderr.write(`${description}\n`);
        throw new InvalidDatabaseError(`${faults.toLocaleString("en-US")} faults were found in ${checked}.`);
      }
      stdout.write(`${checked}, versions 0 to ${reader.facts.highestLabelSetVersion}, are sound.\n`);
    } finally {
      reader.close();
    }
  },
};

/** The database has errors that readers must not rely on. */
class InvalidDatabaseError extends Error {
  override name = "InvalidDatabaseError";
}
