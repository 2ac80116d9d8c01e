import { setTimeout as pause } from "node:timers/promises";
import type { RowSettings } from "../config/row-settings.ts";
import { type Log, seeOperations } from "../log/json-log.ts";
import { hasTable, quoted, type RowReader, type Statement } from "../ponder/sql-client.ts";
import { repeat } from "./repeat.ts";
import {
  listIndexes,
  metaTable,
  saveStatus,
  shownSchemaSql,
  shownSettings,
  statusOf,
  usesOf,
  viewsSchemas,
} from "./stored-indexes.ts";

/** A views schema cannot be switched, or an index not be dropped; the message says why and what to do. */
export class ViewsSchemaError extends Error {
  override name = "ViewsSchemaError";
}

/** Columns of each table or view of a schema: their types by name, in order. */
type Relations = Map<string, Record<string, string>>;

async function relationsOf(run: Statement, schema: string): Promise<Relations> {
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

/** The columns that `columns` lacks, or has of another type. */
const lackingIn = (columns: Record<string, string> | undefined, shown: Record<string, string>) =>
  Object.keys(shown).filter((name) => columns?.[name] !== shown[name]);

/**
 * One text of statements, which the server runs as one transaction: readers see all of the former index or all of the next.
 * Views that can stay are replaced in place, so that rights and views of others on them last.
 */
function switchText({ schema, name }: Target, next: Relations, shown: Relations): string {
  const viewOf = (relation: string) => `${quoted(name)}.${quoted(relation)}`;
  const statements = [`CREATE SCHEMA IF NOT EXISTS ${quoted(name)}`];
  for (const relation of shown.keys())
    if (!next.has(relation)) statements.push(`DROP VIEW ${viewOf(relation)}`);
  for (const [relation, columns] of next) {
    const before = shown.get(relation) ?? {};
    const fits = lackingIn(columns, before).length === 0;
    if (!fits) statements.push(`DROP VIEW ${viewOf(relation)}`);
    // A view keeps its columns, and gets new ones behind them.
    const list = Object.keys(fits ? { ...before, ...columns } : columns).map(quoted);
    statements.push(
      `CREATE OR REPLACE VIEW ${viewOf(relation)} AS SELECT ${list.join(", ")} FROM ${quoted(schema)}.${quoted(relation)}`,
    );
  }
  return statements.join(";\n");
}

/** A views schema, and the schema of the index that it shall point to. */
export type Target = { schema: string; name: string };

const reserved = ["public", "ponder_sync", "pg_catalog", "information_schema"];

/**
 * Points a views schema to an index, in one transaction, and returns the schema that it pointed to before. Statements of readers
 * are never cancelled: it waits for a moment in which none is longer under way than they may wait. Throws a ViewsSchemaError.
 */
export async function switchName(
  run: Statement,
  target: Target,
  { isForced = false, now = Date.now, wait = pause }: SwitchOptions = {},
): Promise<string | undefined> {
  const { schema, name } = target;
  if (reserved.includes(name) || name === schema)
    throw new ViewsSchemaError(`A views schema must be a name of its own, not ${quoted(name)}.`);
  const index = (await listIndexes(run, now())).find((one) => one.schema === schema);
  if (index === undefined) throw new ViewsSchemaError(`Schema ${quoted(schema)} has no index.`);
  if (!index.isServable)
    throw new ViewsSchemaError(
      `The index in schema ${quoted(schema)} is not complete yet: its backfill or its indexes for queries are missing.`,
    );
  const former = (await viewsSchemas(run)).get(name);
  const [next, shown] = [await relationsOf(run, schema), await relationsOf(run, name)];
  if (former === undefined && shown.size > 0)
    throw new ViewsSchemaError(`Schema ${quoted(name)} has tables of its own. Choose another views schema.`);
  const lacking = [...shown].flatMap(([relation, columns]) =>
    relation.startsWith("_") ? [] : lackingIn(next.get(relation), columns).map((one) => `${relation}.${one}`),
  );
  if (lacking.length > 0 && !isForced)
    throw new ViewsSchemaError(
      `Readers of the index that is served now may ask for what the index in ${quoted(schema)} lacks: ` +
        `${lacking.slice(0, 5).join(", ")}${lacking.length > 5 ? " and more" : ""}. Start readers of its release first, or add --force.`,
    );
  await inTurn(run, switchText(target, next, shown), { now, wait });
  return former;
}

type Clock = { now?: () => number; wait?: (milliseconds: number) => Promise<unknown> };
type SwitchOptions = Clock & { isForced?: boolean };

const turnMs = 60_000;

// For the rest of a transaction only it changes what views schemas point to, or drops an index.
const takeTurn = "SELECT pg_advisory_xact_lock(hashtext('nsindex stable name'))";

// Every statement that comes while this one waits for a lock waits behind it: so it gives up soon and tries again.
async function inTurn(run: Statement, text: string, { now, wait }: Required<Clock>): Promise<void> {
  const end = now() + turnMs;
  for (let patience = 100; ; patience = Math.min(2 * patience, 800)) {
    try {
      await run(
        `SET LOCAL lock_timeout = ${patience};
        ${takeTurn};
        ${text}`,
      );
      return;
    } catch (error) {
      const code = String((error as { code?: unknown }).code);
      // Postgres: undefined table.
      if (code === "42P01") throw new ViewsSchemaError("The index was dropped meanwhile.", { cause: error });
      // Postgres: lock not available, deadlock.
      if (!["55P03", "40P01"].includes(code)) throw error;
      if (now() > end)
        throw new ViewsSchemaError(
          "Readers were busy with long statements for a minute. Nothing was changed; try again.",
        );
      await wait(300);
    }
  }
}

/** Drops an index and all its data, in one transaction. Throws a ViewsSchemaError while anything uses it. */
export async function dropIndex(run: Statement, schema: string, now: number): Promise<void> {
  await run("BEGIN");
  try {
    await run("SET LOCAL lock_timeout = 5000");
    // A switch to this index would otherwise come between the look at its uses and the drop, and lose its views.
    await run(takeTurn);
    if (await hasTable(run, `${quoted(schema)}.${metaTable}`))
      // An indexer that starts now waits for this, and then starts over.
      await run(`SELECT FROM ${quoted(schema)}.${metaTable} FOR UPDATE`);
    const index = (await listIndexes(run, now)).find((one) => one.schema === schema);
    if (index === undefined) throw new ViewsSchemaError(`Schema ${quoted(schema)} has no index.`);
    const uses = usesOf(index);
    if (uses.length > 0)
      throw new ViewsSchemaError(`Schema ${quoted(schema)} is in use: ${uses.join("; ")}.`);
    await run(`DROP SCHEMA ${quoted(schema)} CASCADE`);
    await run("COMMIT");
  } catch (error) {
    await run("ROLLBACK");
    throw error;
  }
}

/** Two indexes are as far as each other up to this many seconds of chain time. */
const evenSeconds = 60;

/** Whether an index has reached, on every chain, what the index behind the views schema has. */
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
  /** Whether the backfill is over and the indexes for queries are built. */
  isReady: () => Promise<boolean>;
  log: Log;
  everyMs?: number;
};

/**
 * Notes in an index that it can be served, once it can. With a views schema, it then points that to itself as soon as it has
 * caught up with the index that is served: once only, so that an operator can take it back for good. Returns how to stop it.
 */
export function takeOverWhenReady(
  { schema, name }: { schema: string; name: string | undefined },
  { run, isReady, log, everyMs = 1_000 }: TakeOver,
): () => void {
  const note = (subject: string) => saveStatus(run, schema, subject, { at: new Date().toISOString() });
  let isNoted = false;
  const work = async () => {
    if (!isNoted && !(await isReady())) return undefined;
    if (!isNoted) await note("servable");
    isNoted = true;
    if (name === undefined || (await statusOf(run, schema)).has("took over")) return "done";
    if (!(await hasCaughtUp(run, { schema, name }, Date.now()))) return undefined;
    const former = await switchName(run, { schema, name });
    await note("took over");
    log(
      "info",
      `Readers of ${quoted(name)} are served from schema ${quoted(schema)} now, before from ${former ?? "none"}.`,
    );
    return "done";
  };
  const fields = { section: seeOperations("Upgrade without downtime") };
  return repeat(work, { everyMs, log, failure: "Could not take over the views schema", fields });
}

/**
 * Follows which index a reader's schema shows: itself, or the one that a views schema points to. Gives the last known, and calls
 * `onSettings` with its settings whenever it is another, the first time before it resolves.
 */
export async function watchShownSchema(
  schema: string,
  { database, onSettings, log }: ShownOptions,
): Promise<{ current(): string; stop(): void }> {
  let shown: string | undefined;
  const look = async () => {
    const [found] = await database.row(shownSchemaSql, [], AbortSignal.timeout(30_000));
    if (!found || found === shown) return;
    const settings = await shownSettings(database);
    if (settings !== undefined) onSettings(settings);
    if (found !== (shown ?? schema)) log("info", `Serves the index in schema ${quoted(found)}.`);
    shown = found;
  };
  // While the database is away the last known index is as good as any.
  const tryToLook = () => look().catch(() => undefined);
  await tryToLook();
  const stop = repeat(tryToLook, { everyMs: 1_000, log, failure: "", fields: {} });
  return { current: () => shown ?? schema, stop };
}

type ShownOptions = { database: RowReader; onSettings: (settings: RowSettings) => void; log: Log };
