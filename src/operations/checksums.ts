import { type Log, seeOperations } from "../log/json-log.ts";
import { buildCheckpointParts } from "../ponder/checkpoints.ts";
import { quoted, type Statement, throughOutage } from "../ponder/sql-client.ts";
import { hexOf } from "../schema/sql.ts";
import { repeat } from "./repeat.ts";

// A table's checksum is the sum of its rows' digests, so that their order does not matter. `change_block` is not part
// of them: in a healed index it is the block at which a label became known. After the backfill one pass computes it for
// the finalized rows; then each finalization adds its changes. The schema of the index has, beside Ponder's tables:
//   _checksum_state  the generation, which grows when rows may have changed unnoticed; the time of a complete index
//   _checksum_sums   by generation and table: the sum at a time (is_base), and the changes of blocks until a time
//   _checksums       a view of the results, each from one time until another, between which nothing changed

/**
 * Checksums are of times that are multiples of this many seconds, so that indexes with different finalizations compare.
 */
export const checksumEvery = 600;

/**
 * A table: its name, its columns for checksums and its primary key, quoted, sorted by name; all of its columns, in its
 * order.
 */
export type TrackedTable = { name: string; columns: SummedColumn[]; keys: string[]; all: string[] };
type Table = TrackedTable;
type SummedColumn = { name: string; isBytes: boolean };

const tablesSql = `SELECT c.relname::text AS name, json_agg(quote_ident(a.attname) ORDER BY a.attnum) AS all,
    json_agg(json_build_object('name', quote_ident(a.attname), 'isBytes', a.atttypid = 'bytea'::regtype) ORDER BY a.attname COLLATE "C")
      FILTER (WHERE a.attname <> 'change_block') AS columns,
    json_agg(quote_ident(a.attname) ORDER BY a.attname COLLATE "C") FILTER (WHERE a.attnum = ANY(i.indkey)) AS keys
  FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_index i ON i.indrelid = c.oid AND i.indisprimary
  JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
  WHERE n.nspname = $1 AND to_regclass(quote_ident(n.nspname) || '.' || quote_ident('_reorg__' || c.relname)) IS NOT NULL
  GROUP BY 1 ORDER BY c.relname::text COLLATE "C"`;

// The same text for the same row on every server, whatever its `bytea_output`: columns sorted by name, in Postgres'
// text form.
const buildDigestSql = (alias: string, { columns }: Table) => {
  const texts = columns.map(({ name, isBytes }) =>
    isBytes ? hexOf(`${alias}.${name}`) : `${alias}.${name}`,
  );
  return `sha256(convert_to(ROW(${texts.join(", ")})::text, 'UTF8'))`;
};
const half = (digest: string, from: number) =>
  `coalesce(('x' || encode(substr(${digest}, ${from}, 8), 'hex'))::bit(64)::bigint, 0)::numeric`;
const sums = (plus: string, minus?: string) =>
  [1, 9]
    .map((from) => `sum(${half(plus, from)}${minus === undefined ? "" : ` - ${half(minus, from)}`})`)
    .concat(minus === undefined ? `count(${plus})` : `count(${plus}) - count(${minus})`)
    .join(", ");

const sameKey = (one: string, other: string, { keys }: Table) =>
  keys.map((key) => `${one}.${key} = ${other}.${key}`).join(" AND ");
const buildKeysSql = (alias: string, { keys }: Table) => keys.map((key) => `${alias}.${key}`).join(", ");

// ponder: it keeps the row before each change (operation 0: none) until its block is final, and then deletes it. The
// row after a change is the row before the key's next change, or the present row.
const changesSql = (own: string, table: Table) => `
  WITH records AS (
    SELECT ${buildKeysSql("g", table)}, g.operation_id, g.checkpoint, true AS is_final,
      CASE WHEN g.operation > 0 THEN ${buildDigestSql("g", table)} END AS digest
    FROM gone g WHERE g.checkpoint <= finalized
    UNION ALL
    SELECT ${buildKeysSql("r", table)}, r.operation_id, r.checkpoint, false, CASE WHEN r.operation > 0 THEN ${buildDigestSql("r", table)} END
    FROM ${own}.${quoted(`_reorg__${table.name}`)} r WHERE EXISTS (SELECT FROM gone g WHERE ${sameKey("g", "r", table)})
  ), steps AS (
    SELECT *, lead(digest) OVER key AS later, lead(operation_id) OVER key IS NULL AS is_last FROM records
    WINDOW key AS (PARTITION BY ${table.keys.join(", ")} ORDER BY operation_id)
  ), changes AS (
    SELECT (${buildCheckpointParts("s.checkpoint").time}::bigint / ${checksumEvery} + 1) * ${checksumEvery} AS until, s.digest AS before,
      CASE WHEN s.is_last THEN (SELECT ${buildDigestSql("t", table)} FROM ${own}.${quoted(table.name)} t WHERE ${sameKey("t", "s", table)})
        ELSE s.later END AS after
    FROM steps s WHERE s.is_final
  )
  INSERT INTO ${own}._checksum_sums (generation, table_name, until, high, low, rows)
  SELECT ${buildGenerationSql(own)}, ${quoteLiteral(table.name)}, until, ${sums("after", "before")} FROM changes GROUP BY until`;

const buildGenerationSql = (own: string) => `(SELECT generation FROM ${own}._checksum_state)`;
const quoteLiteral = (text: string) => `'${text.replaceAll("'", "''")}'`;

// The last 64 bits of a sum as hex.
const buildDigitsSql = (sum: string) =>
  `lpad(to_hex((mod(mod(${sum} + 2::numeric ^ 63, 2::numeric ^ 64) + 2::numeric ^ 64, 2::numeric ^ 64) - 2::numeric ^ 63)::bigint), 16, '0')`;

// Changes until `upto` count.
const resultsSql = (own: string, tables: number) => `
  WITH sums AS (SELECT s.* FROM ${own}._checksum_sums s JOIN ${own}._checksum_state USING (generation)),
  final AS (SELECT max(until) AS first, (SELECT left(min(finalized_checkpoint), 10)::bigint / ${checksumEvery} * ${checksumEvery}
    FROM ${own}._ponder_checkpoint) AS newest FROM sums WHERE is_base HAVING count(*) = ${tables}),
  changed AS (SELECT first AS time, newest FROM final UNION SELECT until, newest FROM sums, final WHERE until > first),
  times AS (
    SELECT time AS timestamp, coalesce(lead(time) OVER (ORDER BY time) - ${checksumEvery}, newest) AS until, time AS upto
    FROM changed WHERE time <= newest
    UNION ALL SELECT ended, ended, (SELECT max(until) FROM sums) FROM ${own}._checksum_state, final WHERE ended IS NOT NULL),
  parts AS (SELECT t.timestamp, t.until, table_name COLLATE "C" AS name, sum(rows)::bigint AS rows,
      ${buildDigitsSql("sum(high)")} || ${buildDigitsSql("sum(low)")} AS hash
    FROM times t JOIN sums s ON s.until <= t.upto GROUP BY 1, 2, 3)
  SELECT timestamp, until,
    encode(sha256(convert_to(string_agg(format(E'%s %s %s\\n', name, rows, hash), '' ORDER BY name), 'UTF8')), 'hex') AS hash,
    json_object_agg(name, json_build_object('rows', rows, 'hash', hash) ORDER BY name) AS tables
  FROM parts GROUP BY 1, 2`;

// The statement that prepares an index for checksums: it forgets those of the former process, since rows may have
// changed unnoticed, and records what each finalization changes. A failure in that never stops Ponder.
function installText(schema: string, tables: readonly Table[]): string {
  const own = quoted(schema);
  const forget = `UPDATE ${own}._checksum_state SET generation = generation + 1, ended = NULL;`;
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
    CREATE TABLE IF NOT EXISTS ${own}._checksum_state (id int PRIMARY KEY, generation bigint NOT NULL, ended bigint);
    INSERT INTO ${own}._checksum_state VALUES (1, 0) ON CONFLICT DO NOTHING;
    CREATE TABLE IF NOT EXISTS ${own}._checksum_sums (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, generation bigint NOT NULL,
      table_name text NOT NULL, until bigint NOT NULL, high numeric NOT NULL, low numeric NOT NULL, rows bigint NOT NULL,
      is_base boolean NOT NULL DEFAULT false);
    CREATE OR REPLACE VIEW ${own}._checksums AS ${resultsSql(own, tables.length)};
    ${forget} DELETE FROM ${own}._checksum_sums;
    ${ofTables.join("")}
  END $install$`;
}

// The statement that sums a table at one moment: its present rows without changes that are not final. The sum replaces
// earlier ones and is of the current generation. Returns the number of rows.
const passSql = (own: string, table: Table) => `
  WITH present AS (SELECT ${buildDigestSql("t", table)} AS digest FROM ${own}.${quoted(table.name)} t OFFSET 0),
  firsts AS (SELECT DISTINCT ON (${buildKeysSql("r", table)}) r.* FROM ${own}.${quoted(`_reorg__${table.name}`)} r
    ORDER BY ${buildKeysSql("r", table)}, r.operation_id),
  undone AS (SELECT CASE WHEN f.operation > 0 THEN ${buildDigestSql("f", table)} END AS before,
      (SELECT ${buildDigestSql("t", table)} FROM ${own}.${quoted(table.name)} t WHERE ${sameKey("t", "f", table)}) AS after FROM firsts f),
  p (high, low, rows) AS (SELECT ${sums("digest")} FROM present),
  u (high, low, rows) AS (SELECT ${sums("before", "after")} FROM undone),
  gone AS (DELETE FROM ${own}._checksum_sums WHERE table_name = ${quoteLiteral(table.name)})
  INSERT INTO ${own}._checksum_sums (generation, table_name, until, high, low, rows, is_base)
  SELECT ${buildGenerationSql(own)}, ${quoteLiteral(table.name)},
    (SELECT (${buildCheckpointParts("max(finalized_checkpoint)").time}::bigint / ${checksumEvery} + 1) * ${checksumEvery} FROM ${own}._ponder_checkpoint),
    coalesce(p.high, 0) + coalesce(u.high, 0), coalesce(p.low, 0) + coalesce(u.low, 0), p.rows + u.rows, true
  FROM p, u RETURNING rows`;

const keptResults = 144;

/** A table's number of rows, and its checksum: 32 hex digits. */
export type TableChecksum = { rows: number; hash: string };

/** The tables of a schema whose reorganizations Ponder tracks. */
export async function trackedTables(run: Statement, schema: string): Promise<TrackedTable[]> {
  const { rows } = await run(tablesSql, [schema]);
  return rows as TrackedTable[];
}

/** Prepares an index for checksums. Run it before Ponder indexes. */
export async function installChecksums(run: Statement, schema: string): Promise<void> {
  await throughOutage(async () => run(installText(schema, await trackedTables(run, schema))));
}

// Folds changes before the kept results into the bases.
const foldSql = (own: string) => `
  WITH cut AS (SELECT DISTINCT until FROM ${own}._checksum_sums ORDER BY 1 DESC OFFSET ${keptResults} LIMIT 1),
  gone AS (DELETE FROM ${own}._checksum_sums s USING cut WHERE s.until <= cut.until RETURNING s.*, cut.until AS cut)
  INSERT INTO ${own}._checksum_sums (generation, table_name, until, high, low, rows, is_base)
  SELECT generation, table_name, cut, sum(high), sum(low), sum(rows), true FROM gone
  WHERE generation = ${buildGenerationSql(own)} GROUP BY 1, 2, 3`;

/**
 * Computes missing sums and forgets old results, once the backfill is complete. `isComplete`: nothing is indexed any
 * more.
 */
export async function updateChecksums(
  run: Statement,
  schema: string,
  { isComplete = false, log }: { isComplete?: boolean; log?: Log } = {},
): Promise<void> {
  const own = quoted(schema);
  const ready = await run(
    `SELECT array(SELECT table_name FROM ${own}._checksum_sums WHERE is_base AND generation = ${buildGenerationSql(own)}) AS summed
    FROM ${own}._ponder_meta WHERE key = 'app' AND value ->> 'is_ready' = '1'`,
  );
  const [found] = ready.rows;
  if (found === undefined) return;
  const missing = (await trackedTables(run, schema)).filter(
    ({ name }) => !(found["summed"] as string[]).includes(name),
  );
  const begun = Date.now();
  let rows = 0;
  for (const table of missing) rows += Number((await run(passSql(own, table))).rows[0]?.["rows"]);
  if (missing.length > 0)
    log?.("info", `Computed the checksums of ${rows} rows in ${((Date.now() - begun) / 1000).toFixed(1)} s.`);
  await run(foldSql(own));
  if (isComplete)
    await run(`UPDATE ${own}._checksum_state SET ended = ends.time + 1 FROM (SELECT left(max(latest_checkpoint), 10)::bigint AS time,
      ${buildCheckpointParts("max(finalized_checkpoint)").time}::bigint AS finalized FROM ${own}._ponder_checkpoint) ends WHERE time = finalized AND ended IS NULL`);
}

type ChecksumOptions = {
  run: Statement;
  schema: string;
  isComplete: () => boolean;
  /** Whether rows change beside Ponder. */
  isHealing: () => boolean;
  log: Log;
};

/** Keeps an index's checksums current. Returns how to stop it. */
export function keepChecksums({ run, schema, isComplete, isHealing, log }: ChecksumOptions): () => void {
  const update = async () => isHealing() || updateChecksums(run, schema, { isComplete: isComplete(), log });
  return repeat(update, {
    everyMs: 5_000,
    log,
    failure: "Could not compute checksums",
    fields: { section: seeOperations("Compare two indexes") },
  });
}
