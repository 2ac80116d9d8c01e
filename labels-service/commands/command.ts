import type { Readable } from "node:stream";

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
