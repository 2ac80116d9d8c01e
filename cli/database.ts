import { existsSync, mkdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { PGlite } from "@electric-sql/pglite";
import Database from "better-sqlite3";
import pg from "pg";
import type { Config } from "../src/config/environment.ts";
import { type BlockRef, headSql, parseHead } from "../src/ponder/checkpoints.ts";
import { hasTable, quoted, type Statement } from "../src/ponder/sql-client.ts";

/** A start or command is refused as requested; the message says what to change. */
export class PreflightError extends Error {
  override name = "PreflightError";
}

/** Directory of an in-memory database, which is lost when the process ends. */
const inMemory = "memory://";

const held = new Set<string>();

/**
 * Locks the folder of an embedded database for this process, until the process exits. PGlite itself lets two processes open one folder and
 * corrupt it. Throws a PreflightError if another process has the lock.
 */
export function holdEmbeddedDatabase(directory: string): { release(): void } {
  if (directory === inMemory || held.has(directory)) return { release: () => {} };
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
  held.add(directory);
  return {
    release() {
      held.delete(directory);
      lock.close();
    },
  };
}

type DatabaseLocation = Pick<Config, "databaseUrl" | "pgliteDirectory">;

/**
 * Connects to the configured database; undefined if the embedded one, which only one process can use, does not exist yet. Throws a
 * PreflightError if the connection is refused, and the driver's error while Postgres is away. `settings`: of the driver.
 */
export async function openDatabase(
  { databaseUrl, pgliteDirectory: directory }: DatabaseLocation,
  settings: pg.ClientConfig = {},
): Promise<{ run: Statement; close(): Promise<void> } | undefined> {
  if (databaseUrl === undefined) {
    if (!existsSync(directory)) return undefined;
    const lock = holdEmbeddedDatabase(directory);
    const embedded = await PGlite.create(directory).catch((error: unknown) => {
      lock.release();
      const is = existsSync(join(directory, "PG_VERSION")) ? `cannot be opened (${error})` : "is none";
      throw new PreflightError(
        `The embedded database in ${directory} ${is}. Move the folder away, or choose another PGLITE_DIRECTORY.`,
      );
    });
    return {
      run: (text, values) => embedded.query(text, values),
      close: () => embedded.close().finally(() => lock.release()),
    };
  }
  const client = new pg.Client({
    connectionString: databaseUrl,
    connectionTimeoutMillis: 10_000,
    ...settings,
  });
  // A lost connection rejects the current statement.
  client.on("error", () => undefined);
  await client.connect().catch((error: Error & { code?: unknown }) => {
    // PgBouncer knows few of the parameters that Postgres takes.
    if (error.message.includes("unsupported startup parameter"))
      throw new PreflightError(
        `The pooler in DATABASE_URL answers "${error.message}". Set ignore_startup_parameters = statement_timeout in pgbouncer.ini.`,
      );
    // Postgres: class 28 is a refused login, 3D000 an unknown database.
    if (!/^(28...|3D000)$/.test(String(error.code))) throw error;
    throw new PreflightError(`Postgres refuses the connection: ${error.message}. Correct DATABASE_URL.`);
  });
  return { run: (text, values) => client.query(text, values), close: () => client.end() };
}

/**
 * Returns the result of `work` on a connection to the configured database; that of `absent` if the embedded one does not exist yet, else
 * throws a PreflightError.
 */
export async function withDatabase<T>(
  location: DatabaseLocation,
  work: (run: Statement) => Promise<T>,
  absent = (): T => {
    throw new PreflightError(`There is no database in ${location.pgliteDirectory}.`);
  },
): Promise<T> {
  const database = await openDatabase(location);
  return database === undefined ? absent() : work(database.run).finally(() => database.close());
}

type Index = Pick<Config, "databaseSchema" | "chains">;

/** Begins a snapshot of an index. Throws a PreflightError if the schema has no index of names. */
export async function beginSnapshot(run: Statement, { databaseSchema }: Index): Promise<void> {
  const schema = quoted(databaseSchema);
  if (!(await hasTable(run, `${schema}.domain`)))
    throw new PreflightError(`Schema ${schema} has no index of names.`);
  await run("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY");
  await run(`SET LOCAL search_path TO ${schema}`);
}

/** The last indexed block of each chain, from the index in the search path. */
export async function readHeads(run: Statement, { chains }: Index): Promise<Map<number, BlockRef>> {
  const heads = new Map<number, BlockRef>();
  for (const { id } of chains) {
    const { rows } = await run(`SELECT ${headSql(id)} AS head`);
    const head = parseHead((rows[0]?.["head"] ?? null) as string | null);
    if (head !== undefined) heads.set(id, head);
  }
  return heads;
}
