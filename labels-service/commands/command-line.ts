import type { Readable } from "node:stream";
import { type Command, InvalidArgumentError, Option } from "@commander-js/extra-typings";
import { formatNames } from "../formats/formats.ts";

/** What a command receives from the process around it. */
export type CommandContext = {
  /** Path of the label database when `--database` is not given. */
  database: string;
  /** Port of `serve` when `--port` is not given. */
  port: string;
  stdin: Readable & { isTTY?: boolean | undefined };
  stdout: { write(text: string | Uint8Array): unknown };
  stderr: { write(text: string): unknown };
  /** Emits SIGTERM, SIGINT and SIGHUP: the process itself. */
  signals: Pick<NodeJS.EventEmitter, "on" | "once" | "off">;
};

/** A command of the label database, with the option that names it. */
export const databaseCommand = (program: Command, name: string, { database }: CommandContext) =>
  program.command(name).option("--database <path>", "LABELS_DATABASE by default", path, database);

/** Reads the path of an option; an empty one would stand for a temporary database. */
export function path(text: string): string {
  if (text !== "") return text;
  throw new InvalidArgumentError("It is empty.");
}

/** The option that names the format of an input. */
export const formatOption = () => new Option("--format <format>", "of the file").choices(formatNames);

/** Reads a whole number from `min` to `max`. */
export const wholeNumber =
  ({ min, max }: { min: number; max: number }) =>
  (text: string): number => {
    const value = /^[0-9]+$/.test(text) ? Number(text) : Number.NaN;
    if (value >= min && value <= max) return value;
    throw new InvalidArgumentError(`Expected a whole number from ${min} to ${max}.`);
  };
