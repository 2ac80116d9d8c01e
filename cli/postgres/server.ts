import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import {
  chownSync,
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { privateServerUrl } from "../../src/config/environment.ts";
import { seeOperations } from "../../src/log/json-log.ts";
import { PreflightError } from "../refusal.ts";
import { findPostgresPrograms, findServerUser, type SystemUser } from "./programs.ts";

/** A running Postgres server. `stop` resolves once it has ended, with all that was committed on disk. */
export type PostgresServer = { url: string; stop(): Promise<void> };

// For one process of this service with all plugins, as `npm run doctor` advises for any server. They are lines of
// postgresql.conf, which operators may edit. Nothing replicates from a private server.
const settings = [
  "shared_buffers=512MB",
  "maintenance_work_mem=256MB",
  "max_wal_size=4GB",
  "wal_level=minimal",
  "max_wal_senders=0",
  "synchronous_commit=off",
  "random_page_cost=1.1",
  // A failed statement is an error of its client, which logs it.
  "log_min_messages=fatal",
];

/** For data that nobody misses after a crash of the machine. */
export const withoutDurability = ["fsync=off", "full_page_writes=off"];

// sun_path of a Unix socket: 108 bytes on Linux, 104 on macOS, with a zero at the end.
const longestSocket = process.platform === "darwin" ? 103 : 107;
const socketName = ".s.PGSQL.5432";
const output = "server.log";
const pollMs = 10;

// Runs the server, and ends it once the other end of descriptor 3 is closed, as by the death of the process that has
// it: when its clients have left, or after 20 seconds. What waits for that is no child of the server, which would take
// its death for that of a backend.
const guarded = `( (read -r _ <&3; kill -TERM $$; n=0; while kill -0 $$ && [ $n -lt 20 ]; do sleep 1; n=$((n + 1)); done; kill -INT $$) 2> /dev/null & )
exec "$@" 3<&-`;

/**
 * Starts a Postgres server on `folder`, which is created where it is missing, on a Unix socket in it. It ends with this
 * process, however that ends. Only one process at a time may do so. Throws a PreflightError that says what to change.
 */
export async function startServer(folder: string, more: readonly string[] = []): Promise<PostgresServer> {
  if (Buffer.byteLength(join(folder, socketName)) > longestSocket)
    throw new PreflightError(
      `The path of a Unix socket in ${folder} would exceed the system's ${longestSocket} bytes. Set DATABASE_FOLDER to a shorter path.`,
    );
  const programs = findPostgresPrograms();
  const major = await readVersion(programs, findServerUser(folder));
  if (isEmpty(folder)) await createCluster(programs, folder);
  requireVersion(folder, major);
  await waitForLeftServer(folder);
  const user = findServerUser(folder);
  const log = openSync(join(folder, output), "w");
  if (user !== undefined) chownSync(join(folder, output), user.uid, user.gid);
  const only = ["listen_addresses=", `unix_socket_directories=${folder}`, "unix_socket_permissions=0700"];
  const given = [...only, ...more].flatMap((setting) => ["-c", setting]);
  // A group of its own: Ctrl-C in a terminal would end it before its clients.
  const server = spawn("/bin/sh", ["-c", guarded, "sh", join(programs, "postgres"), "-D", folder, ...given], {
    ...{ cwd: folder, stdio: ["ignore", log, log, "pipe"], detached: true },
    ...user,
  });
  closeSync(log);
  await waitUntilAccepting(server, folder);
  return {
    url: privateServerUrl(folder),
    async stop() {
      if (server.exitCode !== null || server.signalCode !== null) return;
      const ended = once(server, "exit");
      server.kill("SIGINT");
      await ended;
      server.stdio[3]?.destroy();
    },
  };
}

const isEmpty = (folder: string) => !existsSync(folder) || readdirSync(folder).length === 0;

/** Major version of the programs. Throws a PreflightError where the server's user cannot run them. */
async function readVersion(programs: string, user: SystemUser | undefined): Promise<string> {
  const program = join(programs, "postgres");
  const { text, failure } = await run(program, ["--version"], { user });
  if (failure === undefined) return /\d+/.exec(text)?.[0] ?? "";
  throw new PreflightError(`The Postgres server of npm does not run here: ${failure}. Set DATABASE_URL.`);
}

// In a folder beside it first: one that is named `folder` is complete.
async function createCluster(programs: string, folder: string): Promise<void> {
  const unfinished = `${folder}.new`;
  rmSync(unfinished, { recursive: true, force: true });
  mkdirSync(dirname(unfinished), { recursive: true });
  mkdirSync(unfinished, { mode: 0o700 });
  const user = findServerUser(folder);
  if (user !== undefined) chownSync(unfinished, user.uid, user.gid);
  const given = settings.flatMap((setting) => ["--set", setting]);
  const locale = ["--encoding=UTF8", "--no-locale"];
  const { failure } = await run(
    join(programs, "initdb"),
    ["-D", unfinished, "-U", "postgres", "-A", "trust", "--no-instructions", ...locale, ...given],
    { user, cwd: unfinished },
  );
  if (failure !== undefined) {
    rmSync(unfinished, { recursive: true, force: true });
    throw new PreflightError(
      `The folder of the private Postgres server, ${folder}, could not be created: ${failure}. Correct it, set DATABASE_FOLDER to another folder, or set DATABASE_URL.`,
    );
  }
  rmSync(folder, { recursive: true, force: true });
  renameSync(unfinished, folder);
}

function requireVersion(folder: string, major: string): void {
  const file = join(folder, "PG_VERSION");
  const found = existsSync(file) ? readFileSync(file, "utf8").trim() : undefined;
  if (found === major) return;
  const reason = found === undefined ? "has other files" : `is of Postgres ${found}, and this is ${major}`;
  throw new PreflightError(
    `The folder of the private Postgres server, ${folder}, ${reason}. Move it away, or set DATABASE_FOLDER to another folder.`,
    { section: seeOperations("The private Postgres server") },
  );
}

// The lines of postmaster.pid: process id, data folder, start, port, socket's folder, address, shared memory, state.
const stateLine = 7;

function readPidFile(folder: string): { pid: number; isReady: boolean } | undefined {
  const file = join(folder, "postmaster.pid");
  if (!existsSync(file)) return undefined;
  const lines = readFileSync(file, "utf8").split("\n");
  return { pid: Number(lines[0]), isReady: lines[stateLine]?.trim() === "ready" };
}

/** Whether a server accepts connections on a folder. */
export function isServerReady(folder: string): boolean {
  const found = readPidFile(folder);
  return found?.isReady === true && isServer(found.pid, folder);
}

const longestEndMs = 60_000;

/** Waits for the end of a server whose process was killed. Throws a PreflightError if it goes on. */
async function waitForLeftServer(folder: string): Promise<void> {
  for (let waited = 0; ; waited += pollMs) {
    const found = readPidFile(folder);
    if (found === undefined || !isServer(found.pid, folder)) return;
    if (waited > longestEndMs)
      throw new PreflightError(
        `A Postgres server of a process that was killed still runs in ${folder}. Stop it: kill -INT ${found.pid}.`,
      );
    await wait(pollMs);
  }
}

// Another program may have the process id by now.
function isServer(pid: number, folder: string): boolean {
  try {
    process.kill(pid, 0);
    const command = `/proc/${pid}/cmdline`;
    return !existsSync("/proc/self") || readFileSync(command, "utf8").includes(folder);
  } catch {
    return false;
  }
}

/**
 * Waits until the server accepts connections, after a crash once it has recovered. Throws a PreflightError with its
 * last words if it ends.
 */
async function waitUntilAccepting(server: ChildProcess, folder: string): Promise<void> {
  const failed = new Promise<Error>((resolve) => server.once("error", resolve));
  const ended = once(server, "exit").then(() => new Error(readLastWords(folder)));
  const outcome = Promise.race([failed, ended]);
  for (;;) {
    const error = await Promise.race([outcome, wait(pollMs)]);
    if (error instanceof Error)
      throw new PreflightError(
        `The private Postgres server in ${folder} does not start: ${error.message}. Correct it, set DATABASE_FOLDER to another folder, or set DATABASE_URL.`,
      );
    const found = readPidFile(folder);
    if (found?.isReady && found.pid === server.pid) return;
  }
}

const readLastWords = (folder: string) => {
  const lines = readFileSync(join(folder, output), "utf8").trim().split("\n");
  return lines.findLast((line) => /FATAL|PANIC/.test(line)) ?? lines.at(-1) ?? "no output";
};

/** Output of a program, or why it failed: its last line of errors. */
async function run(
  program: string,
  args: readonly string[],
  { user, cwd }: { user: SystemUser | undefined; cwd?: string },
): Promise<{ text: string; failure?: string }> {
  let [text, errors] = ["", ""];
  const child = spawn(program, args, { ...(cwd ? { cwd } : {}), stdio: ["ignore", "pipe", "pipe"], ...user });
  child.stdout.on("data", (chunk) => {
    text += chunk;
  });
  child.stderr.on("data", (chunk) => {
    errors += chunk;
  });
  const failed = new Promise<string>((resolve) => child.once("error", ({ message }) => resolve(message)));
  const ended = once(child, "close").then(([code]) =>
    code === 0
      ? undefined
      : (errors
          .trim()
          .split("\n")
          .findLast((line) => /error|fatal/i.test(line)) ?? `${errors.trim() || `code ${code}`}`),
  );
  const failure = await Promise.race([failed, ended]);
  return { text, ...(failure === undefined ? {} : { failure }) };
}
