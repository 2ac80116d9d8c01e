import { Command, CommanderError } from "@commander-js/extra-typings";
import { escapeControls, escapeControlsOfLines } from "../src/log/json-log.ts";
import type { CommandContext } from "./commands/command-line.ts";
import { addConvert } from "./commands/convert.ts";
import { addExport } from "./commands/export.ts";
import { addIngest } from "./commands/ingest.ts";
import { addPurge } from "./commands/purge.ts";
import { addServe } from "./commands/serve.ts";
import { addStats } from "./commands/stats.ts";
import { addValidate } from "./commands/validate.ts";
import { formatNames, formats } from "./formats/formats.ts";

/** Runs the command named by the first argument and returns the exit code; errors become one line on standard error. */
export async function main(args: string[], context: CommandContext): Promise<number> {
  const program = new Command("npm run labels --")
    .description("The label healing service: labelhash to label.")
    .addHelpText("after", formatHelp())
    .allowExcessArguments(false)
    .exitOverride()
    .configureOutput({
      writeOut: (text) => context.stdout.write(text),
      writeErr: (text) => context.stderr.write(escapeControlsOfLines(text)),
    });
  for (const add of [addIngest, addServe, addStats, addValidate, addExport, addConvert, addPurge])
    add(program, context);
  try {
    await program.parseAsync(args, { from: "user" });
    return 0;
  } catch (error) {
    // The command line is wrong, or asks for help: that is written.
    if (error instanceof CommanderError) return error.exitCode;
    const message = error instanceof Error ? error.message : String(error);
    context.stderr.write(`${escapeControls(message)}\n`);
    return 1;
  }
}

function formatHelp(): string {
  const lines = formatNames.map((name) => {
    const { title, recognisedBy } = formats[name];
    return `  ${name.padEnd(10)}  ${title}: ${recognisedBy}`;
  });
  return `\nFormats, gzipped or not, and how they are recognised without --format:\n${lines.join("\n")}`;
}
