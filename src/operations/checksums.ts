import { createHash } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import pRetry from "p-retry";
import { type Log, seeOperations } from "../log/json-log.ts";
import { quoted, type Statement } from "../ponder/sql-client.ts";

// A table's checksum is the sum of its rows' digests, which no order of rows changes. One pass after the backfill computes it for the
// finalized rows; from then on each finalization adds what it changed. Tables beside Ponder's, in the schema of the index:
//   _checksum_state    how often the sums were forgotten
//   _checksum_bases    each table's sum at a time, before which the rows of all blocks are in it
//   _checksum_changes  what finalized blocks since then have added to it, by the time until which they count
//   _checksums         the results: each holds from one time until another, between which nothing changed

/** Checksums are of times that are multiples of this many seconds, so that indexes which finalize at different moments compare. */
export const checksumEvery = 600;

/** A table of entities: its name, and its columns and primary key, quoted, by name. */
type Table = { name: string; columns: string[]; keys: string[] };

/** SQL for the tables of a schema that Ponder follows reorganizations of. */
const tablesSql = `SELECT c.relname::text AS name, json_agg(quote_ident(a.attname) ORDER BY a.attname COLLATE "C") AS columns,
    json_agg(quote_ident(a.attname) ORDER BY a.attname COLLATE "C") FILTER (WHERE a.attnum = ANY(i.indkey)) AS keys
  FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_index i ON i.indrelid = c.oid AND i.indisprimary
  JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
  WHERE n.nspname = $1 AND to_regclass(quote_ident(n.nspname) || '.' || quote_ident('_reorg__' || c.relname)) IS NOT NULL
  GROUP BY 1 ORDER BY c.relname::text COLLATE "C"`;

// The same text for the same row on every server: columns by name, in the form in which Postgres shows rows.
const digestOf = (alias: string, { columns }: Table) =>
  `sha256(convert_to(ROW(${columns.map((column) => `${alias}.${column}`).join(", ")})::text, 'UTF8'))`;
const half = (digest: string, from: number) =>
  `coalesce(('x' || encode(substr(${digest}, ${from}, 8), 'hex'))::bit(64)::bigint, 0)::numeric`;
const sums = (plus: string, minus?: string) =>
  [1, 9]
    .map((from) => `sum(${half(plus, from)}${minus === undefined ? "" : ` - ${half(minus, from)}`})`)
    .concat(minus === undefined ? `count(${plus})` : `count(${plus}) - count(${minus})`)
    .join(", ");

const sameKey = (one: string, other: string, { keys }: Table) =>
  keys.map((key) => `${one}.${key} = ${other}.${key}`).join(" AND ");
const keysOf = (alias: string, { keys }: Table) => keys.map((key) => `${alias}.${key}`).join(", ");

// ponder: keeps the former row of each change (operation 0: there was none) until its block is final, and then deletes it. The
// row after a change is the former row of the next change of its key, or the present row.
const changesSql = (own: string, table: Table) => `
  WITH records AS (
    SELECT ${keysOf("g", table)}, g.operation_id, g.checkpoint, true AS is_final,
      CASE WHEN g.operation > 0 THEN ${digestOf("g", table)} END AS digest
    FROM gone g WHERE g.checkpoint <= finalized
    UNION ALL
    SELECT ${keysOf("r", table)}, r.operation_id, r.checkpoint, false, CASE WHEN r.operation > 0 THEN ${digestOf("r", table)} END
    FROM ${own}.${quoted(`_reorg__${table.name}`)} r WHERE EXISTS (SELECT FROM gone g WHERE ${sameKey("g", "r", table)})
  ), steps AS (
    SELECT *, lead(digest) OVER key AS later, lead(operation_id) OVER key IS NULL AS is_last FROM records
    WINDOW key AS (PARTITION BY ${table.keys.join(", ")} ORDER BY operation_id)
  ), changes AS (
    SELECT (left(s.checkpoint, 10)::bigint / ${checksumEvery} + 1) * ${checksumEvery} AS until, s.digest AS before,
      CASE WHEN s.is_last THEN (SELECT ${digestOf("t", table)} FROM ${own}.${quoted(table.name)} t WHERE ${sameKey("t", "s", table)})
        ELSE s.later END AS after
    FROM steps s WHERE s.is_final
  )
  INSERT INTO ${own}._checksum_changes (table_name, until, high, low, rows)
  SELECT ${literal(table.name)}, until, ${sums("after", "before")} FROM changes GROUP BY until`;

const literal = (text: string) => `'${text.replaceAll("'", "''")}'`;

/**
 * The statement that prepares an index for checksums, before Ponder indexes: it forgets those of the former process, since rows may have
 * changed without notice, and notes what each finalization changes. A fault in that never stops Ponder.
 */
function installText(schema: string, tables: readonly Table[]): string {
  const own = quoted(schema);
  const forget = `UPDATE ${own}._checksum_state SET generation = generation + 1; DELETE FROM ${own}._checksum_bases; DELETE FROM ${own}._checksum_changes;`;
  const ofTables = tables.map((table) => {
    const name = quoted(`_checksum_${table.name}`);
    return `
      CREATE OR REPLACE FUNCTION ${own}.${name}() RETURNS trigger LANGUAGE plpgsql AS $body$
      DECLARE finalized varchar := (SELECT max(finalized_checkpoint) FROM ${own}._ponder_checkpoint);
      BEGIN ${changesSql(own, table)}; RETURN NULL;
      EXCEPTION WHEN OTHERS THEN ${forget} RAISE WARNING 'checksum: %', SQLERRM; RETURN NULL; END $body$;
      CREATE OR REPLACE TRIGGER _checksum AFTER DELETE ON ${own}.${quoted(`_reorg__${table.name}`)}
        REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION ${own}.${name}();`;
  });
  return `DO $install$ BEGIN
    CREATE TABLE IF NOT EXISTS ${own}._checksum_state (id int PRIMARY KEY, generation bigint NOT NULL);
    INSERT INTO ${own}._checksum_state VALUES (1, 0) ON CONFLICT DO NOTHING;
    CREATE TABLE IF NOT EXISTS ${own}._checksum_bases
      (table_name text PRIMARY KEY, until bigint NOT NULL, high numeric NOT NULL, low numeric NOT NULL, rows bigint NOT NULL);
    CREATE TABLE IF NOT EXISTS ${own}._checksum_changes (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
      table_name text NOT NULL, until bigint NOT NULL, high numeric NOT NULL, low numeric NOT NULL, rows bigint NOT NULL);
    CREATE TABLE IF NOT EXISTS ${own}._checksums (timestamp bigint PRIMARY KEY, until bigint NOT NULL, hash text NOT NULL, tables json NOT NULL);
    ${forget} DELETE FROM ${own}._checksums;
    DROP FUNCTION IF EXISTS ${own}._checksum_forget() CASCADE;
    ${ofTables.join("")}
  END $install$`;
}

/** The statement that sums a table up: its present rows, less the changes that are not final yet, at one moment. */
const passSql = (own: string, table: Table) => `
  WITH present AS (SELECT ${digestOf("t", table)} AS digest FROM ${own}.${quoted(table.name)} t OFFSET 0),
  firsts AS (SELECT DISTINCT ON (${keysOf("r", table)}) r.* FROM ${own}.${quoted(`_reorg__${table.name}`)} r
    ORDER BY ${keysOf("r", table)}, r.operation_id),
  undone AS (SELECT CASE WHEN f.operation > 0 THEN ${digestOf("f", table)} END AS before,
      (SELECT ${digestOf("t", table)} FROM ${own}.${quoted(table.name)} t WHERE ${sameKey("t", "f", table)}) AS after FROM firsts f),
  p (high, low, rows) AS (SELECT ${sums("digest")} FROM present),
  u (high, low, rows) AS (SELECT ${sums("before", "after")} FROM undone)
  SELECT (coalesce(p.high, 0) + coalesce(u.high, 0))::text AS high, (coalesce(p.low, 0) + coalesce(u.low, 0))::text AS low,
    (p.rows + u.rows)::text AS rows, (SELECT generation::text FROM ${own}._checksum_state) AS generation,
    (SELECT left(max(finalized_checkpoint), 10) FROM ${own}._ponder_checkpoint) AS finalized,
    (SELECT coalesce(max(id), 0)::text FROM ${own}._checksum_changes) AS last
  FROM p, u`;

// --- Passes, and what has become final ---

const keptResults = 144;

/** A table's number of rows, and its checksum: 32 hexadecimal digits. */
export type TableChecksum = { rows: number; hash: string };

async function tablesOf(run: Statement, schema: string): Promise<Table[]> {
  const { rows } = await run(tablesSql, [schema]);
  return rows.map((row) => ({
    name: String(row["name"]),
    columns: row["columns"] as string[],
    keys: row["keys"] as string[],
  }));
}

/** Prepares an index for checksums. Run it before Ponder indexes. */
export async function installChecksums(run: Statement, schema: string): Promise<void> {
  // An outage of the database of some seconds is waited out, as Ponder itself does.
  await pRetry(async () => run(installText(schema, await tablesOf(run, schema))), {
    retries: 9,
    minTimeout: 500,
    maxTimeout: 5_000,
  });
}

/** Computes the sum of a table from all its rows. */
async function pass(run: Statement, schema: string, table: Table): Promise<void> {
  const own = quoted(schema);
  const [row = {}] = (await run(passSql(own, table))).rows;
  // Unless rows were changed without notice meanwhile.
  await run(
    `WITH state AS (SELECT FROM ${own}._checksum_state WHERE generation = $1::bigint FOR UPDATE),
      gone AS (DELETE FROM ${own}._checksum_changes WHERE table_name = $2 AND id <= $3::bigint AND EXISTS (SELECT FROM state))
    INSERT INTO ${own}._checksum_bases SELECT $2, $4::bigint, $5::numeric, $6::numeric, $7::bigint FROM state
      ON CONFLICT (table_name) DO UPDATE SET until = excluded.until, high = excluded.high, low = excluded.low, rows = excluded.rows`,
    [
      row["generation"],
      table.name,
      row["last"],
      (Math.floor(Number(row["finalized"]) / checksumEvery) + 1) * checksumEvery,
      row["high"],
      row["low"],
      row["rows"],
    ],
  );
}

type Sum = { table: string; until: number; high: bigint; low: bigint; rows: number };
type Reading = {
  isReady: boolean;
  generation: number;
  /** Times of checkpoints, in Unix seconds: final on any chain, final on all, the newest. */
  finalized: number;
  from: number;
  to: number;
  last: number;
  bases: Sum[];
  changes: Sum[];
};

const listOf = (
  own: string,
  table: string,
) => `coalesce((SELECT json_agg(json_build_object('table', table_name, 'until', until,
    'high', high::text, 'low', low::text, 'rows', rows)) FROM (SELECT table_name, until, sum(high) AS high, sum(low) AS low,
    sum(rows) AS rows FROM ${own}.${table} GROUP BY 1, 2) s), '[]')`;

async function read(run: Statement, schema: string): Promise<Reading> {
  const own = quoted(schema);
  const { rows } = await run(`SELECT json_build_object(
    'isReady', (SELECT value ->> 'is_ready' = '1' FROM ${own}._ponder_meta WHERE key = 'app'),
    'generation', (SELECT generation FROM ${own}._checksum_state), 'last', (SELECT coalesce(max(until), 0) FROM ${own}._checksums),
    'finalized', (SELECT left(max(finalized_checkpoint), 10)::bigint FROM ${own}._ponder_checkpoint),
    'from', (SELECT left(min(finalized_checkpoint), 10)::bigint FROM ${own}._ponder_checkpoint),
    'to', (SELECT left(max(latest_checkpoint), 10)::bigint FROM ${own}._ponder_checkpoint),
    'bases', ${listOf(own, "_checksum_bases")}, 'changes', ${listOf(own, "_checksum_changes")})::text AS text`);
  return JSON.parse(String(rows[0]?.["text"]), (name, value) =>
    name === "high" || name === "low" ? BigInt(value) : value,
  );
}

const digits = (value: bigint) => BigInt.asUintN(64, value).toString(16).padStart(16, "0");

/** The checksum of each table, and one of them all. */
function resultOf(timestamp: number, all: readonly Sum[]) {
  const sorted = all.toSorted((one, other) => (one.table < other.table ? -1 : 1));
  const tables = Object.fromEntries(
    sorted.map(({ table, high, low, rows }): [string, TableChecksum] => [
      table,
      { rows, hash: digits(high) + digits(low) },
    ]),
  );
  const text = Object.entries(tables).map(([table, { rows, hash }]) => `${table} ${rows} ${hash}\n`);
  return { timestamp, hash: createHash("sha256").update(text.join("")).digest("hex"), tables };
}

// Returns a function that gives the sums at a time; each time is later than the one before.
function advancing(bases: readonly Sum[], changes: readonly Sum[]): (until: number) => Sum[] {
  const waiting = changes.toSorted((one, other) => other.until - one.until);
  const sums = new Map(bases.map((base) => [base.table, base]));
  return (until) => {
    for (let next = waiting.at(-1); next !== undefined && next.until <= until; next = waiting.at(-1)) {
      waiting.pop();
      const sum = sums.get(next.table);
      if (sum === undefined) continue;
      const [high, low, rows] = [sum.high + next.high, sum.low + next.low, sum.rows + next.rows];
      sums.set(next.table, { ...sum, high, low, rows });
    }
    return [...sums.values()].map((sum) => ({ ...sum, until }));
  };
}

/** Stores the results for the times that have become final, and adds the changes until the last of them to the bases. */
async function settle(run: Statement, schema: string, reading: Reading): Promise<void> {
  const { generation, bases, changes, last } = reading;
  const own = quoted(schema);
  const newest = Math.floor(reading.from / checksumEvery) * checksumEvery;
  const first = Math.max(...bases.map(({ until }) => until));
  // Nothing is final since the last round, or since the first pass.
  if (newest < first || newest === last) return;
  const changed = changes.map(({ until }) => until).filter((time) => time > first && time <= newest);
  const times = [...new Set([...(first === last ? [] : [first]), ...changed])].sort((a, b) => a - b);
  const advance = advancing(bases, changes);
  const results = times.map((time, place) => ({
    ...resultOf(time, advance(time)),
    until: (times[place + 1] ?? newest + checksumEvery) - checksumEvery,
  }));
  const next = advance(newest);
  await run(
    `WITH state AS (SELECT FROM ${own}._checksum_state WHERE generation = $1::bigint FOR UPDATE),
      gone AS (DELETE FROM ${own}._checksum_changes WHERE until <= $2::bigint AND EXISTS (SELECT FROM state)),
      next AS (UPDATE ${own}._checksum_bases b SET until = $2::bigint, high = n.high, low = n.low, rows = n.rows
        FROM unnest($3::text[], $4::numeric[], $5::numeric[], $6::bigint[]) AS n (name, high, low, rows), state WHERE n.name = b.table_name),
      former AS (UPDATE ${own}._checksums SET until = $8::bigint FROM state WHERE until = $9::bigint),
      old AS (DELETE FROM ${own}._checksums WHERE timestamp IN (SELECT timestamp FROM ${own}._checksums ORDER BY timestamp DESC OFFSET ${keptResults}))
    INSERT INTO ${own}._checksums SELECT r.timestamp, r.until, r.hash, r.tables
      FROM json_to_recordset($7::json) AS r (timestamp bigint, until bigint, hash text, tables json), state ON CONFLICT DO NOTHING`,
    [
      generation,
      newest,
      next.map(({ table }) => table),
      next.map(({ high }) => String(high)),
      next.map(({ low }) => String(low)),
      next.map(({ rows }) => rows),
      JSON.stringify(results),
      // The last result holds until the first change.
      (times[0] ?? newest + checksumEvery) - checksumEvery,
      first === last ? last : -1,
    ],
  );
}

/** Stores the result of an index that is complete: of everything up to its last second. */
async function conclude(run: Statement, schema: string, { generation, bases, changes, to }: Reading) {
  const own = quoted(schema);
  const { timestamp, hash, tables } = resultOf(to + 1, advancing(bases, changes)(Number.MAX_SAFE_INTEGER));
  await run(
    `INSERT INTO ${own}._checksums SELECT $2::bigint, $2::bigint, $3, $4::json FROM ${own}._checksum_state WHERE generation = $1::bigint
      ON CONFLICT DO NOTHING`,
    [generation, timestamp, hash, JSON.stringify(tables)],
  );
}

/**
 * One round: computes the sums that are missing, and stores what has become final. Nothing before the backfill is complete.
 * `isComplete`: nothing is indexed any more.
 */
export async function updateChecksums(
  run: Statement,
  schema: string,
  { isComplete = false, log }: { isComplete?: boolean; log?: Log } = {},
): Promise<void> {
  const before = await read(run, schema);
  if (!before.isReady) return;
  const there = new Set(before.bases.map(({ table }) => table));
  const tables = await tablesOf(run, schema);
  const begun = Date.now();
  for (const table of tables) if (!there.has(table.name)) await pass(run, schema, table);
  const reading = await read(run, schema);
  if (!reading.isReady || reading.bases.length < tables.length) return;
  if (there.size < tables.length) {
    const rows = reading.bases.reduce((sum, base) => sum + base.rows, 0);
    log?.("info", `Computed the checksums of ${rows} rows in ${((Date.now() - begun) / 1000).toFixed(1)} s.`);
  }
  if (isComplete && reading.finalized === reading.to) await conclude(run, schema, reading);
  else await settle(run, schema, reading);
}

type Options = { run: Statement; schema: string; isComplete: () => boolean; log: Log; everyMs?: number };

/** Keeps the checksums of an index current, round by round. Returns how to stop it. */
export function keepChecksums({ run, schema, isComplete, log, everyMs = 5_000 }: Options): () => void {
  const stopped = new AbortController();
  let isFailing = false;
  const work = async () => {
    for (;;) {
      await pause(everyMs, undefined, { signal: stopped.signal, ref: false });
      try {
        await updateChecksums(run, schema, { isComplete: isComplete(), log });
        isFailing = false;
      } catch (error) {
        if (stopped.signal.aborted || isFailing) continue;
        isFailing = true;
        const reason = error instanceof Error ? error.message : String(error);
        log("warn", `Could not compute checksums, will try again: ${reason}`, {
          section: seeOperations("Compare two indexes"),
        });
      }
    }
  };
  // Waiting ends with an error when it is stopped.
  work().catch(() => undefined);
  return () => stopped.abort();
}
