import { existsSync, mkdirSync, renameSync } from "node:fs";
import { createServer } from "node:net";
import { dirname, join } from "node:path";
import { PGlite } from "@electric-sql/pglite";
import Database from "better-sqlite3";
import pg from "pg";
import type { IndexedChain } from "../src/config/chains.ts";
import type { Config } from "../src/config/environment.ts";
import { changesOf, rowSettings } from "../src/config/row-settings.ts";
import { seeOperations } from "../src/log/json-log.ts";
import { descriptionOf, heartbeatTimeout } from "../src/operations/stored-indexes.ts";
import { hasTable, isDatabaseAway, quoted, type Statement } from "../src/ponder/sql-client.ts";

// Checks before Ponder starts: Ponder itself would switch to another port, only warn about a wrong chain, and give up
// when waiting helps.

/** Throws a PreflightError if something listens on the port, or if this machine has no such address (default: all of its). */
export async function requireFreePort(port: number, host?: string): Promise<void> {
  const server = createServer();
  await new Promise<void>((resolve, reject) => {
    server.once("error", (error: NodeJS.ErrnoException) => {
      if (host !== undefined && /^(EADDRNOTAVAIL|ENOTFOUND|EAI_AGAIN|EINVAL)$/.test(error.code ?? "")) {
        reject(new PreflightError(`This machine has no address ${host} (${error.code}). Correct API_HOST.`));
        return;
      }
      const reason =
        error.code === "EADDRINUSE" ? "is taken by another process" : `cannot be used (${error.code})`;
      reject(new PreflightError(`Port ${port} ${reason}. Free it, or choose another with PORT.`));
    });
    server.listen({ port, host }, () => server.close(() => resolve()));
  });
}

type RpcCheck = {
  log(message: string): void;
  wait(milliseconds: number): Promise<void>;
  request(url: string): Promise<number>;
};

/** In place of a directory: the database is kept in memory, and lost when the process ends. */
const inMemory = "memory://";

const away = seeOperations("While something is away");
const firstPause = 1_000;
const longestPause = 30_000;

/**
 * Waits until each chain has at least one RPC URL that responds. Throws a PreflightError if any URL serves another
 * chain; messages name URLs by variable, position and host, since URLs can contain keys.
 */
export async function requireChains(chains: readonly IndexedChain[], check: RpcCheck): Promise<void> {
  await Promise.all(chains.map((chain) => requireChain(chain, check)));
}

async function requireChain({ id, rpc }: IndexedChain, { log, wait, request }: RpcCheck): Promise<void> {
  for (let pause = firstPause; ; pause = Math.min(pause * 2, longestPause)) {
    const answers = await Promise.allSettled(rpc.http.map(request));
    for (const [place, answer] of answers.entries()) {
      if (answer.status === "rejected" || answer.value === id) continue;
      throw new PreflightError(
        `${nameOfUrl(id, rpc.http, place)} answers for chain ${answer.value}, not for chain ${id}. Correct RPC_URL_${id}.`,
      );
    }
    const silent = answers.flatMap((answer, place) =>
      answer.status === "rejected" ? [nameOfUrl(id, rpc.http, place)] : [],
    );
    if (silent.length < answers.length) {
      if (silent.length > 0) log(`No answer from ${silent.join(", ")}; going on with the others. ${away}`);
      return;
    }
    log(`No answer from ${silent.join(", ")}; trying again in ${pause / 1000} s. ${away}`);
    await wait(pause);
  }
}

/** An RPC URL by variable, position and host: URLs can contain keys. */
export function nameOfUrl(chainId: number, urls: readonly string[], place: number): string {
  const host = URL.canParse(urls[place] ?? "") ? new URL(urls[place] ?? "").host : "?";
  return urls.length === 1
    ? `RPC_URL_${chainId} (${host})`
    : `RPC_URL_${chainId} entry ${place + 1} (${host})`;
}

/** The service cannot start as configured; the message says what to change. */
export class PreflightError extends Error {
  override name = "PreflightError";
}

// ponder: on PGlite the writes of a batch are not a transaction. A process that exits in the middle of a batch leaves
// some of its rows. During the backfill nothing records which; later the reorg tables do, and Ponder reverts those
// rows.

/** Time and messages as arguments, so that tests need not wait. */
export type RepairTools = {
  log(message: string): void;
  now(): number;
  wait(milliseconds: number): Promise<void>;
};

/**
 * Holds the folder of an embedded database for this process; the system releases it when the process exits for any
 * reason. PGlite itself would let two processes open one folder and corrupt it. Throws a PreflightError if it is held.
 */
export function holdEmbeddedDatabase(directory: string): { release(): void } {
  if (directory === inMemory) return { release: () => {} };
  mkdirSync(dirname(directory), { recursive: true });
  const lock = new Database(`${directory}.lock`, { timeout: 0 });
  try {
    lock.exec("BEGIN EXCLUSIVE");
  } catch (error) {
    lock.close();
    if ((error as { code?: string }).code !== "SQLITE_BUSY") throw error;
    throw new PreflightError(
      `Another process uses the database in ${directory}. Stop it, or choose another PGLITE_DIRECTORY.`,
    );
  }
  return { release: () => void lock.close() };
}

type App = { is_ready: number; is_locked: number; heartbeat_at: number };

/**
 * Brings the index in an embedded database into a state from which Ponder can continue: an interrupted backfill is
 * dropped, data fetched from the chain stays. Throws a PreflightError if another process uses the database.
 */
export async function repairEmbeddedDatabase(directory: string, schema: string, tools: RepairTools) {
  if (!existsSync(directory)) return;
  const seen = await inspect(directory, schema, tools);
  if (seen?.is_locked !== 1) return;
  const expiry = seen.heartbeat_at + heartbeatTimeout - tools.now();
  if (expiry <= 0) return;
  // Whoever holds the lock renews its heartbeat within ten seconds; a killed process never does.
  tools.log(
    `The embedded database is locked; waiting ${Math.ceil(expiry / 1000)} s for the lock to expire. ${seeOperations("After a kill")}`,
  );
  await tools.wait(expiry + 100);
  const later = await inspect(directory, schema, tools);
  if (later?.is_locked === 1 && later.heartbeat_at > seen.heartbeat_at) {
    throw new PreflightError(
      `Another process uses the database in ${directory}. Choose another PGLITE_DIRECTORY.`,
    );
  }
}

/** Fixes what can be fixed unless the database is locked; returns what Ponder recorded of its last run. */
async function inspect(directory: string, schema: string, tools: RepairTools): Promise<App | undefined> {
  const database = await open(directory, tools);
  if (database === undefined) return undefined;
  try {
    const app = await readApp(database, schema);
    if (app === undefined) return undefined;
    const isHeld = app.is_locked === 1 && app.heartbeat_at + heartbeatTimeout > tools.now();
    if (isHeld) return app;
    if (app.is_ready === 1) {
      await completeFinalization(database, schema);
      return app;
    }
    await database.exec(`DROP SCHEMA ${quoted(schema)} CASCADE; CREATE SCHEMA ${quoted(schema)}`);
    tools.log(
      "PGlite cannot resume a backfill that was interrupted: restarting it. " +
        `With Postgres (DATABASE_URL) a backfill resumes where it stopped. ${seeOperations("After a kill")}`,
    );
    return undefined;
  } finally {
    await database.close();
  }
}

async function open(directory: string, { log, now }: RepairTools): Promise<PGlite | undefined> {
  try {
    return await PGlite.create(directory);
  } catch (error) {
    if (!existsSync(join(directory, "PG_VERSION"))) {
      throw new PreflightError(`${directory} is not an embedded database. Choose another PGLITE_DIRECTORY.`);
    }
    const aside = `${directory}.unusable-${now()}`;
    renameSync(directory, aside);
    log(
      `The embedded database in ${directory} cannot be opened (${error}). It was moved to ${aside}; creating a new one. ${seeOperations("After a kill")}`,
    );
    return undefined;
  }
}

async function readApp(database: PGlite, schema: string): Promise<App | undefined> {
  const table = `${quoted(schema)}._ponder_meta`;
  const found = await database.query<{ exists: boolean }>("SELECT to_regclass($1) IS NOT NULL AS exists", [
    table,
  ]);
  if (!found.rows[0]?.exists) return undefined;
  const { rows } = await database.query<{ value: App }>(`SELECT value FROM ${table} WHERE key = 'app'`);
  return rows[0]?.value;
}

/** Drops the undo rows of finalized blocks, which Ponder would have dropped next, and would otherwise revert. */
async function completeFinalization(database: PGlite, schema: string) {
  const tables = await database.query<{ name: string }>(
    "SELECT tablename AS name FROM pg_tables WHERE schemaname = $1 AND starts_with(tablename, '_reorg__')",
    [schema],
  );
  const safe = `(SELECT min(safe_checkpoint) FROM ${quoted(schema)}._ponder_checkpoint)`;
  for (const { name } of tables.rows) {
    await database.exec(`DELETE FROM ${quoted(schema)}.${quoted(name)} WHERE checkpoint <= ${safe}`);
  }
}

/** One connection to the index's database. */
export type OpenDatabase = { run: Statement; close(): Promise<void> };

/**
 * Connects to the configured database; undefined if the embedded one does not exist yet. Throws a PreflightError if
 * Postgres refuses the login or has no such database, and the driver's error while it is away.
 */
export async function openDatabase({
  databaseUrl,
  pgliteDirectory,
}: Pick<Config, "databaseUrl" | "pgliteDirectory">): Promise<OpenDatabase | undefined> {
  if (databaseUrl === undefined) {
    if (!existsSync(pgliteDirectory)) return undefined;
    const embedded = await PGlite.create(pgliteDirectory);
    return { run: (text, values) => embedded.query(text, values), close: () => embedded.close() };
  }
  const pool = new pg.Pool({ connectionString: databaseUrl, max: 1, connectionTimeoutMillis: 10_000 });
  try {
    const client = await pool.connect();
    // A connection that is lost rejects the statement that runs.
    client.on("error", () => undefined);
    return {
      run: (text, values) => client.query(text, values),
      async close() {
        client.release();
        await pool.end();
      },
    };
  } catch (error) {
    await pool.end();
    // Postgres: class 28 is a refused login, 3D000 an unknown database.
    const { code, message } = error as { code?: unknown; message: string };
    if (!/^(28...|3D000)$/.test(String(code))) throw error;
    throw new PreflightError(`Postgres refuses the connection: ${message}. Correct DATABASE_URL.`);
  }
}

/** Why the index in the configured schema cannot go on with these settings; undefined if it can, or if there is none. */
export async function settingsFault(config: Config): Promise<{ found: string; remedy: string } | undefined> {
  const database = await openIfThere(config);
  if (database === undefined) return undefined;
  try {
    const stored = await descriptionOf(database.run, config.databaseSchema);
    const changes = stored?.settings === undefined ? [] : changesOf(stored.settings, rowSettings(config));
    if (changes.length === 0) return undefined;
    const verb = changes.length === 1 ? "changes" : "change";
    return {
      found: `${changes.join(", ")}, which ${verb} rows of the index in schema ${quoted(config.databaseSchema)}.`,
      remedy: "Set a new DATABASE_SCHEMA: readers are served from this index until the new one is complete.",
    };
  } finally {
    await database.close();
  }
}

/** Throws a PreflightError that names the settings by which the index in the schema was built, where others are configured. */
export async function requireSameSettings(config: Config): Promise<void> {
  const fault = await settingsFault(config);
  if (fault !== undefined)
    throw new PreflightError(`${fault.found} ${fault.remedy} ${seeOperations("Upgrade without downtime")}`);
}

type SchemaTools = { log(message: string): void; wait(milliseconds: number): Promise<void>; now(): number };
type SchemaSettings = Pick<Config, "databaseUrl" | "pgliteDirectory" | "databaseSchema">;

const lookAgainMs = 5_000;

/**
 * Waits while another indexer holds the index's schema in Postgres, and says at once which. Ponder itself would wait once
 * and then give up.
 */
export async function requireUnlockedSchema(config: SchemaSettings, tools: SchemaTools): Promise<void> {
  if (config.databaseUrl === undefined) return;
  for (let isWaiting = false; ; isWaiting = true) {
    const holder = await schemaHolder(config, tools.now());
    if (holder === undefined) return;
    if (!isWaiting) {
      tools.log(
        `Another indexer holds schema ${quoted(config.databaseSchema)}${holder.from}; it was active ` +
          `${Math.round((heartbeatTimeout - holder.expiry) / 1000)} s ago. Waiting until it stops ` +
          `(${heartbeatTimeout / 1000} s after a kill). For an index of its own, set another DATABASE_SCHEMA. ` +
          seeOperations("When another indexer holds the schema"),
      );
    }
    await tools.wait(Math.min(lookAgainMs, holder.expiry + 100));
  }
}

/** The indexer that holds the configured schema: where it is connected from, milliseconds until its lock expires. */
export async function schemaHolder({ databaseSchema: schema, ...config }: SchemaSettings, now: number) {
  const database = await openIfThere(config);
  if (database === undefined) return undefined;
  try {
    if (!(await hasTable(database.run, `${quoted(schema)}._ponder_meta`))) return undefined;
    // ponder: names its connections after the schema.
    const { rows } = await database.run(
      `SELECT (value ->> 'is_locked')::int AS locked, (value ->> 'heartbeat_at')::text AS heartbeat,
        (SELECT string_agg(DISTINCT coalesce(host(client_addr), 'this machine'), ', ') FROM pg_stat_activity
          WHERE datname = current_database() AND application_name = left($1 || '_internal', 63)) AS hosts
      FROM ${quoted(schema)}._ponder_meta WHERE key = 'app'`,
      [schema],
    );
    const [row] = rows;
    const expiry = Number(row?.["heartbeat"] ?? 0) + heartbeatTimeout - now;
    if (row?.["locked"] !== 1 || expiry <= 0) return undefined;
    return { expiry, from: typeof row["hosts"] === "string" ? `, connected from ${row["hosts"]}` : "" };
  } finally {
    await database.close();
  }
}

/** Connects as `openDatabase` does; undefined also while the database is away. */
export const openIfThere = (config: Parameters<typeof openDatabase>[0]) =>
  openDatabase(config).catch((error: unknown) => {
    if (!isDatabaseAway(error)) throw error;
    return undefined;
  });
