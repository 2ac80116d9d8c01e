import { quoted } from "./sql-client.ts";

// A table's checksum is the sum of its rows' digests, which no order of rows changes. One pass after the backfill computes it for the
// finalized rows; from then on each finalization adds what it changed. Tables beside Ponder's, in the schema of the index:
//   _checksum_state    how often the sums were forgotten
//   _checksum_bases    each table's sum at a time, before which the rows of all blocks are in it
//   _checksum_changes  what finalized blocks since then have added to it, by the time until which they count
//   _checksums         the results: each holds from one time until another, between which nothing changed

/** Checksums are of times that are multiples of this many seconds, so that indexes which finalize at different moments compare. */
export const checksumEvery = 600;

/** A table of entities: its name, and its columns and primary key, quoted, by name. */
export type Table = { name: string; columns: string[]; keys: string[] };

/** SQL for the tables of a schema that Ponder follows reorganizations of. */
export const tablesSql = `SELECT c.relname::text AS name, json_agg(quote_ident(a.attname) ORDER BY a.attname COLLATE "C") AS columns,
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
export function installText(schema: string, tables: readonly Table[]): string {
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
export const passSql = (own: string, table: Table) => `
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
