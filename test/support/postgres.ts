import { execFileSync, spawn } from "node:child_process";
import { chownSync, existsSync, mkdtempSync, readdirSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import pg from "pg";
import { freePort } from "../../devnet/ports.ts";
import { waitFor } from "../../devnet/wait.ts";
import { childrenOf } from "./process-tree.ts";

/** Folder with the programs of a Postgres server; undefined where none is installed. */
export function postgresPrograms(): string | undefined {
  const versions = "/usr/lib/postgresql";
  const packaged = existsSync(versions)
    ? readdirSync(versions).map((name) => join(versions, name, "bin"))
    : [];
  const folders = [...(process.env["PATH"] ?? "").split(delimiter), ...packaged];
  const found = folders.find(
    (folder) => existsSync(join(folder, "initdb")) && existsSync(join(folder, "postgres")),
  );
  // A folder of links may have some of them only.
  return found && dirname(realpathSync(join(found, "postgres")));
}

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
];

/**
 * Starts a Postgres server with an empty database, on a free port and with a data folder of its own. `settings` are
 * lines as in postgresql.conf. With the URL of a `primary` it is a hot standby, which follows that server.
 */
export async function startPostgres(
  programs: string,
  settings: readonly string[] = testSettings,
  primary?: string,
) {
  const folder = mkdtempSync(join(tmpdir(), "name-index-postgres-"));
  const user = serverUser();
  if (user !== undefined) chownSync(folder, user.uid, user.gid);
  const data = join(folder, "data");
  const options = { cwd: folder, stdio: "ignore", ...user } as const;
  const locale = ["--encoding=UTF8", "--no-locale"];
  const [program, ...given] =
    primary === undefined
      ? ["initdb", "-U", "postgres", "-A", "trust", ...locale]
      : ["pg_basebackup", "-d", primary, "-R", "--checkpoint=fast"];
  execFileSync(join(programs, program ?? ""), ["-D", data, "--no-sync", ...given], options);
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

/** The user that Postgres and its poolers run as, which refuse to run as root: the one that their packages create. */
export function serverUser(): { uid: number; gid: number } | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const id = (flag: string) => Number(execFileSync("id", [flag, "postgres"], { encoding: "utf8" }));
  return { uid: id("-u"), gid: id("-g") };
}
