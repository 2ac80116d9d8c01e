import type { Config } from "../../src/config/environment.ts";
import { quoted, type Statement } from "../../src/ponder/sql-client.ts";
import { beginSnapshot, PreflightError, readHeads } from "../database.ts";

/** Of the configuration what an export needs. */
export type Settings = Pick<Config, "chains" | "databaseSchema" | "namespace" | "plugins">;

/** Begins a snapshot of an index and returns the last indexed block of each chain. Throws a PreflightError if the index is not complete. */
export async function openSnapshot(run: Statement, config: Settings) {
  await beginSnapshot(run, config);
  const { rows } = await run("SELECT value ->> 'is_ready' AS ready FROM _ponder_meta WHERE key = 'app'");
  if (rows[0]?.["ready"] !== "1")
    throw new PreflightError(
      `The index in schema ${quoted(config.databaseSchema)} is not complete yet. Wait until its backfill has ended.`,
    );
  return readHeads(run, config);
}

const rowsAtOnce = 2_000;

/** The column `found` of a statement's rows, which are read by and by. */
export async function* readFound(run: Statement, statement: string, values: unknown[] = []) {
  await run(`DECLARE exported NO SCROLL CURSOR FOR ${statement}`, values);
  for (;;) {
    const { rows } = await run(`FETCH ${rowsAtOnce} FROM exported`);
    for (const row of rows) yield row["found"];
    if (rows.length < rowsAtOnce) break;
  }
  await run("CLOSE exported");
}
