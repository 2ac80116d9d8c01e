// Shared by the commands of `npm run`: arguments, configuration, and exit.

import { existsSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Command, InvalidArgumentError } from "@commander-js/extra-typings";
import type { IndexedChain } from "../src/config/chains.ts";
import { type Config, readConfig } from "../src/config/environment.ts";
import { escapeControlsOfLines, seeOperations } from "../src/log/json-log.ts";
import { Refusal, withSection } from "../src/log/refusal.ts";
import { isDatabaseAway } from "../src/ponder/sql-client.ts";
import { PreflightError } from "./refusal.ts";

/** Creates the program of a script of package.json. */
export const createProgram = (script: string, about: string) =>
  new Command(`npm run ${script} --`)
    .description(about)
    .allowExcessArguments(false)
    .showHelpAfterError()
    .configureOutput({ writeErr: (text) => process.stderr.write(escapeControlsOfLines(text)) });

/** Parses a whole number from 0. */
export function parseWhole(text: string): number {
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw new InvalidArgumentError("Expected a whole number from 0.");
}

/** Whether a text is an http(s) URL. */
export const isUrl = (text: string) => /^https?:\/\//.test(text) && URL.canParse(text);

/** Throws a PreflightError unless an argument is an http(s) URL. The message omits the URL, which may contain a key. */
export function requireUrl(name: string, text: string): void {
  if (!isUrl(text)) throw new PreflightError(`${name} must be an http(s):// URL.`);
}

/** Prints a command's result. */
export const print = async (text: Promise<string>) => console.log(await text);

/** Returns a function that logs progress to standard error about ten times. */
export function createTenthsLog(all: number): (done: number) => void {
  const step = Math.max(1, Math.ceil(all / 10));
  return (done) => done % step === 0 && console.error(`${done} of ${all}`);
}

const shown = 20;

/** The first 20 lines of a list, indented, and the number of further lines. */
export const formatFirst = (lines: readonly string[]): string[] => [
  ...lines.slice(0, shown).map((line) => `  ${line}`),
  ...(lines.length > shown ? [`  and ${lines.length - shown} more`] : []),
];

/** Runs a program if Node was started with its module. After an error prints the reason, and sets exit code 1. */
export async function runProgram(
  program: { parseAsync(): Promise<unknown> },
  moduleUrl: string,
): Promise<void> {
  if (process.argv[1] !== fileURLToPath(moduleUrl)) return;
  // What started it was killed: a next run must not meet this one.
  process.on("disconnect", () => process.kill(process.pid, "SIGTERM"));
  process.channel?.unref();
  try {
    await program.parseAsync();
  } catch (error) {
    console.error(describeError(error));
    process.exitCode = 1;
  }
}

/** All chains of a configuration, or the one with this id. Throws a PreflightError if there is none. */
export function selectChains({ chains }: Config, id: number | undefined): [IndexedChain, ...IndexedChain[]] {
  const [first, ...others] = chains.filter((chain) => id === undefined || chain.id === id);
  if (first === undefined) throw new PreflightError(`Chain ${id} is not indexed by this configuration.`);
  return [first, ...others];
}

/** Adds the variables of .env.local to the environment. */
export function loadEnvironment(): void {
  const file = join(process.cwd(), ".env.local");
  if (existsSync(file)) process.loadEnvFile(file);
}

/** Reads the configuration from the environment and .env.local. */
export function loadConfig(): Config {
  loadEnvironment();
  return readConfig();
}

const ofFiles = /^(ENOENT|EACCES|EISDIR|ENOSPC|EROFS|ENOTDIR)$/;

/** Message of an error for operators. A bug of the program is the error itself, with its stack. */
export function describeError(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  const { message, code, severity } = error as Error & { code?: unknown; severity?: unknown };
  if (error instanceof Refusal)
    return escapeControlsOfLines(error.section === undefined ? message : withSection(message, error.section));
  if (ofFiles.test(String(code))) return escapeControlsOfLines(message);
  if (isDatabaseAway(error))
    return `The database does not respond. ${seeOperations("When a dependency is unavailable")}`;
  return severity === undefined ? error : `Postgres refuses it: ${message}.`;
}
