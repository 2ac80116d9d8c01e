import { EventEmitter } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { afterEach, beforeEach } from "vitest";
import { main } from "../main.ts";

/** A folder for each test of a file, removed after it. */
export function folderForEach(prefix: string): () => string {
  let folder = "";
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), prefix));
  });
  afterEach(() => rmSync(folder, { recursive: true }));
  return () => folder;
}

/** How a command ended, and what it wrote. */
export type CommandOutcome = { code: number; stdout: string; stderr: string };

/**
 * Starts a command in this process. Its database is `data/labels.sqlite` in `folder` by default; `answer` is typed by a
 * person at a terminal, `stdin` piped in. `written` fills up while the command runs; emit signals on `signals`.
 */
export function startCommand(
  args: string[],
  { folder, stdin = "", answer }: { folder: string; stdin?: string | Buffer; answer?: string },
) {
  const written = { stdout: "", stderr: "" };
  const output = (name: "stdout" | "stderr") => ({
    write: (text: string | Uint8Array) => {
      written[name] += text;
    },
  });
  const input = Readable.from([Buffer.from(answer ?? stdin)]);
  const signals = new EventEmitter();
  const ended = main(args, {
    database: join(folder, "data/labels.sqlite"),
    port: "3223",
    stdin: answer === undefined ? input : Object.assign(input, { isTTY: true }),
    stdout: output("stdout"),
    stderr: output("stderr"),
    signals,
  }).then((code): CommandOutcome => ({ code, ...written }));
  return { ended, written, signals };
}

/** Runs a command in this process to its end; see `startCommand`. */
export function runCommand(...[args, options]: Parameters<typeof startCommand>): Promise<CommandOutcome> {
  return startCommand(args, options).ended;
}

/** The options that name a label set version. */
export function labelSet(id: string, version: number): string[] {
  return ["--label-set-id", id, "--label-set-version", String(version)];
}
