import type { RowSettings } from "../config/row-settings.ts";
import { type BlockRef, indexedBlock } from "../ponder/checkpoints.ts";
import type { WriteStatement } from "../ponder/process.ts";
import { hasTable, quoted, type RowReader, type Statement } from "../ponder/sql-client.ts";
import { heartbeatTimeout } from "./cache.ts";

/** What an index says of itself: release and settings. */
export type Description = {
  release: string;
  namespace: string;
  plugins: readonly string[];
  /** What decides its rows; absent in an index of a release that kept none. */
  settings?: RowSettings;
};

/** An index in the database, as operators see it. */
export type IndexState = {
  schema: string;
  /** Undefined for an index of an old release. */
  description: Description | undefined;
  buildId: string;
  bytes: number;
  /** `backfill` also while a restarted index catches up. */
  state: "backfill" | "live" | "completed" | "stopped";
  /** Whether its first backfill is over and its indexes for queries are built. */
  isServable: boolean;
  /** Whether an indexer holds it. */
  isAlive: boolean;
  /** When its indexer was alive last, in Unix milliseconds. */
  aliveAt: number;
  heads: { chain: string; chainId: number; head: BlockRef | undefined }[];
  /** The views schemas that point to it. */
  names: string[];
  /** Machines with readers of this schema, or of its views schemas, by the number of their connections. */
  readers: Record<string, number>;
};

/** ponder: the table of an index by which it is found, also in a schema of views. */
export const metaTable = "_ponder_meta";
// What the indexing process says of itself, a row for each subject: `indexing` is its status, `description` a Description,
// `servable` and `took over` the time since when that is so.
const statusTable = "_indexing_status";

/**
 * Creates the table in which the indexing process says of itself what others ask: a row for each subject. `saved_at` is by the
 * clock of the database; `json` keeps the order of members. The first row is the index's description.
 */
export async function describeIndex(
  run: WriteStatement,
  schema: string,
  description: Description,
): Promise<void> {
  await run(
    `CREATE TABLE IF NOT EXISTS ${quoted(schema)}.${statusTable}
      (id text PRIMARY KEY, snapshot json NOT NULL, saved_at timestamptz NOT NULL)`,
  );
  await saveStatus(run, schema, "description", description);
}

/** Replaces what the table says of a subject. */
export async function saveStatus(
  run: WriteStatement,
  schema: string,
  subject: string,
  word: object,
): Promise<void> {
  await run(
    `INSERT INTO ${quoted(schema)}.${statusTable} VALUES ($1, $2, now())
      ON CONFLICT (id) DO UPDATE SET snapshot = excluded.snapshot, saved_at = excluded.saved_at`,
    [subject, JSON.stringify(word)],
  );
}

/** Whether the table says something of a subject. */
export async function hasStatus(run: Statement, schema: string, subject: string): Promise<boolean> {
  const { rows } = await run(`SELECT 1 FROM ${quoted(schema)}.${statusTable} WHERE id = $1`, [subject]);
  return rows.length > 0;
}

/** What the index of a schema, or of a views schema, says of itself; undefined if it says nothing. */
export async function descriptionOf(run: Statement, schema: string): Promise<Description | undefined> {
  if (!(await hasTable(run, `${quoted(schema)}.${statusTable}`))) return undefined;
  const { rows } = await run(
    `SELECT snapshot FROM ${quoted(schema)}.${statusTable} WHERE id = 'description'`,
  );
  return rows[0]?.["snapshot"] as Description | undefined;
}

/** The settings of the index that the current schema shows; undefined if it kept none. */
export async function shownSettings(database: RowReader): Promise<RowSettings | undefined> {
  const signal = AbortSignal.timeout(30_000);
  const [exists] = await database.row(`SELECT to_regclass('${statusTable}')::text`, [], signal);
  if (typeof exists !== "string") return undefined;
  const [text] = await database.row(
    `SELECT snapshot::text FROM ${statusTable} WHERE id = 'description'`,
    [],
    signal,
  );
  return typeof text === "string" ? (JSON.parse(text) as Description).settings : undefined;
}

// Schemas of views and the schemas that they show, from the catalog alone.
const namesSql = `SELECT DISTINCT vn.nspname::text AS name, tn.nspname::text AS schema
  FROM pg_class v JOIN pg_namespace vn ON vn.oid = v.relnamespace JOIN pg_rewrite r ON r.ev_class = v.oid
  JOIN pg_depend d ON d.classid = 'pg_rewrite'::regclass AND d.objid = r.oid AND d.refclassid = 'pg_class'::regclass
  JOIN pg_class t ON t.oid = d.refobjid AND t.oid <> v.oid JOIN pg_namespace tn ON tn.oid = t.relnamespace
  WHERE v.relkind = 'v' AND v.relname = '${metaTable}'`;

/** SQL for the schema of the index that the current schema shows, itself unless it is a views schema; as a text. */
export const shownSchemaSql = `SELECT coalesce((SELECT schema FROM (${namesSql}) AS names WHERE name = current_schema()), current_schema())::text`;

/** The views schemas, and the schema that each points to. */
export async function viewsSchemas(run: Statement): Promise<Map<string, string>> {
  const { rows } = await run(namesSql);
  return new Map(rows.map(({ name, schema }) => [String(name), String(schema)]));
}

/** Every index of this program in the database. */
export async function listIndexes(run: Statement, now: number): Promise<IndexState[]> {
  const names = await viewsSchemas(run);
  const { rows } = await run(
    `SELECT n.nspname::text AS schema, (SELECT sum(pg_total_relation_size(c.oid)) FROM pg_class c
        WHERE c.relnamespace = n.oid AND c.relkind = 'r')::text AS bytes
      FROM pg_class m JOIN pg_namespace n ON n.oid = m.relnamespace WHERE m.relname = $1 AND m.relkind = 'r'
        AND has_schema_privilege(n.oid, 'USAGE') AND has_table_privilege(m.oid, 'SELECT')
        AND (SELECT count(*) FROM pg_attribute a WHERE a.attname = ANY($2::text[])
          AND a.attrelid IN (m.oid, to_regclass(format('%I._ponder_checkpoint', n.nspname)))) = cardinality($2) ORDER BY 1`,
    [metaTable, ["key", "value", "chain_name", "chain_id", "latest_checkpoint", "safe_checkpoint"]],
  );
  const indexes: IndexState[] = [];
  for (const { schema, bytes } of rows.map((row) => ({
    schema: String(row["schema"]),
    bytes: row["bytes"],
  }))) {
    const own = [...names].flatMap(([name, shown]) => (shown === schema ? [name] : []));
    const index = await readIndex(run, schema, now);
    if (index === undefined) continue;
    indexes.push({
      ...index,
      bytes: Number(bytes),
      names: own,
      readers: await readersOf(run, [schema, ...own]),
    });
  }
  return indexes;
}

type App = {
  build_id: string;
  is_ready: number;
  is_locked: number;
  heartbeat_at: number;
  table_names: string[];
};
type Said = Record<string, unknown>;

async function readIndex(run: Statement, schema: string, now: number) {
  const { rows } = await run(`SELECT value FROM ${quoted(schema)}.${metaTable} WHERE key = 'app'`);
  const app = rows[0]?.["value"] as App | null | undefined;
  // Other applications of the framework may use the database too, of any release.
  const tables = Array.isArray(app?.table_names) ? app.table_names : [];
  if (app == null || !["domain", "resolver"].every((table) => tables.includes(table))) return undefined;
  const told = (await hasTable(run, `${quoted(schema)}.${statusTable}`))
    ? await run(`SELECT id, snapshot FROM ${quoted(schema)}.${statusTable}`)
    : { rows: [] };
  const words = new Map(told.rows.map(({ id, snapshot }) => [String(id), snapshot as Said]));
  const isAlive = app.is_locked === 1 && app.heartbeat_at + heartbeatTimeout > now;
  const progress = words.get("indexing")?.["omnichainSnapshot"] as Said | undefined;
  const isComplete = progress?.["omnichainStatus"] === "omnichain-completed";
  return {
    schema,
    description: words.get("description") as Description | undefined,
    buildId: app.build_id,
    state: isComplete
      ? ("completed" as const)
      : !isAlive
        ? ("stopped" as const)
        : app.is_ready === 1
          ? ("live" as const)
          : ("backfill" as const),
    // An old release has no words of it.
    isServable: words.has("servable") || (!words.has("description") && app.is_ready === 1),
    aliveAt: isAlive ? now : app.heartbeat_at,
    isAlive,
    heads: await headsOf(run, schema, app.is_ready === 1),
  };
}

async function headsOf(run: Statement, schema: string, isReady: boolean) {
  const { rows } = await run(
    `SELECT chain_name, chain_id::int8::text AS chain_id, latest_checkpoint, safe_checkpoint FROM ${quoted(schema)}._ponder_checkpoint ORDER BY chain_id`,
  );
  return rows.map((row) => {
    const chainId = Number(row["chain_id"]);
    const head = indexedBlock({
      chainId,
      isReady,
      latestCheckpoint: String(row["latest_checkpoint"]),
      safeCheckpoint: String(row["safe_checkpoint"]),
    });
    return { chain: String(row["chain_name"]), chainId, head };
  });
}

// ponder: names its connections after the schema that they read.
async function readersOf(run: Statement, schemas: readonly string[]): Promise<Record<string, number>> {
  const { rows } = await run(
    `SELECT coalesce(host(client_addr), 'this machine') AS host, count(*)::int AS count FROM pg_stat_activity
      WHERE datname = current_database() AND application_name = ANY($1::text[]) GROUP BY 1 ORDER BY 1`,
    [schemas.map((schema) => `${schema}_readonly`.slice(0, 63))],
  );
  return Object.fromEntries(rows.map(({ host, count }) => [String(host), Number(count)]));
}

/** Why an index must not be dropped; empty if nothing uses it. */
export function usesOf({ isAlive, names, readers }: IndexState): string[] {
  const machines = Object.entries(readers).map(([host, count]) => `${host} (${count} connections)`);
  return [
    ...(isAlive ? ["its indexer is running, or was killed in the last 25 s"] : []),
    ...names.map((name) => `it is served as ${quoted(name)}`),
    ...(machines.length === 0 || isAlive ? [] : [`readers are connected from ${machines.join(", ")}`]),
  ];
}
