import pg from "pg";
import type { Config } from "../src/config/environment.ts";
import { type BlockRef, headSql, parseHead } from "../src/ponder/checkpoints.ts";
import { hasTable, quoted, type Statement } from "../src/ponder/sql-client.ts";
import { holdServer } from "./postgres/private.ts";
import { PreflightError } from "./refusal.ts";

/** Where a database is; `databaseFolder`: of the private server, which a command starts for as long as it needs it. */
export type DatabaseLocation = Pick<Config, "databaseUrl" | "databaseFolder">;

/**
 * Connects to the configured database; undefined if the private server does not exist yet. Throws a PreflightError if
 * the connection is refused, and the driver's error while Postgres is away.
 */
export async function openDatabase({
  databaseUrl,
  databaseFolder,
}: DatabaseLocation): Promise<{ run: Statement; close(): Promise<void> } | undefined> {
  if (databaseFolder === undefined) return connect(databaseUrl);
  const hold = await holdServer(databaseFolder, { isOwner: false });
  if (hold === undefined) return undefined;
  try {
    const { run, close } = await connect(databaseUrl);
    return { run, close: () => close().finally(() => hold.release()) };
  } catch (error) {
    await hold.release();
    throw error;
  }
}

/** Connects to a database; `settings`: of the driver. Throws as openDatabase does. */
export async function connect(databaseUrl: string, settings: pg.ClientConfig = {}) {
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
  const run: Statement = (text, values) => client.query(text, values);
  return { run, close: () => client.end() };
}

/**
 * Returns the result of `work` on a connection to the configured database; that of `absent` if the private server does
 * not exist yet, else throws a PreflightError.
 */
export async function withDatabase<T>(
  location: DatabaseLocation,
  work: (run: Statement) => Promise<T>,
  absent = (): T => {
    throw new PreflightError(`There is no database in ${location.databaseFolder}.`);
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
