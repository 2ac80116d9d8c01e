import { existsSync, rmSync } from "node:fs";
import { createInterface } from "node:readline";
import { escapeControls } from "../../src/log/json-log.ts";
import { ingestFolder, lockFolder } from "../ingest/ingest.ts";
import { type CommandContext, command, databaseOption, UsageError } from "./command-line.ts";

/** `purge`: deletes the label database and the remains of unfinished ingests. */
export const purgeCommand = command({
  options: { ...databaseOption, yes: "" },
  purpose: "delete the database and the remains of unfinished ingests",
  run: async ({ values, database: path }, context) => {
    const folder = ingestFolder(path);
    if (!existsSync(path) && !existsSync(folder)) {
      context.stdout.write(`There is nothing at ${escapeControls(path)}.\n`);
      return;
    }
    if (values.yes !== true && !(await isConfirmed(path, context))) {
      context.stdout.write("Nothing was deleted.\n");
      return;
    }
    // Fails while an ingest is running.
    if (existsSync(folder)) lockFolder(folder)();
    rmSync(path, { force: true });
    rmSync(folder, { recursive: true, force: true });
    context.stdout.write(`Deleted ${escapeControls(path)}.\n`);
  },
});

async function isConfirmed(path: string, { stdin, stderr }: CommandContext): Promise<boolean> {
  if (stdin.isTTY !== true) throw new UsageError("Deleting needs --yes when nobody can be asked.");
  stderr.write(`Delete ${escapeControls(path)}? [y/N] `);
  for await (const line of createInterface({ input: stdin })) return /^y(es)?$/i.test(line.trim());
  return false;
}
