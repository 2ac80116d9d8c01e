import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { query, startPostgres } from "../test/support/postgres.ts";

// Those of a small server; fsync stays on.
const settings = ["max_wal_size=4GB", "work_mem=32MB"];

/** Starts a Postgres server for a measurement; `sharedBuffers` is the memory that it keeps tables in. */
export async function startBenchPostgres(sharedBuffers = "1GB") {
  return startPostgres([`shared_buffers=${sharedBuffers}`, ...settings]);
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

/** Creates a database, with an empty RPC cache, on the server of `url`; returns its own URL. */
export async function createDatabase(url: string, name: string): Promise<string> {
  await query(url, `CREATE DATABASE "${name}"`);
  return Object.assign(new URL(url), { pathname: `/${name}` }).href;
}
