import { setTimeout as pause } from "node:timers/promises";
import { type Log, seeOperations } from "../log/json-log.ts";
import { quoted, type Statement } from "../ponder/sql-client.ts";
import { type TableIndex, tableIndexes, tableTraits } from "../schema/indexes.ts";
import { tablesOfEvents } from "../schema/past.ts";
// Importing the schema registers the indexes of its tables.
import "../../ponder.schema.ts";

const indexes = tableIndexes();
const total = indexes.length;
const traits = tableTraits();

const quoteLiteral = (text: string) => `'${text.replaceAll("'", "''")}'`;

/** SQL of the number of indexes for queries that are built in this schema, as text. */
export function builtIndexesSql(schema: string): string {
  return `(SELECT count(*)::text FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname = ${quoteLiteral(schema)} AND i.indisvalid AND c.relname IN (${indexes.map(({ name }) => quoteLiteral(name)).join(", ")}))`;
}

/** Whether the number that `builtIndexesSql` returned is all of them. */
export const areIndexesBuilt = (built: string | null | undefined): boolean => Number(built) >= total;

// An interrupted build leaves an index that is never used but keeps the name taken.
function dropIfInvalid(schema: string, name: string): string {
  const own = quoted(schema);
  const found = `to_regclass(${quoteLiteral(`${own}.${name}`)})`;
  return (
    `DO $$ BEGIN IF EXISTS (SELECT FROM pg_index WHERE indexrelid = ${found} AND NOT indisvalid) THEN ` +
    `DROP INDEX ${own}.${name}; END IF; END $$`
  );
}

/** The statement that builds an index without blocking writes. */
export function indexStatement({ name, table, method, keys }: TableIndex, schema: string): string {
  return `CREATE INDEX CONCURRENTLY IF NOT EXISTS ${name} ON ${quoted(schema)}.${table} USING ${method} ${keys}`;
}

type IndexBuildOptions = {
  /** Whether the backfill is complete; before that, indexes would slow it down. */
  isBackfilled: () => Promise<boolean>;
  /** Runs statements that may take hours, several at a time. */
  run: Statement;
  schema: string;
  log: Log;
  everyMs?: number;
  retryMs?: number;
};

/**
 * Builds the indexes for queries once the backfill is complete, while indexing goes on; those of three tables at a
 * time. A restart builds only missing ones. `progress` is undefined until the build begins; `isComplete` includes the
 * search indexes.
 */
export function buildIndexes(options: IndexBuildOptions) {
  const { isBackfilled, log, everyMs = 1_000, retryMs = 10_000 } = options;
  const stopped = new AbortController();
  const { signal } = stopped;
  const state: State = { isComplete: false, rewritten: new Set() };
  const wait = (ms: number) => pause(ms, undefined, { signal, ref: false });

  const work = async () => {
    while (!(await isBackfilled().catch(() => false))) await wait(everyMs);
    while (!state.isComplete && !signal.aborted) {
      try {
        await closeGaps(options, state.rewritten, signal);
        await buildSearchIndexes(options);
        await buildMissing(options, state, signal);
        state.isComplete = !signal.aborted;
      } catch (error) {
        if (signal.aborted) return;
        log("warn", `A database index could not be built; retrying: ${readMessage(error)}.`, {
          section: seeOperations("When indexes are being built"),
        });
        await wait(retryMs);
      }
    }
  };
  // `stop` rejects the pause.
  work().catch(() => undefined);
  return { progress: () => state.progress, isComplete: () => state.isComplete, stop: () => stopped.abort() };
}

// `rewritten`: tables without gaps, which another try leaves alone.
type State = { progress?: { built: number; total: number }; isComplete: boolean; rewritten: Set<string> };

// The backfill changes rows again and again, which leaves gaps in tables and primary keys. Rewriting a table locks it,
// and Ponder waits. So only a table without other indexes is rewritten, which is not read yet; and not while a long
// transaction would hold the lock up.
async function closeGaps(
  { run, schema }: IndexBuildOptions,
  rewritten: Set<string>,
  signal: AbortSignal,
): Promise<void> {
  const isDue = (table: string) => !tablesOfEvents.has(table) && !rewritten.has(table);
  const changing = indexes.map(({ table }) => table).filter(isDue);
  const { rows } = await run(
    `SELECT c.relname AS name FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = $1 AND c.relname = ANY ($2)
      AND NOT EXISTS (SELECT FROM pg_index i WHERE i.indrelid = c.oid AND NOT i.indisprimary) ORDER BY 1`,
    [schema, changing],
  );
  for (const { name } of rows) {
    if (signal.aborted) return;
    const table = `${quoted(schema)}.${name}`;
    await run(`DO $$ BEGIN SET LOCAL lock_timeout = '5s'; LOCK TABLE ${table}; END $$`);
    await run(`VACUUM (FULL) ${table}`);
    rewritten.add(String(name));
  }
}

// Search indexes come before the others, for which /ready waits: once it returns 200, no build is under way.
async function buildSearchIndexes({ run, schema, log }: IndexBuildOptions): Promise<void> {
  const reason = await createSearchIndexes(run, schema);
  if (reason === undefined) log("info", "Search index ready.");
  else log("warn", `Searches within names are slow: ${reason}. See docs/subgraph.md.`);
}

const tablesAtOnce = 3;

async function buildMissing(
  { run, schema, log }: IndexBuildOptions,
  state: State,
  signal: AbortSignal,
): Promise<void> {
  const { rows } = await run(
    "SELECT c.relname FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = $1 AND i.indisvalid",
    [schema],
  );
  const there = new Set(rows.map((row) => row["relname"]));
  const missing = indexes.filter(({ name }) => !there.has(name));
  const progress = { built: total - missing.length, total };
  state.progress = progress;
  if (missing.length === 0) return;
  log("info", `Building ${missing.length} indexes for queries; /ready waits for them.`);
  const begun = Date.now();

  // Two concurrent builds on one table would wait for each other.
  const tables = [...Map.groupBy(missing, ({ table }) => table)];
  const worker = async () => {
    for (let next = tables.shift(); next !== undefined; next = tables.shift()) {
      const [table, ofTable] = next;
      for (const index of ofTable) {
        if (signal.aborted) return;
        await run(dropIfInvalid(schema, index.name));
        await run(indexStatement(index, schema));
        progress.built += 1;
      }
      // The planner would expect the mean, a handful of rows, and sort all subnames of a name for its first page. With
      // this setting it expects a hundredth of the table.
      const column = traits.crowded.get(table);
      if (column !== undefined)
        await run(`ALTER TABLE ${quoted(schema)}.${table} ALTER COLUMN ${column} SET (n_distinct = 100)`);
      await run(`ANALYZE ${quoted(schema)}.${table}`);
    }
  };
  // All workers end before the next try, which would take an index that is still being built for an interrupted one.
  const workers = Array.from({ length: tablesAtOnce }, worker);
  const failure = (await Promise.allSettled(workers)).find(({ status }) => status === "rejected");
  if (failure?.status === "rejected") throw failure.reason;
  const seconds = Math.round((Date.now() - begun) / 1000);
  if (!signal.aborted) log("info", `Built ${missing.length} indexes for queries in ${seconds} s.`);
}

// If the extension were in the index's own schema, dropping that schema would also drop it and the search indexes of
// other schemas.
const createExtension = (name: string) => `CREATE EXTENSION IF NOT EXISTS ${name} WITH SCHEMA public`;
const findExtension =
  "SELECT nspname AS schema FROM pg_extension JOIN pg_namespace ON pg_namespace.oid = extnamespace WHERE extname = 'pg_trgm'";

/**
 * Creates the indexes for substring and case-insensitive searches in names, without blocking writes. Resolves with the
 * reason if an extension is unavailable (not installed, or without the right to create it); searches work without the
 * indexes. Throws if a build fails.
 */
export async function createSearchIndexes(run: Statement, schema: string): Promise<string | undefined> {
  const build = async (what: string, keys: string) => {
    for (const table of traits.searched) {
      const index = { name: `${table}_${what}_search`, table, method: "gin" as const, keys };
      await run(dropIfInvalid(schema, index.name));
      await run(indexStatement(index, schema));
    }
  };
  const create = (name: string) => run(createExtension(name)).then(() => undefined, readMessage);
  const reason = await create("pg_trgm");
  if (reason !== undefined) return reason;
  const [extension] = (await run(findExtension)).rows;
  const operators = `${quoted(String(extension?.["schema"] ?? "public"))}.gin_trgm_ops`;
  for (const column of ["name", "label_name"]) await build(column, `(${column} ${operators})`);
  // src/read/names/lists.ts reads names in order from this index.
  const reasonOfGroups = await create("btree_gin");
  if (reasonOfGroups === undefined)
    await build("name_groups", `((left(name, 2)), (substr(name, 2)) ${operators})`);
  return reasonOfGroups;
}

const readMessage = (error: unknown) => (error instanceof Error ? error.message : String(error));
