import { execFileSync, spawnSync } from "node:child_process";
import { chmodSync, existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A Postgres that runs for as long as a measurement does; `halt` and `resume` are an outage in between. */
export type TemporaryPostgres = {
  url: string;
  version: string;
  halt(): void;
  resume(): void;
  stop(): void;
};

/**
 * Starts a Postgres in a folder of its own, with the settings of a small server (no fsync is turned off).
 * Needs the server's programs on the machine; throws an Error that says so where there are none.
 */
export function startPostgres(port: number): TemporaryPostgres {
  const bin = serverPrograms();
  const folder = mkdtempSync(join(tmpdir(), "bench-postgres-"));
  const data = join(folder, "data");
  chmodSync(folder, 0o777);
  run(join(bin, "initdb"), ["-D", data, "-U", "bench", "-A", "trust", "-E", "UTF8", "--locale", "C"]);
  const options = `-p ${port} -c listen_addresses=127.0.0.1 -c unix_socket_directories='' -c shared_buffers=1GB -c max_wal_size=4GB -c work_mem=32MB`;
  const start = () =>
    run(join(bin, "pg_ctl"), ["-D", data, "-o", options, "-l", join(folder, "log"), "-w", "start"]);
  const halt = () => run(join(bin, "pg_ctl"), ["-D", data, "-m", "immediate", "stop"]);
  start();
  return {
    url: `postgresql://bench@127.0.0.1:${port}/postgres`,
    version: execFileSync(join(bin, "postgres"), ["--version"]).toString().trim(),
    halt,
    resume: start,
    stop() {
      halt();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function serverPrograms(): string {
  const versions = "/usr/lib/postgresql";
  const folders = [
    ...(existsSync(versions) ? readdirSync(versions).map((version) => join(versions, version, "bin")) : []),
    ...(process.env["PATH"] ?? "").split(":"),
  ];
  const found = folders.find(
    (folder) => existsSync(join(folder, "initdb")) && existsSync(join(folder, "pg_ctl")),
  );
  if (!found) throw new Error("No Postgres server programs found. Install them, or set DATABASE_URL.");
  return found;
}

// Postgres refuses to run as root: there it runs as the user that its package makes.
function run(program: string, args: string[]): void {
  const isRoot = process.getuid?.() === 0;
  const [command, given] = isRoot ? ["runuser", ["-u", "postgres", "--", program, ...args]] : [program, args];
  const { status, stderr, error } = spawnSync(command as string, given as string[], {
    stdio: ["ignore", "ignore", "pipe"],
  });
  if (status !== 0) throw new Error(`${program} failed: ${error?.message ?? stderr.toString()}`);
}
