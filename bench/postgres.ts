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
  if (programs === undefined)
    throw new Error("No Postgres server programs found. Install them, or set DATABASE_URL.");
  return startPostgres(programs, [`shared_buffers=${sharedBuffers}`, ...settings]);
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
