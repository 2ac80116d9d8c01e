import type { Readable } from "node:stream";
import { parseArgs } from "node:util";
import { type FormatName, formatNames } from "../formats/formats.ts";

/** What a command receives from the process around it. */
export type CommandContext = {
  /** Path of the label database when `--database` is not given. */
  database: string;
  /** Port of `serve` when `--port` is not given. */
  port: string;
  stdin: Readable & { isTTY?: boolean | undefined };
  stdout: { write(text: string | Uint8Array): unknown };
  stderr: { write(text: string): unknown; isTTY?: boolean | undefined };
  /** Emits SIGTERM, SIGINT and SIGHUP: the process itself. */
  signals: Pick<NodeJS.EventEmitter, "on" | "once" | "off">;
};

/** One word of the command line. */
export type Command = {
  /** What follows the command's name, and what the command does in a few words. */
  usage: string;
  purpose: string;
  run(args: string[], context: CommandContext): Promise<void>;
};

/** Options by name: what help calls the value; empty for a flag, which takes none. */
type Options = Readonly<Record<string, string>>;
type Values<O extends Options> = { [N in keyof O]?: O[N] extends "" ? boolean : string };
/** What a command line gives. `database`: the option's value or the default. */
type Given<O extends Options> = { values: Values<O>; operand: string; database: string };

/** The option that names the label database. */
export const databaseOption = { database: "PATH" } as const;

/** The option that names the format of an input. */
export const formatOption = { format: formatNames.join("|") };

/** A command from its options, of which help shows those of `needs` as needed. `operand`: what it is called, if there is one. */
export function command<const N extends Options, const O extends Options>({
  operand,
  needs,
  options,
  purpose,
  run,
}: {
  operand?: string;
  needs?: N;
  options: O;
  purpose: string;
  run(given: Given<N & O>, context: CommandContext): void | Promise<void>;
}): Command {
  const written = (group: Options) =>
    Object.entries(group).map(([name, value]) => (value === "" ? `--${name}` : `--${name} ${value}`));
  const parts = [
    ...(operand === undefined ? [] : ["<file|->"]),
    ...written(needs ?? {}),
    ...written(options).map((option) => `[${option}]`),
  ];
  return {
    usage: parts.join(" "),
    purpose,
    run: async (args, context) => {
      const { values, positionals } = parsed(args, { ...needs, ...options });
      const empty = Object.keys(values).find((name) => values[name] === "");
      if (empty !== undefined) throw new UsageError(`--${empty} needs a value.`);
      const surplus = positionals[operand === undefined ? 0 : 1];
      if (surplus !== undefined) throw new UsageError(`Unexpected argument ${JSON.stringify(surplus)}.`);
      const [first = ""] = positionals;
      if (operand !== undefined && first === "") {
        throw new UsageError(`Name the ${operand}, or - for standard input.`);
      }
      const { database = context.database } = values as { database?: string };
      await run({ values: values as Values<N & O>, operand: first, database }, context);
    },
  };
}

function parsed(args: string[], known: Options) {
  const options: Record<string, { type: "string" | "boolean" }> = {};
  for (const [name, value] of Object.entries(known))
    options[name] = { type: value === "" ? "boolean" : "string" };
  try {
    return parseArgs({ args, options, allowPositionals: true });
  } catch (error) {
    const [firstSentence] = (error as Error).message.split(/(?<=\.) |\n/);
    throw new UsageError(firstSentence ?? "The options cannot be understood.");
  }
}

/** The number given as `--name`; undefined if it is absent. Throws `UsageError` outside `min` to `max`. */
export function wholeNumber(
  name: string,
  text: string | undefined,
  { min, max }: { min: number; max: number },
): number | undefined {
  if (text === undefined) return undefined;
  const value = /^[0-9]+$/.test(text) ? Number(text) : Number.NaN;
  if (value >= min && value <= max) return value;
  throw new UsageError(
    `--${name} is ${JSON.stringify(text)}; expected a whole number from ${min} to ${max}.`,
  );
}

/** The format named by `--format`; undefined if it is absent. Throws `UsageError` for unknown names. */
export function parseFormat(text: string | undefined): FormatName | undefined {
  const name = formatNames.find((name) => name === text);
  if (name === undefined && text !== undefined) {
    throw new UsageError(`--format is ${JSON.stringify(text)}; expected ${formatNames.join(", ")}.`);
  }
  return name;
}

/** The command line is wrong. */
export class UsageError extends Error {
  override name = "UsageError";
}
