import { parseCheckpoint } from "./checkpoints.ts";
import { hasTable, quoted, type Statement } from "./sql-client.ts";

/** Blocks of a chain: from `from` to `to`, both included; without `to` all later ones. */
export type CachedRange = { chainId: number; from: number; to?: number | undefined };

/** What a purge removed: rows by table of `ponder_sync`, and the schemas whose indexes rest on removed blocks. */
export type Purge = { removed: Record<string, number>; orphaned: string[] };

/** An indexer that uses the database; it must stop before its cache is changed. */
export class CacheInUseError extends Error {
  override name = "CacheInUseError";
}

// ponder: tables of its cache by the column with the block. It caches results of requests that name no block without one.
const tables = {
  blocks: "number",
  transactions: "block_number",
  transaction_receipts: "block_number",
  logs: "block_number",
  traces: "block_number",
  rpc_request_results: "coalesce(block_number, $2)",
  factory_addresses: "block_number",
  finalized_hashes: "number",
};

/**
 * Removes a chain's blocks from Ponder's cache in one transaction, so that they are fetched again, and marks indexes that
 * rest on them as orphaned. `run` has a connection of its own. Throws CacheInUseError while an indexer of the chain runs.
 */
export async function purgeCache(run: Statement, range: CachedRange, now: number): Promise<Purge> {
  await run("BEGIN");
  try {
    const indexes = await indexesOf(run, range.chainId);
    for (const { schema, heartbeatAt } of indexes) {
      const expiry = heartbeatAt === undefined ? 0 : heartbeatAt + heartbeatTimeout - now;
      if (expiry <= 0) continue;
      throw new CacheInUseError(
        `An indexer uses schema ${quoted(schema)} of this database. Stop it and run this again; if it was killed, wait ${Math.ceil(expiry / 1000)} s.`,
      );
    }
    const removed: Record<string, number> = {};
    for (const [table, block] of Object.entries(tables)) {
      if (await hasTable(run, `ponder_sync.${table}`))
        removed[table] = await deleteRows(run, table, block, range);
    }
    if (await hasTable(run, "ponder_sync.intervals")) {
      removed["intervals"] = await subtractFromIntervals(run, range);
    }
    const orphaned = indexes.filter(({ head }) => head === undefined || head >= range.from);
    for (const { schema } of orphaned) await markOrphaned(run, schema, range);
    await run("COMMIT");
    return { removed, orphaned: orphaned.map(({ schema }) => schema) };
  } catch (error) {
    await run("ROLLBACK");
    throw error;
  }
}

async function deleteRows(run: Statement, table: string, block: string, { chainId, from, to }: CachedRange) {
  const { rows } = await run(
    `WITH removed AS (DELETE FROM ponder_sync.${table}
      WHERE chain_id = $1 AND ${block} BETWEEN $2::bigint AND coalesce($3::bigint, ${block}) RETURNING 1)
    SELECT count(*)::int AS count FROM removed`,
    [chainId, from, to ?? null],
  );
  return Number(rows[0]?.["count"]);
}

// ponder: blocks a to b are stored as [a, b + 1], and only closed ranges can be read back. What remains beside an open range
// is closed; a single point would mean no block.
async function subtractFromIntervals(run: Statement, { chainId, from, to }: CachedRange): Promise<number> {
  const range = "nummultirange(numrange($2::numeric, $3::numeric, '()'))";
  const { rows } = await run(
    `WITH changed AS (
      UPDATE ponder_sync.intervals SET blocks = coalesce((
        SELECT range_agg(part) FROM unnest(blocks - ${range}) part WHERE lower(part) < upper(part)), '{}')
      WHERE chain_id = $1 AND blocks && ${range} RETURNING 1)
    SELECT count(*)::int AS count FROM changed`,
    [chainId, from, to === undefined ? null : to + 1],
  );
  await run("DELETE FROM ponder_sync.intervals WHERE chain_id = $1 AND isempty(blocks)", [chainId]);
  return Number(rows[0]?.["count"]);
}

/** ponder: a lock whose heartbeat is this old, in milliseconds, is lost. */
export const heartbeatTimeout = 25_000;

/** An index on the chain; without `heartbeatAt` if no process holds it, without `head` if its block is unknown. */
type Index = { schema: string; heartbeatAt: number | undefined; head: number | undefined };

async function indexesOf(run: Statement, chainId: number): Promise<Index[]> {
  const { rows } = await run(
    "SELECT schemaname::text AS schema FROM pg_tables WHERE tablename = '_ponder_meta' ORDER BY 1",
  );
  const indexes: Index[] = [];
  for (const { schema } of rows.map((row) => ({ schema: String(row["schema"]) }))) {
    const found = await run(
      `SELECT (value ->> 'is_locked')::int AS locked, (value ->> 'heartbeat_at')::text AS heartbeat,
        (SELECT count(*)::int FROM ${quoted(schema)}._ponder_checkpoint) AS chains,
        (SELECT latest_checkpoint FROM ${quoted(schema)}._ponder_checkpoint WHERE chain_id = $1) AS checkpoint
      FROM ${quoted(schema)}._ponder_meta WHERE key = 'app'`,
      [chainId],
    );
    const [row] = found.rows;
    if (row === undefined || (row["chains"] !== 0 && row["checkpoint"] === null)) continue;
    indexes.push({
      schema,
      heartbeatAt: row["locked"] === 1 ? Number(row["heartbeat"]) : undefined,
      head: headOf(row["checkpoint"], chainId),
    });
  }
  return indexes;
}

function headOf(checkpoint: unknown, chainId: number): number | undefined {
  if (typeof checkpoint !== "string") return -1;
  const parsed = parseCheckpoint(checkpoint);
  if (parsed.isStart) return -1;
  return parsed.chainId === chainId ? parsed.block.number : undefined;
}

const orphanTable = (schema: string) => `${quoted(schema)}._purged_blocks`;

async function markOrphaned(run: Statement, schema: string, { chainId, from }: CachedRange): Promise<void> {
  await run(
    `CREATE TABLE IF NOT EXISTS ${orphanTable(schema)} (chain_id bigint NOT NULL, from_block bigint NOT NULL)`,
  );
  await run(`INSERT INTO ${orphanTable(schema)} VALUES ($1, $2)`, [chainId, from]);
}

/** The purge that orphaned the index in a schema: its chain and first block. Undefined for a sound index. */
export async function orphanedBy(
  run: Statement,
  schema: string,
): Promise<{ chainId: number; from: number } | undefined> {
  if (!(await hasTable(run, orphanTable(schema)))) return undefined;
  const { rows } = await run(
    `SELECT chain_id::text AS chain, from_block::text AS block FROM ${orphanTable(schema)} ORDER BY from_block LIMIT 1`,
  );
  const [row] = rows;
  return row && { chainId: Number(row["chain"]), from: Number(row["block"]) };
}
