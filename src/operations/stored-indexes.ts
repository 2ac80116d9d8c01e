import type { RowSettings } from "../config/row-settings.ts";
import { indexedBlock } from "../ponder/checkpoints.ts";
import { createTable, hasTable, quoted, type RowReader, type Statement } from "../ponder/sql-client.ts";

/** What an index says of itself: release and settings. */
export type Description = {
  release: string;
  namespace: string;
  plugins: readonly string[];
  /** What decides its rows; absent in an index of a release that kept none. */
  settings?: RowSettings;
};

/** ponder: the table of an index by which it is found, also in a schema of views. */
export const metaTable = "_ponder_meta";
// What is said of an index, a row for each subject: `indexing` is its status, `description` a Description, `servable` and `took over`
// the time since when that is so, `purged` the blocks that it rests on and the cache no longer has.
const statusTable = "_indexing_status";

/** Replaces what is said of a subject. `saved_at` is by the clock of the database; `json` keeps the order of members. */
export async function saveStatus(
  run: Statement,
  schema: string,
  subject: string,
  status: object,
): Promise<void> {
  await run(
    `INSERT INTO ${quoted(schema)}.${statusTable} VALUES ($1, $2, now())
      ON CONFLICT (id) DO UPDATE SET snapshot = excluded.snapshot, saved_at = excluded.saved_at`,
    [subject, JSON.stringify(status)],
  );
}

/** Creates the table of what is said of an index. */
export const createStatusTable = (run: Statement, schema: string) =>
  createTable(
    run,
    `${quoted(schema)}.${statusTable} (id text PRIMARY KEY, snapshot json NOT NULL, saved_at timestamptz NOT NULL)`,
  );

/** Creates the table of what is said of an index, with its description. */
export async function describeIndex(run: Statement, schema: string, description: Description): Promise<void> {
  await createStatusTable(run, schema);
  await saveStatus(run, schema, "description", description);
}

/** What is said of the index of a schema, or of a views schema, by subject. */
export async function statusOf(run: Statement, schema: string): Promise<Map<string, unknown>> {
  if (!(await hasTable(run, `${quoted(schema)}.${statusTable}`))) return new Map();
  const { rows } = await run(`SELECT id, snapshot FROM ${quoted(schema)}.${statusTable}`);
  return new Map(rows.map(({ id, snapshot }) => [String(id), snapshot]));
}

/** What the index of a schema, or of a views schema, says of itself; undefined if it says nothing. */
export async function descriptionOf(run: Statement, schema: string): Promise<Description | undefined> {
  return (await statusOf(run, schema)).get("description") as Description | undefined;
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

type App = {
  build_id: string;
  is_ready: number;
  is_locked: number;
  heartbeat_at: number;
  table_names?: unknown;
};

/** ponder: a lock whose heartbeat is this old, in milliseconds, is lost. */
export const heartbeatTimeout = 25_000;

/** Every index of the framework in the database, also those of other applications. `expiry`: milliseconds until its lock is lost. */
export async function listPonderIndexes(run: Statement, now: number) {
  const { rows } = await run(
    `SELECT n.nspname::text AS schema, (SELECT sum(pg_total_relation_size(c.oid)) FROM pg_class c
        WHERE c.relnamespace = n.oid AND c.relkind = 'r')::text AS bytes
      FROM pg_class m JOIN pg_namespace n ON n.oid = m.relnamespace WHERE m.relname = $1 AND m.relkind = 'r'
        AND has_schema_privilege(n.oid, 'USAGE') AND has_table_privilege(m.oid, 'SELECT')
        AND (SELECT count(*) FROM pg_attribute a WHERE a.attname = ANY($2::text[])
          AND a.attrelid IN (m.oid, to_regclass(format('%I._ponder_checkpoint', n.nspname)))) = cardinality($2) ORDER BY 1`,
    [metaTable, ["key", "value", "chain_name", "chain_id", "latest_checkpoint", "safe_checkpoint"]],
  );
  const indexes = [];
  for (const { schema, bytes } of rows) {
    const own = quoted(String(schema));
    const app = (await run(`SELECT value FROM ${own}.${metaTable} WHERE key = 'app'`)).rows[0]?.["value"];
    if (app === undefined || app === null) continue;
    const { is_ready, is_locked, heartbeat_at } = app as App;
    const checkpoints = await run(
      `SELECT chain_name AS chain, chain_id::int8::text AS id, latest_checkpoint AS latest, safe_checkpoint AS safe
        FROM ${own}._ponder_checkpoint ORDER BY chain_id`,
    );
    const heads = checkpoints.rows.map(({ chain, id, latest, safe }) => {
      const row = { latestCheckpoint: String(latest), safeCheckpoint: String(safe) };
      const head = indexedBlock({ ...row, chainId: Number(id), isReady: is_ready === 1 });
      return { chain: String(chain), chainId: Number(id), head, latest: row.latestCheckpoint };
    });
    const expiry = is_locked === 1 ? Math.max(0, heartbeat_at + heartbeatTimeout - now) : 0;
    indexes.push({ schema: String(schema), bytes: Number(bytes), app: app as App, heads, expiry });
  }
  return indexes;
}

/** An index in the database, as operators see it. */
export type IndexState = Awaited<ReturnType<typeof listIndexes>>[number];

/** Every index of this program in the database, with the views schemas that point to it, and its readers. */
export async function listIndexes(run: Statement, now: number) {
  const names = await viewsSchemas(run);
  const indexes = [];
  for (const { schema, bytes, app, heads, expiry } of await listPonderIndexes(run, now)) {
    const tables: unknown[] = Array.isArray(app.table_names) ? app.table_names : [];
    if (!tables.includes("domain") || !tables.includes("resolver")) continue;
    const status = await statusOf(run, schema);
    const views = [...names].flatMap(([name, shown]) => (shown === schema ? [name] : []));
    const isAlive = expiry > 0;
    indexes.push({
      schema,
      bytes,
      heads: heads.map(({ latest: _, ...head }) => head),
      isAlive,
      names: views,
      /** Undefined for an index of an old release. */
      description: status.get("description") as Description | undefined,
      buildId: app.build_id,
      state: stateOf(status, isAlive, app.is_ready === 1),
      /** Whether its first backfill is over and its indexes for queries are built, which an old release did not say. */
      isServable: status.has("servable") || (!status.has("description") && app.is_ready === 1),
      /** When its indexer was alive last, in Unix milliseconds. */
      aliveAt: isAlive ? now : app.heartbeat_at,
      /** Machines with readers of this schema, or of its views schemas, by the number of their connections. */
      readers: await readersOf(run, [schema, ...views]),
    });
  }
  return indexes;
}

// `backfill` also while a restarted index catches up.
function stateOf(status: ReadonlyMap<string, unknown>, isAlive: boolean, isReady: boolean) {
  const indexing = status.get("indexing") as
    | { omnichainSnapshot?: { omnichainStatus?: unknown } }
    | undefined;
  if (indexing?.omnichainSnapshot?.omnichainStatus === "omnichain-completed") return "completed";
  if (!isAlive) return "stopped";
  return isReady ? "live" : "backfill";
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
