import { spawn } from "node:child_process";
import { chownSync, existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { findServerUser } from "../../cli/postgres/programs.ts";
import { freePort } from "../../devnet/ports.ts";
import { waitFor } from "../../devnet/wait.ts";
import { query } from "./postgres.ts";

/** Path of a program of this machine; undefined if it has none of that name. */
export const programOf = (name: string): string | undefined =>
  [...(process.env["PATH"] ?? "").split(delimiter), "/usr/sbin"]
    .map((folder) => join(folder, name))
    .find((path) => existsSync(path));

/**
 * Starts PgBouncer before the server of a URL, with at most `connections` connections to it; `url` leads through it to
 * the same database. `settings`: lines of its configuration. Needs the program, `programOf("pgbouncer")`.
 */
export async function startPgBouncer(
  server: string,
  mode: "session" | "transaction",
  { connections = 20, settings = [] }: { connections?: number; settings?: readonly string[] } = {},
) {
  const { hostname, port: serverPort } = new URL(server);
  const folder = mkdtempSync(join(tmpdir(), "name-index-pgbouncer-"));
  const port = await freePort();
  const inFolder = (name: string) => join(folder, name);
  writeFileSync(inFolder("users"), '"postgres" ""\n');
  const lines = [
    ...["[databases]", `* = host=${hostname} port=${serverPort}`, "[pgbouncer]"],
    ...["listen_addr = 127.0.0.1", `listen_port = ${port}`, "unix_socket_dir ="],
    ...["auth_type = trust", `auth_file = ${inFolder("users")}`, `pool_mode = ${mode}`],
    ...[`default_pool_size = ${connections}`, "max_client_conn = 500", ...settings],
  ];
  writeFileSync(inFolder("pgbouncer.ini"), lines.join("\n"));
  const user = findServerUser(folder);
  if (user !== undefined) chownSync(folder, user.uid, user.gid);
  const pooler = spawn(programOf("pgbouncer") ?? "", [inFolder("pgbouncer.ini")], {
    cwd: folder,
    stdio: "ignore",
    ...user,
  });
  const url = Object.assign(new URL(server), { port: String(port) }).href;
  await waitFor("PgBouncer", async () => ({ done: await query(url, "SELECT 1") }));
  return {
    url,
    async stop() {
      const ended = new Promise((resolve) => pooler.once("exit", resolve));
      pooler.kill("SIGKILL");
      await ended;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
