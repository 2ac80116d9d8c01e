import { type Log, seeOperations } from "../log/json-log.ts";
import { buildCheckpointParts } from "../ponder/checkpoints.ts";
import type { KeptPast } from "../ponder/shared.ts";
import { hasTable, quoted, type Statement, throughOutage } from "../ponder/sql-client.ts";
import { stateSql } from "../ponder/state.ts";
import { tablesOfEvents } from "../schema/past.ts";
import { type TrackedTable, trackedTables } from "./checksums.ts";
import { repeat } from "./repeat.ts";
import { type KeptSince, namePastSchema, readStatuses, saveStatus } from "./stored-indexes.ts";

// Reads of the past: a schema beside the index's, with a view for each of its tables. A statement that finds the views
// first and has set `nsindex.at`, a position, reads the rows as they were there. A position is the beginning of a
// checkpoint: ten digits of time (Unix seconds), sixteen each of chain and block.
//
// A row as it was comes from the first change after the position: the row before it. ponder: `_reorg__<table>` has the
// row before each change that is not final (operation 0: there was none). HISTORY_BLOCKS keeps them longer:
// `<table>_versions` in the schema of the views gets those that become final, and from the backfill the store of rows
// (src/ponder/rows). Rows of events need none: they have a block.

const nameVersionsTable = ({ name }: TrackedTable) => `${name}_versions`;
const isOfEvents = ({ name }: TrackedTable) => tablesOfEvents.has(name);
const at = "current_setting('nsindex.at')";
const timeAt = `left(${at}, 10)::integer`;
// Compares with the notes of reorganizations: 75 digits.
const isAfterAt = (checkpoint: string) => `${checkpoint} > rpad(${at}, 75, '9')`;

// The tables of rows come first, without conditions, so that Postgres reads each in the order of its index and merges
// them. The condition looks each key up: as a join, it would read all of the table.
function viewText(schema: string, table: TrackedTable, keepsVersions: boolean): string {
  const [own, past] = [quoted(schema), quoted(namePastSchema(schema))];
  const live = `${own}.${quoted(table.name)}`;
  const columns = table.all.join(", ");
  if (isOfEvents(table))
    return `SELECT ${columns} FROM ${live} WHERE (timestamp, block_number) <= (${timeAt}, ${buildCheckpointParts(at).block}::bigint)`;
  const notes = `${own}.${quoted(`_reorg__${table.name}`)}`;
  const versions = `${past}.${quoted(nameVersionsTable(table))}`;
  const none = (other: string, more: string) =>
    `NOT EXISTS (SELECT FROM ${other} o WHERE ${table.keys.map((key) => `o.${key} = r.${key}`).join(" AND ")} AND ${more} OFFSET 0)`;
  const isUnkept = keepsVersions ? none(versions, `o.until > ${at}`) : "true";
  const arms = [
    `SELECT ${columns}, 0 AS arm, true AS existed, 0::bigint AS change, NULL::text COLLATE "C" AS until FROM ${live}`,
    `SELECT ${columns}, 1, operation > 0, operation_id::bigint, checkpoint::text COLLATE "C" FROM ${notes}`,
    ...(keepsVersions ? [`SELECT ${columns}, 2, existed, 0::bigint, until FROM ${versions}`] : []),
  ];
  return `SELECT ${columns} FROM (${arms.join(" UNION ALL ")}) r WHERE r.existed AND CASE r.arm
    WHEN 0 THEN ${isUnkept} AND ${none(notes, isAfterAt("o.checkpoint"))}
    WHEN 1 THEN ${isAfterAt("r.until")} AND ${isUnkept} AND ${none(notes, `${isAfterAt("o.checkpoint")} AND o.operation_id < r.change`)}
    ELSE ${keepsVersions ? `r.until > ${at} AND ${none(versions, `o.until > ${at} AND o.until < r.until`)}` : "false"} END`;
}

// The heads as they were: of a chain that went on, the time alone.
const buildHeadsSql = (own: string) => `
  SELECT c.chain_name, c.chain_id, n.head AS safe_checkpoint, n.head AS latest_checkpoint, n.head AS finalized_checkpoint
  FROM ${own}._ponder_checkpoint c CROSS JOIN LATERAL (SELECT CASE WHEN left(c.latest_checkpoint, 42) <= ${at}
    THEN c.latest_checkpoint ELSE rpad(left(${at}, 10) || lpad(c.chain_id::text, 16, '0') || repeat('0', 16), 75, '9') END::varchar(75) AS head) n`;

// Of several changes within a block, the first has the row from before.
const buildKeepingSql = (schema: string, table: TrackedTable) => {
  const [own, past] = [quoted(schema), quoted(namePastSchema(schema))];
  const versions = `${past}.${quoted(nameVersionsTable(table))}`;
  const key = table.keys.join(", ");
  return `
    CREATE TABLE IF NOT EXISTS ${versions} AS SELECT ${table.all.join(", ")}, true AS existed, repeat('0', 42)::text COLLATE "C" AS until FROM ${own}.${quoted(table.name)} WITH NO DATA;
    CREATE UNIQUE INDEX IF NOT EXISTS ${quoted(`${table.name}_key`)} ON ${versions} (${key}, until);
    CREATE OR REPLACE FUNCTION ${past}.${quoted(`keep_${table.name}`)}() RETURNS trigger LANGUAGE plpgsql AS $body$ BEGIN
      INSERT INTO ${versions} SELECT DISTINCT ON (${key}, left(g.checkpoint, 42)) ${table.all.map((column) => `g.${column}`).join(", ")},
        g.operation > 0, left(g.checkpoint, 42) FROM gone g
        WHERE g.checkpoint <= (SELECT max(finalized_checkpoint) FROM ${own}._ponder_checkpoint)
        ORDER BY ${key}, left(g.checkpoint, 42), g.operation_id ON CONFLICT DO NOTHING;
      RETURN NULL; END $body$;
    CREATE OR REPLACE TRIGGER _past AFTER DELETE ON ${own}.${quoted(`_reorg__${table.name}`)}
      REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION ${past}.${quoted(`keep_${table.name}`)}();`;
};

/**
 * Prepares an index for reads of the past, before Ponder indexes. `since` is the second (Unix time) after which a
 * backfill keeps former rows, undefined to keep none. Resolves with what the store of rows needs for that.
 */
export async function installPast(
  run: Statement,
  schema: string,
  { since, functions }: { since: number | undefined; functions: (schema: string) => string },
): Promise<KeptPast | undefined> {
  const [own, past] = [quoted(schema), quoted(namePastSchema(schema))];
  const tables = await trackedTables(run, schema);
  const { rows } = await run(
    `SELECT to_regclass($1)::oid::text AS tables, (SELECT max(${buildCheckpointParts("safe_checkpoint").time})::integer FROM ${own}._ponder_checkpoint) AS reached`,
    [`${own}.domain`],
  );
  const [{ tables: oid, reached } = {}] = rows as { tables?: string; reached?: number | null }[];
  const { past: kept } = await readStatuses(run, schema);
  const versioned = tables.filter(({ name }) => !tablesOfEvents.has(name));
  const hasVersions = kept?.tables === oid && (await hasTable(run, `${past}.domain_versions`));
  const keptFrom = since !== undefined && hasVersions ? kept?.from : undefined;
  // What changed before went unrecorded.
  const from = since === undefined ? undefined : (keptFrom ?? Math.max(since, reached ?? 0));
  const texts = [
    keptFrom !== undefined ? "" : `DROP SCHEMA IF EXISTS ${past} CASCADE; CREATE SCHEMA ${past};`,
    ...versioned.map(
      ({ name, keys }) =>
        `CREATE INDEX IF NOT EXISTS ${quoted(`_reorg__${name}_key`)} ON ${own}.${quoted(`_reorg__${name}`)} (${keys.join(", ")}, checkpoint);`,
    ),
    ...(from === undefined ? [] : versioned.map((table) => buildKeepingSql(schema, table))),
    ...tables.map(
      (table) =>
        `CREATE OR REPLACE VIEW ${past}.${quoted(table.name)} AS ${viewText(schema, table, from !== undefined)};`,
    ),
    `CREATE OR REPLACE VIEW ${past}._ponder_checkpoint AS ${buildHeadsSql(own)};`,
    `${functions(namePastSchema(schema))};`,
  ];
  await throughOutage(() => run(`DO $install$ BEGIN ${texts.join("\n")} END $install$`));
  await saveStatus(
    run,
    schema,
    "past",
    from === undefined ? {} : ({ from, tables: String(oid) } satisfies KeptSince),
  );
  if (from === undefined) return undefined;
  return { from, schema: namePastSchema(schema), tables: new Set(versioned.map(({ name }) => name)) };
}

/**
 * SQL, among the tables of an index, of the first second (Unix time) that can be read. ponder: notes of final changes
 * are deleted.
 */
export const pastFromSql = `coalesce((${stateSql("past")} ->> 'from')::integer,
  (SELECT ${buildCheckpointParts("max(finalized_checkpoint)").time}::integer FROM _ponder_checkpoint))`;

/** A position: after all blocks up to a second (Unix time), or of one chain up to a block. */
export function buildPosition(second: number, block?: { chainId: number; number: number }): string {
  const digits = (value: number, length: number) => String(value).padStart(length, "0");
  const rest = block === undefined ? "9".repeat(32) : digits(block.chainId, 16) + digits(block.number, 16);
  return digits(second, 10) + rest;
}

/**
 * The schemas in which an index is found as it was, and SQL of whether the past from a second (Unix time) on can be
 * read in them.
 */
export function describePast(schema: string) {
  const past = namePastSchema(schema);
  const found = `to_regnamespace('${quoted(past).replaceAll("'", "''")}')::oid`;
  return {
    schemas: [past, schema],
    isKept: (second: number) =>
      `coalesce(has_schema_privilege(${found}, 'USAGE'), false) AND ${pastFromSql} <= ${Math.trunc(second)}`,
  };
}

type PruneOptions = {
  run: Statement;
  schema: string;
  /** The second before which former rows are not needed, undefined while unknown. */
  since: () => Promise<number | undefined>;
  log: Log;
};

/** Drops former rows that are older than what is kept. Returns how to stop it. */
export function pruneVersions({ run, schema, since, log }: PruneOptions): () => void {
  const past = quoted(namePastSchema(schema));
  const prune = async () => {
    const { past: kept } = await readStatuses(run, schema);
    const from = await since();
    if (kept?.from === undefined || from === undefined || from <= kept.from) return;
    // Whoever reads meanwhile is told first.
    await saveStatus(run, schema, "past", { ...kept, from });
    for (const table of await trackedTables(run, schema))
      if (!isOfEvents(table))
        await run(`DELETE FROM ${past}.${quoted(nameVersionsTable(table))} WHERE until < $1`, [
          String(from + 1).padStart(10, "0"),
        ]);
  };
  return repeat(prune, {
    everyMs: 60_000,
    log,
    failure: "Could not delete rows older than HISTORY_BLOCKS",
    fields: { section: seeOperations("Read the past") },
  });
}
