import { existsSync, rmSync } from "node:fs";
import { createInterface } from "node:readline";
import type { Command } from "@commander-js/extra-typings";
import { escapeControls } from "../../src/log/json-log.ts";
import { ingestFolder, lockFolder } from "../ingest/ingest.ts";
import { type CommandContext, databaseCommand } from "./command-line.ts";

/** `purge`: deletes the label database and the remains of unfinished ingests. */
export const addPurge = (program: Command, context: CommandContext) =>
  databaseCommand(program, "purge", context)
    .description("delete the database and the remains of unfinished ingests")
    .option("--yes", "without asking")
    .action(async ({ yes, database }) => {
      const folder = ingestFolder(database);
      if (!existsSync(database) && !existsSync(folder)) {
        context.stdout.write(`There is nothing at ${escapeControls(database)}.\n`);
        return;
      }
      if (yes !== true && !(await isConfirmed(database, context))) {
        context.stdout.write("Nothing was deleted.\n");
        return;
      }
      // Fails while an ingest is running.
      if (existsSync(folder)) lockFolder(folder)();
      rmSync(database, { force: true });
      rmSync(folder, { recursive: true, force: true });
      context.stdout.write(`Deleted ${escapeControls(database)}.\n`);
    });

async function isConfirmed(path: string, { stdin, stderr }: CommandContext): Promise<boolean> {
  if (stdin.isTTY !== true) throw new Error("Deleting needs --yes when nobody can be asked.");
  stderr.write(`Delete ${escapeControls(path)}? [y/N] `);
  for await (const line of createInterface({ input: stdin })) return /^y(es)?$/i.test(line.trim());
  return false;
}
