import { PGlite } from "@electric-sql/pglite";
import pg from "pg";
import { createDatabase, type Database } from "../../src/api/database/client.ts";
import type { SqlClient } from "../../src/ponder/sql-client.ts";
import { indexStatements, tableStatements } from "./create-tables.ts";
import { addressSql, generateStatements, nodeSql } from "./generate.ts";
import { postgresPrograms, startPostgres } from "./postgres.ts";
import { checkpointOf } from "./subgraph.ts";

type Run = (text: string, values?: unknown[]) => Promise<{ rows: Record<string, unknown>[] }>;

/** A database of generated names: on a real Postgres where one is installed, else in memory. */
export async function createGeneratedDatabase(names: number) {
  const opened = await open();
  const { run } = opened;
  for (const text of [...tableStatements(), ...generateStatements(names), ...indexStatements()])
    await run(text);
  await run(
    "INSERT INTO _ponder_checkpoint (chain_name, chain_id, latest_checkpoint) VALUES ('main', 1, $1)",
    [checkpointOf({ number: 9_000_000 + names, timestamp: 1_760_000_000 })],
  );
  await run("ANALYZE");
  const { rows } = await run(`SELECT ${addressSql("0")} AS address, ${nodeSql(100)} AS node`);
  return { ...opened, address: String(rows[0]?.["address"]), node: String(rows[0]?.["node"]) };
}

async function open(): Promise<{
  run: Run;
  database: Database;
  isServer: boolean;
  close: () => Promise<void>;
}> {
  const programs = postgresPrograms();
  if (programs === undefined) {
    const client = new PGlite();
    const run: Run = (text, values) => client.query(text, values);
    return { run, database: createDatabase(client), isServer: false, close: () => client.close() };
  }
  const server = await startPostgres(programs);
  const pool = new pg.Pool({ connectionString: server.url, max: 12 });
  // A connection that the server ends at the stop is no fault of a test.
  const ignore = () => undefined;
  pool.on("error", ignore).on("connect", (client) => client.on("error", ignore));
  return {
    run: (text, values) => pool.query(text, values),
    database: createDatabase(pool as unknown as SqlClient),
    isServer: true,
    async close() {
      await pool.end();
      await server.stop();
    },
  };
}
