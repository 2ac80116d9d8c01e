import { existsSync } from "node:fs";
import { PGlite } from "@electric-sql/pglite";
import pg from "pg";
import type { Config } from "../src/config/environment.ts";
import type { Statement } from "../src/ponder/sql-client.ts";
import { PreflightError } from "./preflight.ts";

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
