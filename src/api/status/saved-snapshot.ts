import type { RowReader } from "../../ponder/sql-client.ts";
import type { Snapshot } from "./snapshot.ts";
import { savedSnapshot } from "./snapshot-schema.ts";

/** A snapshot that was read, when the indexing process reported it (Unix seconds), and how many seconds ago that was. */
export type Reading = { snapshot: Snapshot; reportedAt: number; age: number };

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
