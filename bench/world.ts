import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { postgresPrograms, startPostgres } from "../test/support/postgres.ts";

// Those of a small server; fsync stays on.
const settings = ["max_wal_size=4GB", "work_mem=32MB"];

/**
 * Starts a Postgres server for a measurement; `sharedBuffers` is the memory that it keeps tables in. Throws if no server's programs are
 * installed.
 */
export async function startBenchPostgres(sharedBuffers = "1GB") {
  const programs = postgresPrograms();
  if (programs === undefined) throw new Error("No Postgres server programs found. Install them.");
  return startPostgres(programs, [`shared_buffers=${sharedBuffers}`, ...settings]);
}

/** A folder and a Postgres server for a measurement. */
export type World = { folder: string; url: string; version: string };

/** Runs a measurement with a folder and a Postgres server of its own, which are gone afterwards. */
export async function inWorld(name: string, measure: (world: World) => Promise<void>): Promise<void> {
  const postgres = await startBenchPostgres();
  const folder = mkdtempSync(join(tmpdir(), `bench-${name}-`));
  try {
    await measure({ folder, url: postgres.url, version: postgres.version });
  } finally {
    await postgres.stop();
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  }
}

/** Runs one statement on a connection of its own. */
export async function runStatement(url: string, statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query(statement).finally(() => client.end());
}

/** Creates a database, with an empty RPC cache, on the server of `url`; returns its own URL. */
export async function createDatabase(url: string, name: string): Promise<string> {
  await runStatement(url, `CREATE DATABASE "${name}"`);
  return Object.assign(new URL(url), { pathname: `/${name}` }).href;
}

/** Bytes of a relation of Postgres: a table with what belongs to it but its indexes, or one index. */
export type Relation = { name: string; isIndex: boolean; bytes: number };

/** What a schema takes on disk, the largest relations first, and how many names it has (0 without a table of them). */
export async function diskOf(url: string, schema: string): Promise<{ relations: Relation[]; names: number }> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    const { rows: relations } = await client.query<Relation>(
      `SELECT c.relname AS name, c.relkind = 'i' AS "isIndex",
        CASE c.relkind WHEN 'i' THEN pg_relation_size(c.oid) ELSE pg_table_size(c.oid) END::float8 AS bytes
      FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
      WHERE c.relkind IN ('r', 'i') AND n.nspname = $1 ORDER BY bytes DESC`,
      [schema],
    );
    const hasNames = relations.some(({ name, isIndex }) => name === "domain" && !isIndex);
    const { rows } = hasNames
      ? await client.query(`SELECT count(*)::int AS names FROM "${schema}".domain`)
      : { rows: [] };
    return { relations, names: Number(rows[0]?.names ?? 0) };
  } finally {
    await client.end();
  }
}

/** The bytes of relations together; `isIndex`: of indexes alone, or of tables alone. */
export const bytesOf = (relations: readonly Relation[], isIndex?: boolean): number =>
  relations
    .filter((one) => isIndex === undefined || one.isIndex === isIndex)
    .reduce((sum, { bytes }) => sum + bytes, 0);
