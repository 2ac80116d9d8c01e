import { inject } from "vitest";
import { createDatabase, type QueuedDatabase } from "../../../src/api/database/client.ts";
import type { SqlClient } from "../../../src/ponder/sql-client.ts";
import { indexStatements, tableStatements } from "../create-tables.ts";
import { createEmbedded } from "../embedded/database.ts";
import { createEmptyDatabase, createPool } from "../postgres.ts";
import { checkpointOf } from "./endpoint.ts";
import { addressSql, generateStatements, generateV2Statements, nodeSql } from "./generate.ts";

type Run = (text: string, values?: unknown[]) => Promise<{ rows: Record<string, unknown>[] }>;

/** A database of generated names: on a real Postgres where one is installed, else in memory. */
export async function createGeneratedDatabase(names: number) {
  const opened = await open();
  const { run, analyze } = opened;
  const filled = [...generateStatements(names), ...generateV2Statements(names)];
  for (const text of [...tableStatements(), ...filled, ...indexStatements()]) await run(text);
  await run(
    "INSERT INTO _ponder_checkpoint (chain_name, chain_id, latest_checkpoint) VALUES ('main', 1, $1)",
    [checkpointOf({ number: 9_000_000 + names, timestamp: 1_760_000_000 })],
  );
  await analyze();
  const { rows } = await run(`SELECT ${addressSql("0")} AS address, ${nodeSql(100)} AS node`);
  return { ...opened, address: String(rows[0]?.["address"]), node: String(rows[0]?.["node"]) };
}

async function open(): Promise<{
  run: Run;
  client: SqlClient;
  database: QueuedDatabase;
  isServer: boolean;
  analyze: () => Promise<unknown>;
  close: () => Promise<void>;
}> {
  const server = inject("postgresUrl");
  if (!server) {
    const client = await createEmbedded();
    const run: Run = (text, values) => client.query(text, values);
    const analyze = () => run("ANALYZE");
    const close = () => client.close();
    return { run, client, database: createDatabase(client), isServer: false, analyze, close };
  }
  const { url, drop } = await createEmptyDatabase(server);
  // The wait for locks is that of Ponder's pool for reading; a deadlock can be made before it is looked for.
  const pool = createPool(url, 12, { options: "-c lock_timeout=500 -c deadlock_timeout=5s" });
  // The driver's types leave out what the product uses of its connections.
  const client = pool as unknown as SqlClient;
  return {
    run: (text, values) => pool.query(text, values),
    client,
    database: createDatabase(client),
    isServer: true,
    // The server may be at it already, which holds it up for longer than these connections wait for a lock.
    async analyze() {
      const patient = createPool(url, 1);
      await patient.query("ANALYZE").finally(() => patient.end());
    },
    async close() {
      await pool.end();
      await drop();
    },
  };
}
