import type { Config } from "../../src/config/environment.ts";
import { type ColumnType, columnsOfView, type SqlView, sqlOfView } from "../../src/operations/sql-views.ts";
import { quoted, type Statement } from "../../src/ponder/sql-client.ts";
import { beginSnapshot, readHeads } from "../database.ts";
import { PreflightError } from "../refusal.ts";
import { type Columns, decimalDigits, type ViewFile } from "./files.ts";

// Exports of SQL views, as they are at one block of each chain. This folder writes files; the views themselves are in
// src/operations/sql-views.ts.

/** Of the configuration what an export needs. */
export type Settings = Pick<Config, "chains" | "databaseSchema" | "namespace" | "plugins">;

/**
 * Begins a snapshot of an index. Returns the last indexed block of each chain, as files name them. Throws a
 * PreflightError if the index is not complete.
 */
export async function openSnapshot(run: Statement, config: Settings): Promise<ViewFile["blocks"]> {
  await beginSnapshot(run, config);
  // The driver reads times in this form alone.
  await run("SET LOCAL DateStyle TO ISO");
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

const fileTypes: Record<ColumnType, Columns[string]> = {
  text: "STRING",
  integer: "INT32",
  bigint: "INT64",
  numeric: "DECIMAL",
  boolean: "BOOLEAN",
  timestamptz: "TIMESTAMP",
  jsonb: "JSON",
};

// Ids of tokens, of up to 78 digits, are text.
const listFileColumns = (view: SqlView): Columns =>
  Object.fromEntries(
    columnsOfView(view).map(({ name, type }) => [name, name === "token_id" ? "STRING" : fileTypes[type]]),
  );

// The driver returns 64-bit numbers and amounts as text. An amount that no DECIMAL holds is null; no price comes near
// it.
function toFileValue(value: unknown, type: Columns[string]): unknown {
  if (value === null || (type !== "INT64" && type !== "DECIMAL")) return value;
  const digits = String(value);
  return type === "DECIMAL" && digits.length > decimalDigits ? null : BigInt(digits);
}

const rowsAtOnce = 2_000;

/**
 * The file of a view, whose rows are read from an open snapshot as they are written. `where`: a condition on its
 * events.
 */
export function readView(
  run: Statement,
  schema: string,
  { what, blocks, where }: Pick<ViewFile, "what" | "blocks"> & { where?: string | undefined },
): ViewFile {
  const columns = listFileColumns(what);
  const types = Object.entries(columns);
  async function* read() {
    await run(`DECLARE exported NO SCROLL CURSOR FOR ${sqlOfView(what, schema, where)}`);
    for (;;) {
      const { rows } = await run(`FETCH ${rowsAtOnce} FROM exported`);
      for (const row of rows)
        yield Object.fromEntries(types.map(([name, type]) => [name, toFileValue(row[name], type)]));
      if (rows.length < rowsAtOnce) break;
    }
    await run("CLOSE exported");
  }
  return { what, blocks, columns, rows: read() };
}
