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
