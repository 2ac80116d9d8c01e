import { escapeControls } from "../src/log/json-log.ts";
import { type Command, type CommandContext, UsageError } from "./commands/command-line.ts";
import { convertCommand } from "./commands/convert.ts";
import { exportCommand } from "./commands/export.ts";
import { ingestCommand } from "./commands/ingest.ts";
import { purgeCommand } from "./commands/purge.ts";
import { serveCommand } from "./commands/serve.ts";
import { statsCommand } from "./commands/stats.ts";
import { validateCommand } from "./commands/validate.ts";
import { formatNames, formats } from "./formats/formats.ts";

/** Runs the command named by the first argument and returns the exit code; errors become one line on standard error. */
export async function main([name = "", ...args]: string[], context: CommandContext): Promise<number> {
  try {
    if (["help", "--help", "-h"].includes(name) || args.includes("--help")) {
      context.stdout.write(help());
      return 0;
    }
    const command = Object.hasOwn(commands, name) ? commands[name] : undefined;
    if (command === undefined) {
      const known = Object.keys(commands).join(", ");
      throw new UsageError(
        name === ""
          ? `A command is missing: ${known}.`
          : `Unknown command ${JSON.stringify(name)}; expected ${known}.`,
      );
    }
    await command.run(args, context);
    return 0;
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    context.stderr.write(`${escapeControls(message)}\n`);
    return 1;
  }
}

const commands: Record<string, Command> = {
  ingest: ingestCommand,
  serve: serveCommand,
  stats: statsCommand,
  validate: validateCommand,
  export: exportCommand,
  convert: convertCommand,
  purge: purgeCommand,
};

function help(): string {
  return [
    "The label healing service: labelhash to label.",
    "",
    ...Object.entries(commands).map(([name, { usage, purpose }]) => `  ${name} ${usage}\n      ${purpose}`),
    "",
    "Formats, gzipped or not, and how they are recognised without --format:",
    "",
    ...formatNames.map((name) => {
      const { title, recognisedBy } = formats[name];
      return `  ${name.padEnd(10)}  ${title}: ${recognisedBy}`;
    }),
    "",
    "LABELS_DATABASE is the default of --database (else ./data/labels.sqlite), LABELS_PORT that of --port (else 3223).",
    "serve listens on all interfaces unless --host names an address, such as 127.0.0.1.",
    "",
  ].join("\n");
}
