import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PGlite } from "@electric-sql/pglite";
import Database from "better-sqlite3";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { type Config, parseEnvironment } from "../src/config/environment.ts";
import { hashOn, serveHashes } from "../test/support/ponder/cache.ts";
import { examineIndex } from "./checks/index-state.ts";
import { examinePort } from "./checks/machine.ts";
import { examineUrls } from "./checks/nodes.ts";
import { passed } from "./checks.ts";
import { holdEmbeddedDatabase, openDatabase } from "./database.ts";

const messages: string[] = [];
beforeEach(() => void messages.splice(0));

/** A start with one check; `meanwhile` is what happens while it waits. */
const start = (
  run: (config: Config) => ReturnType<typeof examinePort>,
  config: object,
  meanwhile: () => unknown = () => expect.fail("it waits"),
) =>
  passed({ subject: "x", run }, config as Config, {
    log: (message) => void messages.push(message),
    wait: async () => void (await meanwhile()),
  });

describe("RPC URLs", () => {
  const nodes: { url: string; close(): void }[] = [];
  const chains = (http: string[]) => ({ chains: [{ id: 1, name: "mainnet", rpc: { http } }] });
  beforeAll(async () => {
    for (const id of [1, 5]) nodes.push(await serveHashes({ id, fork: 0, head: 0 }));
  });
  afterAll(() => {
    for (const node of nodes) node.close();
  });
  const urls = () => nodes.map(({ url }) => `${url}/key`) as [string, string];
  const hostOf = (url: string) => new URL(url).host;
  const silent = "http://127.0.0.1:1/key";

  test("of the chain are accepted", async () => {
    await start(examineUrls, chains([urls()[0]]));
    expect(messages).toEqual([]);
  });

  test("of another chain are refused by variable and host, without the key in them", async () => {
    const [own, other] = urls();
    await expect(start(examineUrls, chains([own, other]))).rejects.toThrow(
      `RPC_URL_1 entry 2 (${hostOf(other)}) serves chain 5, not chain 1. Correct RPC_URL_1.`,
    );
  });

  test("with another block at the height of the trusted one are refused with both hashes", async () => {
    const [own] = urls();
    const of = (hash: string) => ({
      chains: [{ id: 1, name: "mainnet", rpc: { http: [own] }, trustedBlock: { number: 0, hash } }],
    });
    await start(examineUrls, of(hashOn("b", 0)));
    await expect(start(examineUrls, of(hashOn("a", 0)))).rejects.toThrow(
      `Block 0 of chain 1 is ${hashOn("b", 0)} at RPC_URL_1 (${hostOf(own)}), but the trusted one is ${hashOn("a", 0)}. Correct TRUSTED_BLOCK_1 or RPC_URL_1.`,
    );
  });

  test("that do not respond are waited for, and named once", async () => {
    const [own] = urls();
    const config = chains([silent]);
    let waits = 0;
    await start(examineUrls, config, () => {
      if (++waits === 3) config.chains[0]?.rpc.http.splice(0, 1, own);
    });
    expect(messages).toEqual([
      'No response from RPC_URL_1 (127.0.0.1:1); trying again every 2 s. See "When a dependency is unavailable" in docs/operations.md.',
    ]);
  });

  test("that do not respond, of a chain whose blocks the index knows, hold up no start", async () => {
    const known = async () => ({ 1: [] });
    await start((config: ReturnType<typeof chains>) => examineUrls(config, known), chains([silent]));
    expect(messages).toEqual([
      'No response from RPC_URL_1 (127.0.0.1:1); continuing without chain 1. See "When a chain pauses" in docs/operations.md.',
    ]);
  });

  test("that do not respond are left to the others", async () => {
    await start(examineUrls, chains([silent, urls()[0]]));
    expect(messages).toEqual([
      'No response from RPC_URL_1 entry 1 (127.0.0.1:1); continuing with the others. See "When a dependency is unavailable" in docs/operations.md.',
    ]);
  });
});

// PostgreSQL, frontend/backend protocol: an ErrorResponse to the startup message, with severity, code (appendix A) and message.
test.each([
  ["28P01", 'password authentication failed for user "names"'],
  ["28000", 'role "names" does not exist'],
  ["3D000", 'database "names" does not exist'],
])("says at once what Postgres refuses a login for: %s", async (code, message) => {
  const fields = Buffer.from(`SFATAL\0C${code}\0M${message}\0\0`);
  const head = Buffer.from("E\0\0\0\0");
  head.writeInt32BE(fields.length + 4, 1);
  const server = createServer((socket) =>
    socket.once("data", () => socket.end(Buffer.concat([head, fields]))),
  );
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as { port: number };
  const databaseUrl = `postgres://names:secret@127.0.0.1:${port}/names`;
  await expect(start(examineIndex, { databaseUrl, databaseSchema: "public" })).rejects.toThrow(
    `Postgres refuses the connection: ${message}. Correct DATABASE_URL.`,
  );
  server.close();
});

test("a database that is away is waited for", async () => {
  const databaseUrl = "postgres://names:secret@127.0.0.1:1/names";
  const config: { databaseUrl?: string } = { databaseUrl };
  const there = { pgliteDirectory: "/nowhere", databaseSchema: "public" };
  await start(examineIndex, Object.assign(config, there), () => delete config.databaseUrl);
  expect(messages).toEqual([
    expect.stringMatching(/^The database does not respond; trying again every 2 s\. /),
  ]);
});

test("a port in use is refused, and so is an address that is not this machine's", async () => {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, resolve));
  const { port } = server.address() as { port: number };
  await expect(start(examinePort, { port })).rejects.toThrow(
    `Port ${port} is taken by another process. Free it, or choose another with PORT.`,
  );
  await new Promise((resolve) => server.close(resolve));
  await start(examinePort, { port });
  await start(examinePort, { port: 0, host: "127.0.0.1" });
  // TEST-NET-1 (RFC 5737).
  await expect(start(examinePort, { port: 0, host: "192.0.2.1" })).rejects.toThrow(
    "This machine has no address 192.0.2.1 (EADDRNOTAVAIL). Correct API_HOST.",
  );
});

describe("an embedded database", () => {
  // An empty database: copying it is many times faster than creating one.
  let empty: string;
  let folder: string;
  let directory: string;
  beforeAll(async () => {
    empty = mkdtempSync(join(tmpdir(), "embedded-empty-"));
    await (await PGlite.create(empty)).close();
  });
  afterAll(() => rmSync(empty, { recursive: true, force: true }));
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "embedded-"));
    directory = join(folder, "pglite");
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  const config = () => {
    const environment = { NAMESPACE: "ens-test-env", PLUGINS: "subgraph", LABELS_URL: "file:x" };
    return parseEnvironment({ ...environment, PGLITE_DIRECTORY: directory }, () => "");
  };
  const check = (meanwhile?: () => unknown) => start(examineIndex, config(), meanwhile);

  async function read(sql: string) {
    const database = await openDatabase(config());
    const { rows = [] } = (await database?.run(sql)) ?? {};
    await database?.close();
    return rows.map(({ value }) => value);
  }

  // Ponder 0.17's tables.
  async function leave(app: { is_ready: number; is_locked: number; heartbeat_at: number }) {
    cpSync(empty, directory, { recursive: true });
    const database = await PGlite.create(directory);
    await database.exec(`
      CREATE SCHEMA ponder_sync; CREATE TABLE ponder_sync.blocks (number int); INSERT INTO ponder_sync.blocks VALUES (1);
      CREATE TABLE domain (id text); INSERT INTO domain VALUES ('0x01');
      CREATE TABLE _reorg__domain (id text, checkpoint text);
      INSERT INTO _reorg__domain VALUES ('final', '099'), ('last final', '100'), ('live', '101');
      CREATE TABLE _ponder_checkpoint (safe_checkpoint text); INSERT INTO _ponder_checkpoint VALUES ('100');
      CREATE TABLE _ponder_meta (key text, value jsonb);
      INSERT INTO _ponder_meta VALUES ('app', '${JSON.stringify(app)}');`);
    await database.close();
  }
  const tables =
    "SELECT schemaname || '.' || tablename AS value FROM pg_tables WHERE tablename IN ('domain', 'blocks')";

  test("is not created", async () => {
    await check();
    expect(existsSync(directory)).toBe(false);
  });

  test("whose backfill was complete is kept, and an interrupted finalization completed", async () => {
    await leave({ is_ready: 1, is_locked: 1, heartbeat_at: Date.now() });
    await check();
    expect(await read(tables)).toEqual(["ponder_sync.blocks", "public.domain"]);
    expect(await read("SELECT id AS value FROM _reorg__domain")).toEqual(["live"]);
    expect(await read("SELECT value ->> 'is_locked' AS value FROM _ponder_meta")).toEqual(["0"]);
    expect(messages).toEqual([]);
  });

  test.each([
    ["without a lock", { is_locked: 0, heartbeat_at: 0 }],
    ["with the lock of a process that was killed", { is_locked: 1, heartbeat_at: Date.now() }],
  ])("with an interrupted backfill keeps fetched data alone: %s", async (_, lock) => {
    await leave({ is_ready: 0, ...lock });
    await check();
    expect(await read(tables)).toEqual(["ponder_sync.blocks"]);
    expect(messages).toEqual([expect.stringContaining("restarting it. With Postgres (DATABASE_URL)")]);
  });

  test.each([
    ["PG_VERSION", "cannot be opened ("],
    ["letter.txt", "is none. Move the folder away, or choose another PGLITE_DIRECTORY."],
  ])("that is not one is refused, and left as it is: %s", async (file, message) => {
    mkdirSync(directory);
    writeFileSync(join(directory, file), "16\n");
    await expect(check()).rejects.toThrow(`The embedded database in ${directory} ${message}`);
    expect(readdirSync(directory)).toEqual([file]);
  });

  test("serves one process", () => {
    const other = new Database(`${directory}.lock`);
    other.exec("BEGIN EXCLUSIVE");
    expect(() => holdEmbeddedDatabase(directory)).toThrow(
      `Another process uses the database in ${directory}. Stop it, or choose another PGLITE_DIRECTORY.`,
    );
    other.close();
    holdEmbeddedDatabase(directory).release();
  });
});
