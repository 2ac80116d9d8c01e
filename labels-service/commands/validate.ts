import { createProgress } from "../ingest/progress.ts";
import { openLabelScan } from "../store/database-reader.ts";
import { validate } from "../validate.ts";
import { type Command, parseCommandLine } from "./command-line.ts";

/** `validate`: a full check of the label database; fails when it finds a fault. */
export const validateCommand: Command = {
  usage: "[--database PATH]",
  purpose: "check every label and every count of the database",
  run: async (args, { database, stdout, stderr }) => {
    const { values } = parseCommandLine(args, { database: { type: "string" } }, undefined);
    const scan = openLabelScan(values.database ?? database);
    try {
      const { labels, faults, descriptions } = validate(scan, createProgress(stderr));
      const checked = `${labels.toLocaleString("en-US")} labels of "${scan.facts.labelSetId}"`;
      if (faults > 0) {
        for (const description of descriptions) stderr.write(`${description}\n`);
        throw new InvalidDatabaseError(`${faults.toLocaleString("en-US")} faults were found in ${checked}.`);
      }
      stdout.write(`${checked}, versions 0 to ${scan.facts.highestLabelSetVersion}, are sound.\n`);
    } finally {
      scan.close();
    }
  },
};

/** The database holds what readers must not rely on. */
class InvalidDatabaseError extends Error {
  override name = "InvalidDatabaseError";
}
