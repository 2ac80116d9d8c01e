import { inject } from "vitest";
import type { Pool } from "../../../src/ponder/sql-client.ts";
import { createDatabase } from "../../../src/read/sql/client.ts";
import { checkpointOf } from "../checkpoints.ts";
import { indexStatements, tableStatements } from "../create-tables.ts";
import { createEmptyDatabase, createPool } from "../postgres.ts";
import { addressSql, generateStatements, generateV2Statements, nodeSql } from "./generate.ts";

/** A database of generated names on a Postgres server. */
export type GeneratedDatabase = Awaited<ReturnType<typeof createGeneratedDatabase>>;

/** A database of generated names; `settings` are those of its connections, as in postgresql.conf. */
export async function createGeneratedDatabase(names: number, settings: readonly string[] = []) {
  const { url, drop } = await createEmptyDatabase(inject("postgresUrl"));
  // The wait for locks is that of Ponder's pool for reading; a deadlock can be made before it is looked for.
  const all = ["lock_timeout=500", "deadlock_timeout=5s", ...settings];
  const pool = createPool(url, 12, { options: all.map((setting) => `-c ${setting}`).join(" ") });
  const run = (text: string, values?: unknown[]): Promise<{ rows: Record<string, unknown>[] }> =>
    pool.query(text, values);
  const filled = [...generateStatements(names), ...generateV2Statements(names)];
  for (const text of [...tableStatements(), ...filled, ...indexStatements()]) await run(text);
  await run(
    "INSERT INTO _ponder_checkpoint (chain_name, chain_id, latest_checkpoint) VALUES ('main', 1, $1)",
    [checkpointOf({ number: 9_000_000 + names, timestamp: 1_760_000_000 })],
  );
  // The server may be at it already, which holds it up for longer than these connections wait for a lock.
  const patient = createPool(url, 1);
  await patient.query("ANALYZE").finally(() => patient.end());
  const { rows } = await run(`SELECT ${addressSql("0")} AS address, ${nodeSql(100)} AS node`);
  // The driver's types leave out what the product uses of its connections.
  const client = pool as unknown as Pool;
  return {
    ...{ url, run, client, database: createDatabase(client) },
    address: String(rows[0]?.["address"]),
    node: String(rows[0]?.["node"]),
    async close() {
      await pool.end();
      await drop();
    },
  };
}
