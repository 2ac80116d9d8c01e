import { createHash } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import pRetry from "p-retry";
import { type Log, seeOperations } from "../log/json-log.ts";
import { checksumEvery, installText, passSql, type Table, tablesSql } from "./checksum-sql.ts";
import { quoted, type Statement } from "./sql-client.ts";

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
