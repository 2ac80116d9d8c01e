import type { Database } from "./database.ts";

type Connection = { query(text: string): Promise<unknown> };

/** What became of the search indexes. */
export type SearchIndexes = { state: "ready" } | { state: "unavailable"; reason: string };

const searched = [
  ["domain", "name"],
  ["domain", "label_name"],
] as const;

/** The statements that make substring and case-insensitive searches in names quick (extension pg_trgm). */
export function searchIndexStatements(schema: string): string[] {
  const quoted = `"${schema.replaceAll('"', '""')}"`;
  return [
    "CREATE EXTENSION IF NOT EXISTS pg_trgm",
    ...searched.flatMap(([table, column]) => {
      const name = `${table}_${column}_search`;
      const found = `to_regclass('${quoted.replaceAll("'", "''")}.${name}')`;
      return [
        // What a build that was broken off leaves behind is not used, and would keep its name taken.
        `DO $$ BEGIN IF EXISTS (SELECT FROM pg_index WHERE indexrelid = ${found} AND NOT indisvalid) THEN ` +
          `DROP INDEX ${quoted}.${name}; END IF; END $$`,
        `CREATE INDEX CONCURRENTLY IF NOT EXISTS ${name} ON ${quoted}.${table} USING gin (${column} gin_trgm_ops)`,
      ];
    }),
  ];
}

/**
 * Makes the search indexes, beside those that Ponder makes itself and without blocking writes. Where the
 * extension cannot be had (in PGlite, or without the right to create it) searches go on without them.
 */
export async function createSearchIndexes(connection: Connection, schema: string): Promise<SearchIndexes> {
  try {
    for (const statement of searchIndexStatements(schema)) await connection.query(statement);
    return { state: "ready" };
  } catch (error) {
    return { state: "unavailable", reason: error instanceof Error ? error.message : String(error) };
  }
}

/** Whether Ponder has marked the backfill of all chains as over. */
export async function isBackfillOver(database: Database): Promise<boolean> {
  const sql = "SELECT value ->> 'is_ready' FROM _ponder_meta WHERE key = 'app'";
  const [state] = await database.row(sql, [], new AbortController().signal);
  return state === "1";
}

/**
 * Makes the search indexes as soon as the backfill is over: before, they would slow it down. Returns a
 * function that ends the waiting.
 */
export function createSearchIndexesWhenReady({
  isReady,
  connection,
  schema,
  log,
  everyMs = 30_000,
}: {
  isReady: () => Promise<boolean>;
  connection: Connection;
  schema: string;
  log: (message: string) => void;
  everyMs?: number;
}): () => void {
  const look = async () => {
    if (!(await isReady().catch(() => false))) return;
    clearInterval(timer);
    const outcome = await createSearchIndexes(connection, schema);
    if (outcome.state === "ready") log("Names can be searched by index.");
    else log(`Searches within names read all names: ${outcome.reason}. See docs/subgraph.md.`);
  };
  const timer = setInterval(look, everyMs);
  timer.unref();
  return () => clearInterval(timer);
}
