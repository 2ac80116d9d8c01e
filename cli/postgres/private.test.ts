import { spawnSync } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "better-sqlite3";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startServiceProcess } from "../../devnet/service-process.ts";
import { waitFor } from "../../devnet/wait.ts";
import { privateServerUrl } from "../../src/config/environment.ts";
import { connect } from "../database.ts";
import { holdServer } from "./private.ts";
import { isServerReady, startServer } from "./server.ts";

let parent: string;
let folder: string;
beforeAll(async () => {
  parent = mkdtempSync(join(tmpdir(), "private-"));
  // The server of a test by root runs as another user.
  chmodSync(parent, 0o711);
  folder = join(parent, "postgres");
  const server = await startServer(folder);
  await read("CREATE TABLE kept (id int)");
  await server.stop();
});
afterAll(() => rmSync(parent, { recursive: true, force: true }));

async function read(text: string) {
  const { run, close } = await connect(privateServerUrl(folder));
  return run(text)
    .then(({ rows }) => rows)
    .finally(close);
}

/** Lets another connection to the file of the lock hold it, as another process does. */
function lockAsOther() {
  const other = new Database(`${folder}.lock`);
  other.exec("BEGIN EXCLUSIVE");
  return () => other.close();
}

test("a server runs until the last hold on it is released, with the extensions that searches need", async () => {
  const [first, second] = [
    await holdServer(folder, { isOwner: true }),
    await holdServer(folder, { isOwner: false }),
  ];
  await first?.release();
  expect(
    await read("SELECT name FROM pg_available_extensions WHERE name IN ('pg_trgm', 'btree_gin') ORDER BY 1"),
  ).toEqual([{ name: "btree_gin" }, { name: "pg_trgm" }]);
  await second?.release();
  expect(isServerReady(folder)).toBe(false);
});

test("commands do not create a server", async () => {
  const missing = join(parent, "missing");
  expect(await holdServer(missing, { isOwner: false })).toBeUndefined();
  expect(existsSync(missing)).toBe(false);
});

test("while another process holds the server, a start is refused, and commands use it", async () => {
  const server = await startServer(folder);
  const unlock = lockAsOther();
  await expect(holdServer(folder, { isOwner: true })).rejects.toThrow(
    `Another process uses the database in ${folder}. Stop it, or set DATABASE_FOLDER to another folder.`,
  );
  const hold = await holdServer(folder, { isOwner: false });
  expect(await read("SELECT count(*)::int AS count FROM kept")).toEqual([{ count: 0 }]);
  await hold?.release();
  expect(isServerReady(folder)).toBe(true);
  unlock();
  await server.stop();
});

test("a server ends with its process, however that ends, and the next start waits for it", async () => {
  const module = new URL("server.ts", import.meta.url).href;
  const script = `await (await import(${JSON.stringify(module)})).startServer(${JSON.stringify(folder)}); process.kill(process.pid, "SIGKILL")`;
  const { signal } = spawnSync(process.execPath, ["--input-type=module", "-e", script]);
  expect(signal).toBe("SIGKILL");
  const hold = await holdServer(folder, { isOwner: true });
  expect(await read("SELECT count(*)::int AS count FROM kept")).toEqual([{ count: 0 }]);
  await hold?.release();
});

test("a server that was killed itself has what was committed", async () => {
  const before = await startServer(folder);
  await read("BEGIN; SET LOCAL synchronous_commit = on; INSERT INTO kept VALUES (1); COMMIT");
  const [{ pid } = {}] = await read(
    "SELECT split_part(pg_read_file('postmaster.pid'), chr(10), 1)::int AS pid",
  );
  process.kill(Number(pid), "SIGKILL");
  await before.stop();
  const after = await startServer(folder);
  expect(await read("SELECT id FROM kept")).toEqual([{ id: 1 }]);
  await after.stop();
});

test("a start that is stopped while it creates the server leaves nothing that goes on", async () => {
  const other = join(parent, "stopped");
  const start = startServiceProcess({
    name: "start",
    args: [join(import.meta.dirname, "../ponder.ts"), "start"],
    cwd: parent,
    env: {
      PATH: process.env["PATH"],
      NAMESPACE: "ens-test-env",
      PLUGINS: "subgraph",
      LABELS_URL: "http://127.0.0.1:9",
      RPC_URL_15658733: "http://127.0.0.1:9",
      DATABASE_FOLDER: other,
    },
  });
  await waitFor("the folder", async () =>
    existsSync(`${other}.new`) ? { done: true } : { state: start.lastLines().join("\n") },
  );
  expect(await start.stop("SIGINT")).toEqual({ code: 0, signal: undefined });
  expect([existsSync(`${other}.new`), isServerReady(other)]).toEqual([false, false]);
  // It is complete, or was not begun.
  const hold = await holdServer(other, { isOwner: true });
  await hold?.release();
});

test.each([
  ["PG_VERSION", "is of Postgres 16, and this is 17"],
  ["letter.txt", "has other files"],
])("a folder that is not one of this server is refused, and left as it is: %s", async (file, reason) => {
  const other = join(parent, file);
  mkdirSync(other);
  writeFileSync(join(other, file), "16\n");
  await expect(startServer(other)).rejects.toThrow(
    `The folder of the private Postgres server, ${other}, ${reason}. Move it away, or set DATABASE_FOLDER to another folder.`,
  );
  expect(readdirSync(other)).toEqual([file]);
});

test("a path that is too long for a socket is refused", async () => {
  await expect(startServer(join(parent, "x".repeat(100)))).rejects.toThrow(
    "would exceed the system's 107 bytes. Set DATABASE_FOLDER to a shorter path.",
  );
});

test.runIf(process.getuid?.() === 0)("a folder that the server's user cannot reach is refused", async () => {
  const closed = join(parent, "closed");
  mkdirSync(closed, { mode: 0o700 });
  await expect(startServer(join(closed, "postgres"))).rejects.toThrow(
    /could not be created: .*Permission denied.* set DATABASE_FOLDER to another folder, or set DATABASE_URL\.$/,
  );
  expect(readdirSync(closed)).toEqual([]);
});
