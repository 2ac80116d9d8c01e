import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";

/** A program that runs alongside this one. */
export type ServiceProcess = ReturnType<typeof startServiceProcess>;

/** How a program ended: its exit code, or the signal that ended it. */
export type Ending = { code: number | undefined; signal: NodeJS.Signals | undefined };

/** A Node program to start; `onLine` sees each line of its output. */
export type ServiceOptions = {
  name: string;
  args: readonly string[];
  cwd: string;
  env: Readonly<Record<string, string | undefined>>;
  onLine?: ((line: string) => void) | undefined;
};

/**
 * Starts a Node program of the project. It gets its own process group, so that Ctrl-C reaches it only
 * through `stop`, and `kill` reaches what it has started itself.
 */
export function startServiceProcess({ name, args, cwd, env, onLine }: ServiceOptions) {
  const child = spawn(process.execPath, ["--disable-warning=ExperimentalWarning", ...args], {
    cwd,
    // Compiled code is shared by everything that is started (cli/with-node.mjs).
    env: { NODE_COMPILE_CACHE: process.env["NODE_COMPILE_CACHE"], ...env },
    // The channel ends with this process: services then end too.
    stdio: ["ignore", "pipe", "pipe", "ipc"],
    detached: true,
  });
  const lines: string[] = [];
  for (const input of [child.stdout, child.stderr]) {
    if (input === null) continue;
    createInterface({ input }).on("line", (line) => {
      lines.push(line);
      if (lines.length > keptLines) lines.shift();
      onLine?.(line);
    });
  }
  let ending: Ending | undefined;
  const ended = once(child, "close").then(([code, signal]): Ending => {
    ending = { code: code ?? undefined, signal: signal ?? undefined };
    return ending;
  });

  function kill() {
    if (ending === undefined) killGroup(child);
  }

  return {
    name,
    pid: child.pid,
    /** Settles when the program has ended and its output is complete. */
    ended,
    /** How it ended; undefined while it runs. */
    ending: () => ending,
    /** The newest lines of its output, oldest first. */
    lastLines: (count = 20): string[] => lines.slice(-count),
    /** Asks it to end, by SIGINT by default; after `timeoutMs` its process group is killed. */
    async stop(signal: NodeJS.Signals = "SIGINT", { timeoutMs = 20_000 } = {}): Promise<Ending> {
      if (ending !== undefined) return ending;
      child.kill(signal);
      const timer = setTimeout(kill, timeoutMs);
      const result = await ended;
      clearTimeout(timer);
      return result;
    },
    /** Ends it and what it has started at once (SIGKILL). */
    kill,
  };
}

function killGroup({ pid }: ChildProcess) {
  if (pid === undefined) return;
  try {
    process.kill(-pid, "SIGKILL");
  } catch {
    // The group has already exited.
  }
}

const keptLines = 500;
