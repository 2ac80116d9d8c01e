import pRetry from "p-retry";
import type { RowSettings } from "../config/row-settings.ts";
import { type Log, seeOperations } from "../log/json-log.ts";
import { Refusal } from "../log/refusal.ts";
import { indexedBlock } from "../ponder/checkpoints.ts";
import {
  createTable,
  hasTable,
  inTransaction,
  quoted,
  type RowReader,
  type Statement,
} from "../ponder/sql-client.ts";
import { stateSql, stateTable } from "../ponder/state.ts";
import { repeat } from "./repeat.ts";
import { sqlViewsComment, sqlViewsText } from "./sql-views.ts";

/** An index's description of itself: release and settings. */
export type Description = {
  release: string;
  namespace: string;
  plugins: readonly string[];
  /** The settings that determine its rows. */
  settings: RowSettings;
};

/** ponder: the table that identifies an index, also in a views schema. */
const metaTable = "_ponder_meta";
/** Replaces the status of a subject. `saved_at` is the database's time; `json` keeps the order of members. */
export async function saveStatus(
  run: Statement,
  schema: string,
  subject: keyof Statuses,
  status: object,
): Promise<void> {
  await run(
    `INSERT INTO ${quoted(schema)}.${stateTable} VALUES ($1, $2, now())
      ON CONFLICT (id) DO UPDATE SET snapshot = excluded.snapshot, saved_at = excluded.saved_at`,
    [subject, JSON.stringify(status)],
  );
}

/** Creates an index's table of statuses. */
export const createStatusTable = (run: Statement, schema: string) =>
  createTable(
    run,
    `${quoted(schema)}.${stateTable} (id text PRIMARY KEY, snapshot json NOT NULL, saved_at timestamptz NOT NULL)`,
  );

/** Creates an index's table of statuses, with its description. */
export async function describeIndex(run: Statement, schema: string, description: Description): Promise<void> {
  await createStatusTable(run, schema);
  await saveStatus(run, schema, "description", description);
}

/** Healing of an index. */
export type Healing = {
  /** Versions of the label set: with which the index began, and to which it is healed. */
  from: number;
  to: number;
  /** The table that is healed now. */
  part: "domain" | "registration" | "resolver_event" | "done";
  /** The last id of it that is healed. */
  cursor: string;
  /** Rows without a label that were looked at, and those that have one now, in all tables. */
  asked: number;
  healed: number;
  /** Unix milliseconds. */
  startedAt: number;
  endedAt?: number;
};

/** The schema of the views over an index as it was. */
export const namePastSchema = (schema: string) => `${schema}_past`;

/**
 * How far back an index keeps its past, in Unix seconds; `tables` tells it from another one that was in its schema
 * before.
 */
export type KeptSince = { from: number; tables: string };

/**
 * Percentage of the table that is healed now, rounded to one place, and the seconds left for it; undefined if not
 * known. `now` in Unix milliseconds.
 */
export function describeProgress({ part, cursor, startedAt }: Healing, now: number) {
  // Ids are hashes, so they are spread evenly.
  const isById = part === "registration" || part === "domain";
  const share = isById ? Number.parseInt(cursor.slice(2, 8) || "0", 16) / 2 ** 24 : 1;
  const left = (((now - startedAt) / 1_000) * (1 - share)) / share;
  return {
    percent: Math.round(share * 1_000) / 10,
    secondsLeft: share > 0 && part === "domain" ? left : undefined,
  };
}

/** The statuses of an index, by subject. */
type Statuses = {
  indexing?: { omnichainSnapshot?: { omnichainStatus?: unknown } };
  description?: Description;
  servable?: object;
  "took over"?: object;
  purged?: { chainId: number; from: number };
  feed?: object;
  labels?: Healing;
  past?: Partial<KeptSince>;
  coverage?: object;
  stats?: object;
};

/** The statuses of the index in a schema, or behind a views schema. */
export async function readStatuses(run: Statement, schema: string): Promise<Statuses> {
  if (!(await hasTable(run, `${quoted(schema)}.${stateTable}`))) return {};
  const { rows } = await run(`SELECT id, snapshot FROM ${quoted(schema)}.${stateTable}`);
  return Object.fromEntries(rows.map(({ id, snapshot }) => [id, snapshot]));
}

// Views schemas and the schemas that they show, from the catalog alone. Schemas of SQL views have no view of the table
// that identifies an index; `follows` is the views schema that they go with.
const namesSql = `SELECT DISTINCT vn.nspname::text AS name, tn.nspname::text AS schema,
    CASE WHEN v.relname <> '${metaTable}' THEN substr(obj_description(vn.oid, 'pg_namespace'), ${sqlViewsComment.length + 1}) END AS follows
  FROM pg_class v JOIN pg_namespace vn ON vn.oid = v.relnamespace JOIN pg_rewrite r ON r.ev_class = v.oid
  JOIN pg_depend d ON d.classid = 'pg_rewrite'::regclass AND d.objid = r.oid AND d.refclassid = 'pg_class'::regclass
  JOIN pg_class t ON t.oid = d.refobjid AND t.oid <> v.oid JOIN pg_namespace tn ON tn.oid = t.relnamespace
  WHERE v.relkind = 'v' AND (v.relname = '${metaTable}'
    OR v.relname = 'blocks' AND starts_with(obj_description(vn.oid, 'pg_namespace'), '${sqlViewsComment}'))`;

type App = {
  build_id: string;
  is_ready: number;
  is_locked: number;
  heartbeat_at: number;
  table_names?: unknown;
};

type ChainProgress = { chain: string; chainId: number; latestCheckpoint: string; safeCheckpoint: string };

/** ponder: a lock whose heartbeat is this old, in milliseconds, is lost. */
export const heartbeatTimeout = 25_000;

/** All Ponder indexes in the database, also of other applications. `expiry`: milliseconds until the lock is lost. */
export async function listPonderIndexes(run: Statement, now: number) {
  const { rows } = await run(
    `SELECT n.nspname::text AS schema, (SELECT sum(pg_total_relation_size(c.oid)) FROM pg_class c
        WHERE c.relnamespace IN (n.oid, to_regnamespace(quote_ident(n.nspname || '_past'))) AND c.relkind = 'r')::text AS bytes
      FROM pg_class m JOIN pg_namespace n ON n.oid = m.relnamespace WHERE m.relname = $1 AND m.relkind = 'r'
        AND has_schema_privilege(n.oid, 'USAGE') AND has_table_privilege(m.oid, 'SELECT')
        AND (SELECT count(*) FROM pg_attribute a WHERE a.attname = ANY($2::text[])
          AND a.attrelid IN (m.oid, to_regclass(format('%I._ponder_checkpoint', n.nspname)))) = cardinality($2) ORDER BY 1`,
    [metaTable, ["key", "value", "chain_name", "chain_id", "latest_checkpoint", "safe_checkpoint"]],
  );
  const indexes = [];
  for (const { schema, bytes } of rows) {
    const own = quoted(String(schema));
    const found = await run(`SELECT (SELECT value FROM ${own}.${metaTable} WHERE key = 'app') AS app,
      (SELECT json_agg(json_build_object('chain', chain_name, 'chainId', chain_id, 'latestCheckpoint', latest_checkpoint,
        'safeCheckpoint', safe_checkpoint) ORDER BY chain_id) FROM ${own}._ponder_checkpoint) AS chains`);
    const { app, chains } = found.rows[0] as { app: App | null; chains: ChainProgress[] | null };
    if (app === null) continue;
    const isReady = app.is_ready === 1;
    const heads = (chains ?? []).map((chain) => ({ ...chain, head: indexedBlock({ ...chain, isReady }) }));
    const expiry = app.is_locked === 1 ? Math.max(0, app.heartbeat_at + heartbeatTimeout - now) : 0;
    indexes.push({ schema: String(schema), bytes: Number(bytes), app, heads, expiry });
  }
  return indexes;
}

/** An index in the database, as operators see it. */
export type IndexState = Awaited<ReturnType<typeof listIndexes>>[number];

/** A hot standby of the database; `place`: its host and port. */
export type Standby = { place: string; run: Statement };

/** All indexes of this program in the database, with their views schemas and readers, those on standbys too. */
export async function listIndexes(run: Statement, now: number, standbys: readonly Standby[] = []) {
  const { rows: names } = await run(namesSql);
  const indexes = [];
  for (const { schema, bytes, app, heads, expiry } of await listPonderIndexes(run, now)) {
    const tables: unknown[] = Array.isArray(app.table_names) ? app.table_names : [];
    if (!tables.includes("domain") || !tables.includes("resolver")) continue;
    const status = await readStatuses(run, schema);
    const views = names.filter((one) => one["schema"] === schema).map(({ name }) => String(name));
    const isAlive = expiry > 0;
    indexes.push({
      schema,
      bytes,
      heads,
      isAlive,
      names: views,
      /** Undefined for an index that has just begun. */
      description: status.description,
      buildId: app.build_id,
      state: deriveState(status, isAlive, app.is_ready === 1),
      /** Whether its first backfill is complete and its indexes for queries are built. */
      isServable: status.servable !== undefined,
      /** When its indexer was last alive, in Unix milliseconds. */
      aliveAt: isAlive ? now : app.heartbeat_at,
      /** Machines with readers of this schema or its views schemas, and their numbers of connections. */
      readers: await readAllReaders([schema, ...views], run, standbys),
    });
  }
  return indexes;
}

// `backfill` includes a restarted index that catches up.
function deriveState({ indexing }: Statuses, isAlive: boolean, isReady: boolean) {
  if (indexing?.omnichainSnapshot?.omnichainStatus === "omnichain-completed") return "completed";
  if (!isAlive) return "stopped";
  return isReady ? "live" : "backfill";
}

// ponder: it names connections after the schema that they read.
async function readReaders(run: Statement, schemas: readonly string[]): Promise<string[]> {
  const { rows } = await run(
    `SELECT coalesce(host(client_addr), 'this machine') AS host, count(*) FROM pg_stat_activity
      WHERE datname = current_database() AND application_name = ANY($1::text[]) GROUP BY 1 ORDER BY 1`,
    [schemas.map((schema) => `${schema}_readonly`.slice(0, 63))],
  );
  return rows.map(({ host, count }) => `${host} (${count} connections)`);
}

async function readAllReaders(schemas: readonly string[], run: Statement, standbys: readonly Standby[]) {
  const found = await readReaders(run, schemas);
  for (const standby of standbys)
    for (const reader of await readReaders(standby.run, schemas))
      found.push(`${reader} on standby ${standby.place}`);
  return found;
}

/**
 * The addresses of the standbys that stream from a server, one for each, and whether it streams from another one
 * itself.
 */
export async function readStreams(run: Statement): Promise<{ hosts: string[]; isStreaming: boolean }> {
  // Logical replication and copies have no readers.
  const { rows } = await run(
    `SELECT coalesce((SELECT json_agg(coalesce(host(r.client_addr), 'this machine')) FROM pg_stat_replication r
        WHERE r.application_name NOT IN ('pg_basebackup', 'pg_receivewal')
          AND NOT EXISTS (SELECT FROM pg_replication_slots s WHERE s.active_pid = r.pid AND s.slot_type = 'logical')), '[]') AS hosts,
      EXISTS (SELECT FROM pg_stat_wal_receiver WHERE pid IS NOT NULL) AS streams`,
  );
  return { hosts: rows[0]?.["hosts"] as string[], isStreaming: rows[0]?.["streams"] === true };
}

/**
 * How long readers' longest statement runs on a server, and how long ago the last change was made that it has replayed;
 * in seconds.
 */
export async function readActivity(run: Statement): Promise<{ longest: number; behind: number }> {
  const { rows } = await run(
    `SELECT coalesce(extract(epoch FROM max(clock_timestamp() - query_start)), 0)::float AS longest,
      coalesce(extract(epoch FROM clock_timestamp() - pg_last_xact_replay_timestamp()), 0)::float AS behind
      FROM pg_stat_activity WHERE datname = current_database() AND state = 'active' AND application_name LIKE '%\\_readonly'`,
  );
  return { longest: Number(rows[0]?.["longest"]), behind: Number(rows[0]?.["behind"]) };
}

/** Why an index must not be dropped; empty if nothing uses it. */
function listUses({ isAlive, names, readers }: IndexState): string[] {
  return [
    ...(isAlive ? ["its indexer is running, or was killed in the last 25 s"] : []),
    ...names.map((name) => `it is served as ${quoted(name)}`),
    ...(readers.length === 0 || isAlive ? [] : [`readers are connected from ${readers.join(", ")}`]),
  ];
}

// --- Views schemas, which show readers one of the indexes ---

/** An operator's request is refused, such as the switch of a views schema; the message says why and what to do. */
export class OperationError extends Refusal {
  override name = "OperationError";
}

/** Column types by name, in order, of each table or view of a schema. */
type Relations = Map<string, Record<string, string>>;

async function readRelations(run: Statement, schema: string): Promise<Relations> {
  const { rows } = await run(
    `SELECT c.relname::text AS relation, json_object_agg(a.attname, format_type(a.atttypid, a.atttypmod) ORDER BY a.attnum) AS columns
      FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_attribute a ON a.attrelid = c.oid
      WHERE n.nspname = $1 AND c.relkind IN ('r', 'v') AND NOT starts_with(c.relname, '_reorg__')
        AND NOT starts_with(c.relname, '_checksum_') AND a.attnum > 0
        AND NOT a.attisdropped GROUP BY 1 ORDER BY 1`,
    [schema],
  );
  return new Map(rows.map(({ relation, columns }) => [String(relation), columns as Record<string, string>]));
}

/** The columns that `columns` lacks or has with another type. */
const listLacking = (columns: Record<string, string> | undefined, shown: Record<string, string>) =>
  Object.keys(shown).filter((name) => columns?.[name] !== shown[name]);

// One text of statements, which the server runs as one transaction: readers see all of the former index or all of the
// next. Views that fit are replaced in place, which keeps rights on them and views over them.
function switchText({ schema, name }: Target, next: Relations, shown: Relations): string {
  const viewOf = (relation: string) => `${quoted(name)}.${quoted(relation)}`;
  const statements = [`CREATE SCHEMA IF NOT EXISTS ${quoted(name)}`];
  for (const relation of shown.keys())
    if (!next.has(relation)) statements.push(`DROP VIEW ${viewOf(relation)}`);
  for (const [relation, columns] of next) {
    const before = shown.get(relation) ?? {};
    const fits = listLacking(columns, before).length === 0;
    if (!fits) statements.push(`DROP VIEW ${viewOf(relation)}`);
    // A replaced view keeps its columns; new ones come last.
    const list = Object.keys(fits ? { ...before, ...columns } : columns).map(quoted);
    statements.push(
      `CREATE OR REPLACE VIEW ${viewOf(relation)} AS SELECT ${list.join(", ")} FROM ${quoted(schema)}.${quoted(relation)}`,
    );
  }
  return statements.join(";\n");
}

/** A views schema, and the schema of the index to point it to. */
type Target = { schema: string; name: string };

const reserved = ["public", "ponder_sync", "pg_catalog", "information_schema"];

/**
 * Points a views schema to an index in one transaction, and returns the schema that it pointed to before. It never
 * cancels readers' statements, but waits for a moment without long ones. Throws an OperationError.
 */
export async function switchName(
  run: Statement,
  target: Target,
  { isForced = false } = {},
): Promise<string | undefined> {
  const { schema, name } = target;
  if (reserved.includes(name) || name === schema)
    throw new OperationError(`A views schema must be a name of its own, not ${quoted(name)}.`);
  const indexes = await listIndexes(run, Date.now());
  const index = indexes.find((one) => one.schema === schema);
  const former = indexes.find(({ names }) => names.includes(name))?.schema;
  if (index === undefined) throw new OperationError(`Schema ${quoted(schema)} has no index.`);
  if (!index.isServable)
    throw new OperationError(
      `The index in schema ${quoted(schema)} is not complete yet: its backfill or its indexes for queries are missing.`,
    );
  const [next, shown] = [await readRelations(run, schema), await readRelations(run, name)];
  if (shown.size > 0 && (former === undefined || !shown.has(metaTable)))
    throw new OperationError(`Schema ${quoted(name)} has tables of its own. Choose another views schema.`);
  const lacking = [...shown].flatMap(([relation, columns]) =>
    relation.startsWith("_")
      ? []
      : listLacking(next.get(relation), columns).map((one) => `${relation}.${one}`),
  );
  if (lacking.length > 0 && !isForced)
    throw new OperationError(
      `Readers of the index now served may query data that the index in ${quoted(schema)} lacks: ` +
        `${lacking.slice(0, 5).join(", ")}${lacking.length > 5 ? " and more" : ""}. Start readers of its release first, or add --force.`,
    );
  await inTurn(run, [schema, former ?? schema], switchText(target, next, shown));
  await switchSqlViews(run, target);
  return former;
}

// Analysts' long statements must not hold up readers: hence in transactions of their own.
async function switchSqlViews(run: Statement, { schema, name: follows }: Target): Promise<void> {
  const { rows } = await run(
    `SELECT name FROM (${namesSql}) AS names WHERE follows = $1 AND schema <> $2 ORDER BY 1`,
    [follows, schema],
  );
  for (const name of rows.map((row) => String(row["name"])))
    await inTurn(run, [schema], sqlViewsText({ schema, name, follows })).catch((error: Error) => {
      const reason = error.cause instanceof Error ? error.cause.message : error.message;
      throw new OperationError(
        `Readers of ${quoted(follows)} are now served from schema ${quoted(schema)}, but the SQL views in ${quoted(name)} still read the previous index: ${reason} Switch again.`,
        { cause: error },
      );
    });
}

// Excludes other switches that concern these indexes, and drops of them, until the transaction ends. Whoever may only
// read the views cannot take these locks, as advisory ones.
const lockIndexes = (schemas: readonly string[]) =>
  [...new Set(schemas)]
    .sort()
    .map((schema) => `SELECT FROM ${quoted(schema)}.${metaTable} FOR UPDATE`)
    .join(";\n");

/** Whether a statement gave up waiting for a lock. Postgres: lock_not_available, deadlock_detected. */
export const isBusy = (error: unknown) =>
  ["55P03", "40P01"].includes(String((error as { code?: unknown }).code));

/**
 * Runs statements in one transaction, one switch between the indexes in `schemas` at a time. While it waits for a lock,
 * new statements wait behind it: so it gives up soon and tries again for a minute. Throws an OperationError.
 */
export async function inTurn(run: Statement, schemas: readonly string[], text: string): Promise<void> {
  const switching = () => run(`SET LOCAL lock_timeout = 400;\n${lockIndexes(schemas)};\n${text}`);
  const retryOptions = { retries: 200, factor: 1, minTimeout: 300, maxRetryTime: 60_000 };
  await pRetry(switching, { ...retryOptions, shouldRetry: ({ error }) => isBusy(error) }).catch((error) => {
    if (isBusy(error))
      throw new OperationError(
        "Readers were busy with long statements for a minute. Nothing was changed; try again.",
      );
    // Postgres: undefined_table.
    if (error.code !== "42P01") throw error;
    throw new OperationError("The index was dropped meanwhile.", { cause: error });
  });
}

/**
 * Drops an index and all its data in one transaction. Throws an OperationError while anything uses it, here or on a
 * standby.
 */
export async function dropIndex(
  run: Statement,
  schema: string,
  now: number,
  standbys: readonly Standby[] = [],
): Promise<void> {
  await inTransaction(run, async () => {
    await run("SET LOCAL lock_timeout = 5000");
    // Otherwise a switch to this index could come between the check of its uses and the drop, and lose its views. An
    // indexer that starts now waits too, and then starts over.
    if (await hasTable(run, `${quoted(schema)}.${metaTable}`)) await run(lockIndexes([schema]));
    const index = (await listIndexes(run, now, standbys)).find((one) => one.schema === schema);
    if (index === undefined) throw new OperationError(`Schema ${quoted(schema)} has no index.`);
    const uses = listUses(index);
    if (uses.length > 0) throw new OperationError(`Schema ${quoted(schema)} is in use: ${uses.join("; ")}.`);
    await run(`DROP SCHEMA IF EXISTS ${quoted(schema)}, ${quoted(namePastSchema(schema))} CASCADE`);
  });
}

/** Two indexes are considered caught up within this many seconds of chain time. */
const evenSeconds = 60;

/** Whether an index has reached, on every chain, the index behind the views schema. */
async function hasCaughtUp(run: Statement, { schema, name }: Target, now: number): Promise<boolean> {
  const indexes = await listIndexes(run, now);
  const served = indexes.find(({ names }) => names.includes(name))?.heads ?? [];
  const own = indexes.find((index) => index.schema === schema)?.heads ?? [];
  return served.every(({ chainId, head }) => {
    const reached = own.find((one) => one.chainId === chainId);
    if (head === undefined || reached === undefined) return true;
    return (reached.head?.timestamp ?? 0) >= head.timestamp - evenSeconds;
  });
}

type TakeOver = {
  run: Statement;
  /** Whether the backfill is complete and the indexes for queries are built. */
  isReady: () => Promise<boolean>;
  log: Log;
  everyMs?: number;
};

/**
 * Marks an index as servable once it is. If there is a views schema, points it to the index when that has caught up
 * with the served one: once only, so that an operator can switch back for good. Returns how to stop it.
 */
export function takeOverWhenReady(
  { schema, name }: { schema: string; name: string | undefined },
  { run, isReady, log, everyMs = 1_000 }: TakeOver,
): () => void {
  const note = (subject: "servable" | "took over") =>
    saveStatus(run, schema, subject, { at: new Date().toISOString() });
  let isNoted = false;
  const work = async () => {
    if (!isNoted && !(await isReady())) return undefined;
    if (!isNoted) await note("servable");
    isNoted = true;
    if (name === undefined || (await readStatuses(run, schema))["took over"] !== undefined) return "done";
    if (!(await hasCaughtUp(run, { schema, name }, Date.now()))) return undefined;
    const former = await switchName(run, { schema, name });
    await note("took over");
    log(
      "info",
      `Readers of ${quoted(name)} are now served from schema ${quoted(schema)}, previously from ${former ?? "none"}.`,
    );
    return "done";
  };
  const fields = { section: seeOperations("Upgrade without downtime") };
  return repeat(work, { everyMs, log, failure: "Could not take over the views schema", fields });
}

// The index that the current schema shows, itself unless it is a views schema, and its settings.
const shownSql = `SELECT coalesce((SELECT schema FROM (${namesSql}) AS names WHERE name = current_schema()), current_schema())::text,
  (${stateSql("description")} -> 'settings')::text`;

/**
 * Follows which index a reader's schema shows: itself, or the one behind a views schema. `current` returns the last
 * known one; `onSettings` gets the settings of each new one, the first before the promise resolves.
 */
export async function watchShownSchema(
  schema: string,
  { database, onSettings, log }: ShownOptions,
): Promise<{ current(): string; stop(): void }> {
  let shown: string | undefined;
  const look = async () => {
    const [found, settings] = await database.row(shownSql, [], AbortSignal.timeout(30_000));
    if (!found || !settings || found === shown) return;
    onSettings(JSON.parse(settings));
    if (found !== (shown ?? schema)) log("info", `Serves the index in schema ${quoted(found)}.`);
    shown = found;
  };
  // During an outage the last known index stays; an index that has just begun has no settings yet.
  const tryToLook = () => look().catch(() => undefined);
  await tryToLook();
  const stop = repeat(tryToLook, { everyMs: 1_000, log, failure: "", fields: {} });
  return { current: () => shown ?? schema, stop };
}

type ShownOptions = { database: RowReader; onSettings: (settings: RowSettings) => void; log: Log };
