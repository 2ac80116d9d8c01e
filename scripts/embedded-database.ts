import { existsSync, mkdirSync, renameSync } from "node:fs";
import { dirname, join } from "node:path";
import { PGlite } from "@electric-sql/pglite";
import Database from "better-sqlite3";
import { PreflightError } from "./preflight.ts";

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

// Ponder considers a lock lost when its heartbeat is this old, in milliseconds.
const heartbeatTimeout = 25_000;

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
  tools.log(`The embedded database is locked; waiting ${Math.ceil(expiry / 1000)} s for the lock to expire.`);
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
        "With Postgres (DATABASE_URL) a backfill resumes where it stopped.",
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
      `The embedded database in ${directory} cannot be opened (${error}). It was moved to ${aside}; creating a new one.`,
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

const quoted = (name: string) => `"${name.replaceAll('"', '""')}"`;
