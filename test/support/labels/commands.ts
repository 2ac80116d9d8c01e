import { type ChildProcess, spawn } from "node:child_process";
import { EventEmitter } from "node:events";
import { join } from "node:path";
import { Readable } from "node:stream";
import { fileURLToPath } from "node:url";
import { type IngestOptions, type IngestReport, ingest } from "../../../labels-service/ingest/ingest.ts";
import { openInput } from "../../../labels-service/ingest/read-input.ts";
import { main } from "../../../labels-service/main.ts";

/** How a command ended, and what it wrote. */
export type CommandOutcome = { code: number; stdout: string; stderr: string };

/**
 * Starts a command in this process. Its database is `data/labels.sqlite` in `folder` by default; `answer` is typed by a
 * person at a terminal, `stdin` piped in. `written` fills up while the command runs; emit signals on `signals`.
 */
export function startCommand(
  args: string[],
  {
    folder,
    stdin = "",
    answer,
    labelsServer = "http://127.0.0.1:1",
  }: { folder: string; stdin?: string | Buffer; answer?: string; labelsServer?: string },
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
    labelsServer,
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

const cli = fileURLToPath(new URL("../../../labels-service/cli.ts", import.meta.url));

/** How a command ended, and what it wrote. */
export type Outcome = { code: number | null; signal: string | null; stdout: string; stderr: string };

/** Starts the command line in a process of its own, in the folder `cwd`; `ended` resolves when it is over. */
export function start(
  args: string[],
  cwd: string,
  stdin?: string | Buffer,
  settings: Record<string, string> = {},
): { child: ChildProcess; ended: Promise<Outcome> } {
  const env = { PATH: process.env["PATH"], ...settings };
  const child = spawn(process.execPath, ["--disable-warning=ExperimentalWarning", cli, ...args], {
    cwd,
    env,
  });
  const outcome = { stdout: "", stderr: "" };
  child.stdout.on("data", (text) => {
    outcome.stdout += text;
  });
  child.stderr.on("data", (text) => {
    outcome.stderr += text;
  });
  child.stdin.on("error", () => {});
  child.stdin.end(stdin);
  const ended = new Promise<Outcome>((resolve) => {
    child.on("close", (code, signal) => resolve({ code, signal, ...outcome }));
  });
  return { child, ended };
}

/** Nobody watches. */
export const noOutput = { write: () => {} };

/** Ingests the bytes as they come from standard input, with defaults for what a test does not care about. */
export function ingestBytes(
  bytes: Buffer | string,
  options: Partial<IngestOptions> & { databasePath: string },
): Promise<IngestReport> {
  return ingest({
    input: openInput("-", Readable.from([Buffer.from(bytes)])),
    ...ingestDefaults,
    ...options,
  });
}

/** Options of `ingest` without a database and an input. */
export const ingestDefaults = {
  labelSetId: "ens-test-env",
  labelSetVersion: 0,
  invalidAllowed: 0,
  checkpointBytes: Number.POSITIVE_INFINITY,
  stderr: noOutput,
  now: () => new Date("2026-01-02T03:04:05.678Z"),
};
