import type { WriteStatement } from "../../ponder/process.ts";
import { quoted, type RowReader } from "../../ponder/sql-client.ts";
import type { Snapshot } from "./snapshot.ts";
import { savedSnapshot } from "./snapshot-schema.ts";

/** A snapshot that was read, when the indexing process reported it (Unix seconds), and how many seconds ago that was. */
export type Reading = { snapshot: Snapshot; reportedAt: number; age: number };

/**
 * Creates the table that holds the newest snapshot: a single row next to Ponder's own tables in the schema. Its columns
 * are `snapshot` (`json`, which keeps the order of members) and `saved_at`, by the clock of the database.
 */
export async function createSnapshotTable(write: WriteStatement, schema: string): Promise<void> {
  await write(
    `create table if not exists ${table(schema)}
      (id text primary key, snapshot json not null, saved_at timestamptz not null)`,
  );
}

/** Shows the table in the schema of Ponder's views too, so that a process which serves the views finds it. */
export async function createSnapshotView(
  write: WriteStatement,
  schema: string,
  viewsSchema: string,
): Promise<void> {
  await write(`create or replace view ${table(viewsSchema)} as select * from ${table(schema)}`);
}

/** Replaces the saved snapshot. */
export async function saveSnapshot(write: WriteStatement, schema: string, snapshot: Snapshot): Promise<void> {
  await write(
    `insert into ${table(schema)} values ('indexing', $1, now())
      on conflict (id) do update set snapshot = excluded.snapshot, saved_at = excluded.saved_at`,
    [JSON.stringify(snapshot)],
  );
}

/** The saved snapshot, or undefined if no indexing process has left one. Throws if it is malformed. */
export async function readSavedSnapshot(
  database: RowReader,
  signal: AbortSignal,
): Promise<Reading | undefined> {
  const [exists] = await database.row("select to_regclass('_indexing_status')::text", [], signal);
  if (typeof exists !== "string") return undefined;
  const [text] = await database.row(
    // Both times are of the database, so that no other clock decides how old a snapshot is.
    `select json_build_object('snapshot', snapshot, 'reportedAt', floor(extract(epoch from saved_at)),
      'age', extract(epoch from now() - saved_at))::text from _indexing_status where id = 'indexing'`,
    [],
    signal,
  );
  return typeof text === "string" ? savedSnapshot.parse(JSON.parse(text)) : undefined;
}

function table(schema: string): string {
  return `${quoted(schema)}._indexing_status`;
}
