import { type ExecFileSyncOptions, execFileSync, spawn } from "node:child_process";
import { appendFileSync, chownSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { findPostgresPrograms, findServerUser } from "../../cli/postgres/programs.ts";
import { freePort } from "../../devnet/ports.ts";
import { waitFor } from "../../devnet/wait.ts";
import { childrenOf } from "./process-tree.ts";

// No test data has to survive a crash of the machine.
const testSettings: readonly string[] = [
  "fsync=off",
  "synchronous_commit=off",
  "full_page_writes=off",
  "wal_level=minimal",
  "max_wal_senders=0",
  "max_wal_size=8GB",
  "maintenance_work_mem=256MB",
  "shared_buffers=512MB",
  "max_connections=400",
  // As statements of the API are planned (src/read/sql/client.ts).
  ...["random_page_cost=1.1", "jit=off", "max_parallel_workers_per_gather=0", "work_mem=64MB"],
];

/**
 * Starts a Postgres server with an empty database, on a free port and with a data folder of its own. `settings` are
 * lines as in postgresql.conf. With the URL of a `primary` it is a hot standby, which follows that server.
 */
export async function startPostgres(settings: readonly string[] = testSettings, primary?: string) {
  const folder = mkdtempSync(join(tmpdir(), "name-index-postgres-"));
  const programs = findPostgresPrograms();
  const user = findServerUser(join(folder, "data"));
  if (user !== undefined) chownSync(folder, user.uid, user.gid);
  const data = join(folder, "data");
  const options = { cwd: folder, stdio: "ignore", ...user } as const;
  if (primary !== undefined) await copyServer(primary, data, options);
  else {
    const given = ["-U", "postgres", "-A", "trust", "--encoding=UTF8", "--no-locale", "--no-sync"];
    execFileSync(join(programs, "initdb"), ["-D", data, ...given], options);
  }
  const port = await freePort();
  const all = ["listen_addresses=127.0.0.1", `unix_socket_directories=${folder}`, ...settings];
  const launch = () =>
    spawn(
      join(programs, "postgres"),
      ["-D", data, "-p", `${port}`, ...all.flatMap((setting) => ["-c", setting])],
      options,
    );
  const url = `postgres://postgres@127.0.0.1:${port}/postgres`;
  const answering = () =>
    waitFor("Postgres", async () => {
      await query(url, "SELECT 1");
      return { done: true };
    });
  let server = launch();
  await answering();
  /** Stops the server at once, without a final checkpoint, like a crash. */
  async function halt(): Promise<void> {
    const ended = new Promise((resolve) => server.once("exit", resolve));
    server.kill("SIGQUIT");
    await ended;
  }
  return {
    url,
    version: execFileSync(join(programs, "postgres"), ["--version"]).toString().trim(),
    halt,
    pid: () => server.pid,
    /** Stops every process of the server where it is, as a machine that hangs; returns how to let them go on. */
    async freeze() {
      const pids = [server.pid ?? 0, ...(await childrenOf(server.pid))];
      for (const pid of pids) process.kill(pid, "SIGSTOP");
      return () => {
        for (const pid of pids) process.kill(pid, "SIGCONT");
      };
    },
    /** Starts the server again on its data. */
    async resume() {
      server = launch();
      await answering();
    },
    /** Ends the server and removes its data. */
    async stop() {
      await halt();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

// As pg_basebackup, which is not among npm's programs.
async function copyServer(primary: string, data: string, options: ExecFileSyncOptions): Promise<void> {
  const client = new pg.Client(primary);
  await client.connect();
  await client.query("SELECT pg_backup_start('standby', fast => true)");
  const { rows } = await client.query<{ folder: string }>(
    "SELECT current_setting('data_directory') AS folder",
  );
  execFileSync("cp", ["-a", rows[0]?.folder ?? "", data], options);
  const { rows: stopped } = await client.query<{ label: string }>(
    "SELECT labelfile AS label FROM pg_backup_stop(wait_for_archive => false)",
  );
  await client.end();
  rmSync(join(data, "postmaster.pid"));
  writeFileSync(join(data, "backup_label"), stopped[0]?.label ?? "");
  // Postgres opens it for writing.
  const { uid, gid } = statSync(data);
  chownSync(join(data, "backup_label"), uid, gid);
  writeFileSync(join(data, "standby.signal"), "");
  appendFileSync(join(data, "postgresql.auto.conf"), `primary_conninfo = '${primary}'\n`);
}

/** Creates a database on the server of `url`, empty or as the template is. */
export async function createEmptyDatabase(url: string, template = "template1") {
  databases += 1;
  const name = `test_${process.pid}_${databases}`;
  await query(url, `CREATE DATABASE ${name} TEMPLATE ${template}`);
  return {
    url: Object.assign(new URL(url), { pathname: `/${name}` }).href,
    drop: async () => void (await query(url, `DROP DATABASE ${name} WITH (FORCE)`)),
  };
}

let databases = 0;

/** A pool of at most `max` connections to a database that a test drops when it is done. */
export function createPool(url: string, max: number, settings: pg.PoolConfig = {}): pg.Pool {
  const pool = new pg.Pool({ connectionString: url, max, ...settings });
  // The server ends connections when it drops the database: not an error of the test.
  const ignore = () => undefined;
  return pool.on("error", ignore).on("connect", (client) => client.on("error", ignore));
}

/** Rows of one statement on a connection of its own. */
export async function query<Row extends object>(url: string, text: string): Promise<Row[]> {
  const client = new pg.Client(url);
  // A standby may end it between two statements: the next one fails.
  client.on("error", () => undefined);
  await client.connect();
  const { rows } = await client.query<Row>(text).finally(() => client.end());
  return rows;
}
