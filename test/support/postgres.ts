import { execFileSync, spawn } from "node:child_process";
import { chownSync, existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import pg from "pg";
import { freePort } from "../../devnet/ports.ts";
import { waitFor } from "../../devnet/wait.ts";

/** Folder with the programs of a Postgres server; undefined where none is installed. */
export function postgresPrograms(): string | undefined {
  const versions = "/usr/lib/postgresql";
  const packaged = existsSync(versions)
    ? readdirSync(versions).map((name) => join(versions, name, "bin"))
    : [];
  const folders = [...(process.env["PATH"] ?? "").split(delimiter), ...packaged];
  return folders.find((folder) => existsSync(join(folder, "initdb")) && existsSync(join(folder, "postgres")));
}

/** Starts a Postgres server with an empty database, on a free port and with a data folder of its own. */
export async function startPostgres(programs: string) {
  const folder = mkdtempSync(join(tmpdir(), "name-index-postgres-"));
  const user = serverUser();
  if (user !== undefined) chownSync(folder, user.uid, user.gid);
  const data = join(folder, "data");
  const options = { cwd: folder, stdio: "ignore", ...user } as const;
  const locale = ["--encoding=UTF8", "--no-locale"];
  execFileSync(
    join(programs, "initdb"),
    ["-D", data, "-U", "postgres", "-A", "trust", "--no-sync", ...locale],
    options,
  );
  const port = await freePort();
  const settings = [
    "fsync=off",
    "listen_addresses=127.0.0.1",
    `unix_socket_directories=${folder}`,
    "shared_buffers=512MB",
  ];
  const server = spawn(
    join(programs, "postgres"),
    ["-D", data, "-p", `${port}`, ...settings.flatMap((setting) => ["-c", setting])],
    options,
  );
  const url = `postgres://postgres@127.0.0.1:${port}/postgres`;
  await waitFor("Postgres", async () => {
    const client = new pg.Client(url);
    await client.connect();
    await client.end();
    return { done: true };
  });
  return {
    url,
    /** Ends the server and removes its data. */
    async stop() {
      const ended = new Promise((resolve) => server.once("exit", resolve));
      server.kill("SIGINT");
      await ended;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

// Postgres refuses to run as root: the user that its packages make runs it then.
function serverUser(): { uid: number; gid: number } | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const id = (flag: string) => Number(execFileSync("id", [flag, "postgres"], { encoding: "utf8" }));
  return { uid: id("-u"), gid: id("-g") };
}
