// What the commands of `npm run` share: arguments by their description, the configuration, and how a command ends.

import { existsSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { type Config, readConfig } from "../src/config/environment.ts";
import { nearestOf } from "../src/config/nearest.ts";
import { escapeControls, seeOperations } from "../src/log/json-log.ts";
import { isDatabaseAway } from "../src/ponder/sql-client.ts";
import { PreflightError } from "./database.ts";

/** An option: what the usage shows in the place of its value, undefined for a flag, and how its text is read. */
type Option<T = unknown> = {
  value?: string;
  isRequired?: true;
  isRepeatable?: true;
  /** Throws an Error that says what is wrong with the text. */
  read(text: string): T;
};

/** An option without a value. */
export const flag: Option<true | undefined> = { read: () => true };

/** Any text. */
export const text = (value: string): Option<string | undefined> => ({ value, read: (given) => given });

/** Any text, given as often as wanted. */
export const texts = (value: string): Option<readonly string[] | undefined> =>
  ({ ...text(value), isRepeatable: true }) as unknown as Option<readonly string[] | undefined>;

/** A whole number from 0. */
export const number = (value: string): Option<number | undefined> => ({
  value,
  read(given) {
    if (/^\d{1,15}$/.test(given)) return Number(given);
    throw new Error(`is ${JSON.stringify(given)}; expected a whole number from 0`);
  },
});

/** An http(s) URL. Messages do not repeat it: it may hold a key. */
export const url: Option<string | undefined> = {
  value: "url",
  read(given) {
    if (isUrl(given)) return given;
    throw new Error("must be an http(s):// URL");
  },
};

/** Whether a text is an http(s) URL. */
export const isUrl = (text: string) => /^https?:\/\//.test(text) && URL.canParse(text);

/** One of some texts; it has to be given. */
export const oneOf = <const T extends string>(values: readonly T[]): Option<T> => ({
  ...{ value: values.join("|"), isRequired: true },
  read(given) {
    const found = values.find((value) => value === given);
    if (found !== undefined) return found;
    throw new Error(`is ${JSON.stringify(given)}; expected ${values.join(", ")}`);
  },
});

/** The same option, which has to be given. */
export const required = <T>(option: Option<T>) => ({ ...option, isRequired: true }) as Option<NonNullable<T>>;

type Options = Readonly<Record<string, Option>>;

/** What the arguments of a command say: its options by name, and those without a name. */
export type Asked<O> = { [Name in keyof O]: O[Name] extends Option<infer T> ? T : never } & {
  given: readonly string[];
};

/** A command: what it takes besides its options, what may be wrong between them, and what it does; it returns what is printed. */
type Command<O> = {
  /** Arguments without a name, of which there has to be one at least. */
  takes?: { what: string; most: number };
  options: O;
  faultsOf?(asked: Asked<O>): readonly string[];
  run(asked: Asked<O>): Promise<string>;
};

/** A command of a program, as programs list them. */
export const command = <const O extends Options>(described: Command<O>) =>
  described as unknown as Command<Options>;

/** A script of package.json: its commands by name, or one under the name "", and a text for its help. */
export type Program = { name: string; about: string; commands: Readonly<Record<string, Command<Options>>> };

function usageOf({ name, about, commands }: Program): string {
  const lines = Object.entries(commands).map(([command, { takes, options }]) => {
    const named = Object.entries(options).map(([option, { value = "", isRequired, isRepeatable }]) => {
      const shown = `--${option}${value && ` ${value.includes("|") ? value : `<${value}>`}`}`;
      return `${isRequired ? shown : `[${shown}]`}${isRepeatable ? "..." : ""}`;
    });
    const others = takes && `<${takes.what}>${takes.most > 1 ? "..." : ""}`;
    return [`npm run ${name} --`, command, others, ...named].filter(Boolean).join(" ");
  });
  return `Usage: ${lines.join("\n       ")}\n\n${about}`;
}

/** What is unknown, with the nearest known one. */
export function unknown(kind: string, given: string, known: readonly string[]): string {
  const near = nearestOf(given, known, 3);
  const hint = near === undefined ? "" : ` The nearest is ${JSON.stringify(near)}.`;
  return given === "" ? `A ${kind} is missing.` : `Unknown ${kind} ${JSON.stringify(given)}.${hint}`;
}

/** The command that the arguments ask for, and what they say. Throws a PreflightError that says what is wrong with them. */
export function parseCommand(program: Program, args: readonly string[]) {
  const [name, rest] = "" in program.commands ? ["", args] : [args[0] ?? "", args.slice(1)];
  const command = program.commands[name];
  const refuse = (...faults: string[]) => new PreflightError(`${faults.join("\n")}\n\n${usageOf(program)}`);
  if (command === undefined) throw refuse(unknown("command", name, Object.keys(program.commands)));
  const { options, takes } = command;
  const described = Object.entries(options).map(([option, { value, isRepeatable }]) => {
    return [
      option,
      { type: value === undefined ? "boolean" : "string", multiple: isRepeatable === true },
    ] as const;
  });
  let parsed: { values: Record<string, unknown>; positionals: string[] };
  try {
    const config = { args: [...rest], options: Object.fromEntries(described) };
    parsed = parseArgs({ ...config, allowPositionals: takes !== undefined });
  } catch (error) {
    throw refuse((error as Error).message);
  }
  const { values, positionals: given } = parsed;
  const faults: string[] = [];
  if (takes !== undefined && (given.length === 0 || given.length > takes.most))
    faults.push(`${name} takes ${takes.most === 1 ? "one" : "at least one"} ${takes.what}.`);
  for (const [option, { read, isRequired, isRepeatable }] of Object.entries(options)) {
    try {
      if (isRequired && values[option] === undefined) throw new Error("is missing");
      if (values[option] !== undefined && !isRepeatable) values[option] = read(String(values[option]));
    } catch (error) {
      faults.push(`--${option} ${(error as Error).message}.`);
    }
  }
  const asked = { ...values, given };
  if (faults.length === 0) faults.push(...(command.faultsOf?.(asked) ?? []));
  if (faults.length > 0) throw refuse(...faults);
  return { name, asked, run: () => command.run(asked) };
}

/** Runs a program if it is the one that Node was started with: prints what its command returns, or why it ends with exit code 1. */
export async function runProgram(program: Program, moduleUrl: string): Promise<void> {
  if (process.argv[1] !== fileURLToPath(moduleUrl)) return;
  const args = process.argv.slice(2);
  try {
    console.log(args.includes("--help") ? usageOf(program) : await parseCommand(program, args).run());
  } catch (error) {
    console.error(messageOf(error));
    process.exitCode = 1;
  }
}

/** The configuration of the environment and of .env.local. */
export function loadConfig(): Config {
  const file = join(process.cwd(), ".env.local");
  if (existsSync(file)) process.loadEnvFile(file);
  return readConfig();
}

// Errors whose message is for operators.
const expected = /^(Configuration|Preflight|Archive|CacheInUse|ViewsSchema|LabelSource|PonderDiffers)Error$/;
const ofFiles = /^(ENOENT|EACCES|EISDIR|ENOSPC|EROFS|ENOTDIR)$/;

/** Whether an error says what operators have to correct. */
export const isRefusal = (error: unknown): error is Error =>
  error instanceof Error && expected.test(error.name);

/** What operators are told of an error; the error itself, with its stack, if it is a fault of the program. */
export function messageOf(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  const { message, code, severity } = error as Error & { code?: unknown; severity?: unknown };
  if (isRefusal(error) || ofFiles.test(String(code)))
    return message.split("\n").map(escapeControls).join("\n");
  if (isDatabaseAway(error))
    return `The database does not respond. ${seeOperations("While something is away")}`;
  return severity === undefined ? error : `Postgres refuses it: ${message}.`;
}
