import type { Config } from "../../src/config/environment.ts";
import { quoted, type Statement } from "../../src/ponder/sql-client.ts";
import { beginSnapshot, readHeads } from "../database.ts";
import { PreflightError } from "../refusal.ts";

/** Of the configuration what an export needs. */
export type Settings = Pick<Config, "chains" | "databaseSchema" | "namespace" | "plugins">;

/** Begins a snapshot of an index. Returns the last indexed block of each chain, as files name them. Throws a PreflightError if the index is not complete. */
export async function openSnapshot(run: Statement, config: Settings) {
  await beginSnapshot(run, config);
  const { rows } = await run("SELECT value ->> 'is_ready' AS ready FROM _ponder_meta WHERE key = 'app'");
  if (rows[0]?.["ready"] !== "1")
    throw new PreflightError(
      `The index in schema ${quoted(config.databaseSchema)} is not complete yet. Wait until its backfill has ended.`,
    );
  const heads = await readHeads(run, config);
  return Object.fromEntries(
    [...heads].map(([id, { number, timestamp }]) => [
      id,
      { block_number: number, timestamp: String(timestamp) },
    ]),
  );
}

const rowsAtOnce = 2_000;

/** The column `found` of a statement's rows, streamed in batches of 2,000. */
export async function* readFound(run: Statement, statement: string) {
  await run(`DECLARE exported NO SCROLL CURSOR FOR ${statement}`);
  for (;;) {
    const { rows } = await run(`FETCH ${rowsAtOnce} FROM exported`);
    for (const row of rows) yield row["found"];
    if (rows.length < rowsAtOnce) break;
  }
  await run("CLOSE exported");
}
