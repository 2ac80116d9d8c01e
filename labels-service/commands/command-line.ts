import { parseArgs } from "node:util";
import { type FormatName, formatNames } from "../formats/formats.ts";

type OptionKinds = Record<string, { type: "string" | "boolean" }>;
type Values<K extends OptionKinds> = { [N in keyof K]?: K[N]["type"] extends "string" ? string : boolean };

/**
 * The options and the one operand of a command line. Throws `UsageError` for unknown, repeated or empty options, and for
 * a missing or unexpected operand. `operand` is its name for messages; undefined if the command takes none.
 */
export function parseCommandLine<K extends OptionKinds>(
  args: string[],
  kinds: K,
  operand: string | undefined,
): { values: Values<K>; operand: string } {
  const { values, positionals, tokens } = parsed(args, kinds);
  const names = tokens.flatMap((token) => (token.kind === "option" ? [token.name] : []));
  const repeated = names.find((name, i) => names.indexOf(name) !== i);
  if (repeated !== undefined) throw new UsageError(`--${repeated} is given twice.`);
  const empty = Object.keys(values).find((name) => values[name] === "");
  if (empty !== undefined) throw new UsageError(`--${empty} needs a value.`);
  const [first, second] = positionals;
  const surplus = operand === undefined ? first : second;
  if (surplus !== undefined) throw new UsageError(`Unexpected argument ${JSON.stringify(surplus)}.`);
  if (operand !== undefined && first === undefined)
    throw new UsageError(`Name the ${operand}, or - for standard input.`);
  return { values: values as Values<K>, operand: first ?? "" };
}

function parsed(args: string[], options: OptionKinds) {
  try {
    return parseArgs({ args, options, allowPositionals: true, tokens: true });
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

/** How `--format` is written in a command's usage. */
export const formatUsage = `[--format ${formatNames.join("|")}]`;

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
