import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PGlite } from "@electric-sql/pglite";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import {
  holdEmbeddedDatabase,
  openDatabase,
  repairEmbeddedDatabase,
  requireChains,
  requireFreePort,
} from "./preflight.ts";

const chain = (http: string[]) => ({ id: 1, name: "mainnet", rpc: { http } });

function check(answers: Record<string, (number | "silent")[]>) {
  const messages: string[] = [];
  const pauses: number[] = [];
  return {
    messages,
    pauses,
    log: (message: string) => messages.push(message),
    wait: async (milliseconds: number) => {
      pauses.push(milliseconds);
    },
    request: async (url: string) => {
      const list = answers[url] ?? [];
      const answer = list.length > 1 ? list.shift() : list[0];
      if (answer === undefined || answer === "silent") throw new Error("connect ECONNREFUSED");
      return answer;
    },
  };
}

const away = 'See "While something is away" in docs/operations.md.';

test("accepts a URL that serves the chain", async () => {
  const run = check({ "http://a.example/key": [1] });
  await requireChains([chain(["http://a.example/key"])], run);
  expect(run.messages).toEqual([]);
});

test("refuses a URL of another chain, naming variable and host but not the key in it", async () => {
  const run = check({ "http://a.example/key": [1], "http://b.example/key": [5] });
  const refused = requireChains([chain(["http://a.example/key", "http://b.example/key"])], run);
  await expect(refused).rejects.toThrow(
    "RPC_URL_1 entry 2 (b.example) answers for chain 5, not for chain 1. Correct RPC_URL_1.",
  );
});

test("waits longer and longer, half a minute at most, until an RPC responds", async () => {
  const run = check({ "http://a.example": [...Array(7).fill("silent"), 1] });
  await requireChains([chain(["http://a.example"])], run);
  expect(run.pauses).toEqual([1000, 2000, 4000, 8000, 16000, 30000, 30000]);
  expect(run.messages[0]).toBe(`No answer from RPC_URL_1 (a.example); trying again in 1 s. ${away}`);
});

test("continues when one of several URLs responds", async () => {
  const run = check({ "http://a.example": ["silent"], "http://b.example": [1] });
  await requireChains([chain(["http://a.example", "http://b.example"])], run);
  expect(run.messages).toEqual([
    `No answer from RPC_URL_1 entry 1 (a.example); going on with the others. ${away}`,
  ]);
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
  await expect(openDatabase({ databaseUrl, pgliteDirectory: "" })).rejects.toThrow(
    `Postgres refuses the connection: ${message}. Correct DATABASE_URL.`,
  );
  server.close();
});

test("rejects a port in use, and accepts it once it is free", async () => {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, resolve));
  const address = server.address();
  const port = typeof address === "object" && address ? address.port : 0;
  await expect(requireFreePort(port)).rejects.toThrow(
    `Port ${port} is taken by another process. Free it, or choose another with PORT.`,
  );
  await new Promise((resolve) => server.close(resolve));
  await expect(requireFreePort(port)).resolves.toBeUndefined();
});

test("refuses an address that is not this machine's", async () => {
  // TEST-NET-1 (RFC 5737).
  await expect(requireFreePort(0, "192.0.2.1")).rejects.toThrow(
    "This machine has no address 192.0.2.1 (EADDRNOTAVAIL). Correct API_HOST.",
  );
  await expect(requireFreePort(0, "127.0.0.1")).resolves.toBeUndefined();
});

// An empty database: copying it is many times faster than creating one.
let empty: string;
beforeAll(async () => {
  empty = mkdtempSync(join(tmpdir(), "embedded-empty-"));
  await (await PGlite.create(empty)).close();
});
afterAll(() => rmSync(empty, { recursive: true, force: true }));

let folder: string;
let directory: string;
let messages: string[];
let waits: number[];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "embedded-"));
  directory = join(folder, "pglite");
  messages = [];
  waits = [];
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const tools = (whileWaiting: () => Promise<void> = async () => undefined) => {
  let now = 1_000_000;
  return {
    log: (message: string) => void messages.push(message),
    now: () => now,
    async wait(milliseconds: number) {
      waits.push(milliseconds);
      now += milliseconds;
      await whileWaiting();
    },
  };
};

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

async function read(sql: string) {
  const database = await PGlite.create(directory);
  const { rows } = await database.query<{ value: string }>(sql);
  await database.close();
  return rows.map(({ value }) => value);
}
const tables =
  "SELECT schemaname || '.' || tablename AS value FROM pg_tables WHERE tablename IN ('domain', 'blocks')";

test("creates nothing if there is no database", async () => {
  await repairEmbeddedDatabase(directory, "public", tools());
  expect(existsSync(directory)).toBe(false);
});

test("keeps an index whose backfill was complete, and completes an interrupted finalization", async () => {
  await leave({ is_ready: 1, is_locked: 0, heartbeat_at: 0 });
  await repairEmbeddedDatabase(directory, "public", tools());
  expect(await read(tables)).toEqual(["ponder_sync.blocks", "public.domain"]);
  expect(await read("SELECT id AS value FROM _reorg__domain")).toEqual(["live"]);
  expect(messages).toEqual([]);
});

test("drops an index with an interrupted backfill, and keeps fetched data", async () => {
  await leave({ is_ready: 0, is_locked: 0, heartbeat_at: 0 });
  await repairEmbeddedDatabase(directory, "public", tools());
  expect(await read(tables)).toEqual(["ponder_sync.blocks"]);
  expect(messages).toEqual([expect.stringContaining("restarting it")]);
});

test("waits for the lock of a killed process to expire", async () => {
  await leave({ is_ready: 0, is_locked: 1, heartbeat_at: 990_000 });
  await repairEmbeddedDatabase(directory, "public", tools());
  expect(waits).toEqual([15_100]);
  expect(await read(tables)).toEqual(["ponder_sync.blocks"]);
});

test("does not wait for a lock that has expired", async () => {
  await leave({ is_ready: 0, is_locked: 1, heartbeat_at: 900_000 });
  await repairEmbeddedDatabase(directory, "public", tools());
  expect(waits).toEqual([]);
  expect(await read(tables)).toEqual(["ponder_sync.blocks"]);
});

test("does not touch a database whose process is alive", async () => {
  await leave({ is_ready: 0, is_locked: 1, heartbeat_at: 990_000 });
  const beat = async () => {
    const database = await PGlite.create(directory);
    await database.exec(`UPDATE _ponder_meta SET value = jsonb_set(value, '{heartbeat_at}', '1010000')`);
    await database.close();
  };
  await expect(repairEmbeddedDatabase(directory, "public", tools(beat))).rejects.toThrow(
    `Another process uses the database in ${directory}. Choose another PGLITE_DIRECTORY.`,
  );
  expect(await read(tables)).toEqual(["ponder_sync.blocks", "public.domain"]);
});

test("moves aside a database that cannot be opened", async () => {
  mkdirSync(directory);
  writeFileSync(join(directory, "PG_VERSION"), "16\n");
  await repairEmbeddedDatabase(directory, "public", tools());
  expect(readdirSync(folder)).toEqual(["pglite.unusable-1000000"]);
  expect(messages).toEqual([expect.stringContaining("cannot be opened")]);
});

test("does not touch a folder that is not a database", async () => {
  mkdirSync(directory);
  writeFileSync(join(directory, "letter.txt"), "dear");
  await expect(repairEmbeddedDatabase(directory, "public", tools())).rejects.toThrow(
    "is not an embedded database",
  );
  expect(readdirSync(directory)).toEqual(["letter.txt"]);
});

test("allows one process per folder", () => {
  const held = holdEmbeddedDatabase(directory);
  expect(() => holdEmbeddedDatabase(directory)).toThrow(`Another process uses the database in ${directory}.`);
  held.release();
  holdEmbeddedDatabase(directory).release();
});
