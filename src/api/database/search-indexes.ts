import { z } from "zod/v4";
import type { Log } from "../../log/json-log.ts";
import { quoted } from "../../ponder/sql-client.ts";

const extensionRows = z.object({ rows: z.array(z.object({ schema: z.string() })) });

type Connection = { query(text: string): Promise<unknown> };

/** Whether the search indexes are there, or why not. */
export type SearchIndexes = { state: "ready" } | { state: "unavailable"; reason: string };

const searched = [
  ["domain", "name"],
  ["domain", "label_name"],
] as const;

// Not in the index's own schema: the extension would go with it, and other indexes' search indexes with the extension.
const createExtension = "CREATE EXTENSION IF NOT EXISTS pg_trgm WITH SCHEMA public";
const findExtension =
  "SELECT nspname AS schema FROM pg_extension JOIN pg_namespace ON pg_namespace.oid = extnamespace WHERE extname = 'pg_trgm'";

/**
 * The statements that make substring and case-insensitive searches in names quick, for an index in `schema` and the
 * extension pg_trgm in `extensionSchema`.
 */
export function searchIndexStatements(schema: string, extensionSchema: string): string[] {
  const own = quoted(schema);
  const operators = `${quoted(extensionSchema)}.gin_trgm_ops`;
  return searched.flatMap(([table, column]) => {
    const name = `${table}_${column}_search`;
    const found = `to_regclass('${own.replaceAll("'", "''")}.${name}')`;
    return [
      // An interrupted build leaves an index that is never used but keeps the name taken.
      `DO $$ BEGIN IF EXISTS (SELECT FROM pg_index WHERE indexrelid = ${found} AND NOT indisvalid) THEN ` +
        `DROP INDEX ${own}.${name}; END IF; END $$`,
      `CREATE INDEX CONCURRENTLY IF NOT EXISTS ${name} ON ${own}.${table} USING gin (${column} ${operators})`,
    ];
  });
}

/**
 * Creates the search indexes, in addition to those that Ponder creates itself and without blocking writes. Where the
 * extension is unavailable (in PGlite, or without the right to create it) searches go on without them.
 */
export async function createSearchIndexes(connection: Connection, schema: string): Promise<SearchIndexes> {
  try {
    await connection.query(createExtension);
    const { rows } = extensionRows.parse(await connection.query(findExtension));
    const extensionSchema = rows[0]?.schema ?? "public";
    for (const statement of searchIndexStatements(schema, extensionSchema)) await connection.query(statement);
    return { state: "ready" };
  } catch (error) {
    return { state: "unavailable", reason: error instanceof Error ? error.message : String(error) };
  }
}

/**
 * Creates the search indexes as soon as the backfill is complete: before, they would slow it down. Returns a
 * function that stops waiting for that.
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
  log: Log;
  everyMs?: number;
}): () => void {
  const look = async () => {
    if (!(await isReady().catch(() => false))) return;
    clearInterval(timer);
    const outcome = await createSearchIndexes(connection, schema);
    if (outcome.state === "ready") log("info", "Names can be searched by index.");
    else log("warn", `Searches within names read all names: ${outcome.reason}. See docs/subgraph.md.`);
  };
  const timer = setInterval(look, everyMs);
  timer.unref();
  return () => clearInterval(timer);
}
