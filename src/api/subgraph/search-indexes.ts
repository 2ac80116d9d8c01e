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
    ...searched.map(
      ([table, column]) =>
        `CREATE INDEX CONCURRENTLY IF NOT EXISTS ${table}_${column}_search ON ${quoted}.${table} USING gin (${column} gin_trgm_ops)`,
    ),
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
