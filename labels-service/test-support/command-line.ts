import { type ChildProcess, spawn } from "node:child_process";
import { fileURLToPath } from "node:url";

const cli = fileURLToPath(new URL("../cli.ts", import.meta.url));

/** How a command ended, and what it wrote. */
export type Outcome = { code: number | null; signal: string | null; stdout: string; stderr: string };

/** Starts the command line in a process of its own, in the folder `cwd`; `ended` resolves when it is over. */
export function start(
  args: string[],
  cwd: string,
  stdin?: string | Buffer,
): { child: ChildProcess; ended: Promise<Outcome> } {
  const env = { PATH: process.env["PATH"] };
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
