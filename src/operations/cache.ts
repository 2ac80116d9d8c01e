import { type Log, seeOperations } from "../log/json-log.ts";
import { parseCheckpoint } from "../ponder/checkpoints.ts";
import { hasTable, quoted, type Statement } from "../ponder/sql-client.ts";

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
  doubtful_ranges: "from_block",
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

// --- Ranges that a node returned before it was proven wrong ---

/** Ranges in doubt, by chain. */
export type Doubts = Map<number, readonly { from: number; to: number }[]>;

const doubtsKey = Symbol.for("nsindex.doubtful-ranges");

/** The ranges in doubt of this process: the checks of RPC answers write them, the API reads them. */
export function unverifiedRanges(scope: object = globalThis): Doubts {
  // ponder: loads the configuration and the API apart, so that they share no module.
  const shared = scope as { [doubtsKey]?: Doubts };
  shared[doubtsKey] ??= new Map();
  return shared[doubtsKey];
}

/** The union of ranges, ascending: those that overlap or touch are one. */
export function unionOf(ranges: readonly { from: number; to: number }[]): { from: number; to: number }[] {
  const union: { from: number; to: number }[] = [];
  for (const { from, to } of [...ranges].sort((a, b) => a.from - b.from)) {
    const last = union.at(-1);
    if (last !== undefined && from <= last.to + 1) last.to = Math.max(last.to, to);
    else union.push({ from, to });
  }
  return union;
}

/** The part of ranges, at most `longest` blocks, that begins with the block at this place among all of theirs. */
export function rangeAt(
  ranges: readonly { from: number; to: number }[],
  place: number,
  longest: number,
): { from: number; to: number } {
  let left = place;
  for (const { from, to } of ranges) {
    if (left <= to - from) return { from: from + left, to: Math.min(from + left + longest - 1, to) };
    left -= to - from + 1;
  }
  throw new Error("There is no such block.");
}

/** The union of ranges, or beyond five of them what spans them all. */
export function mergeRanges(ranges: readonly { from: number; to: number }[]): { from: number; to: number }[] {
  const union = unionOf(ranges);
  const [first, last] = [union[0], union.at(-1)];
  if (union.length <= 5 || first === undefined || last === undefined) return union;
  return [{ from: first.from, to: last.to }];
}

// Tables of releases before have no owner.
const createDoubts = [
  `CREATE TABLE IF NOT EXISTS ponder_sync.doubtful_ranges
  (chain_id bigint NOT NULL, from_block bigint NOT NULL, to_block bigint NOT NULL)`,
  "ALTER TABLE ponder_sync.doubtful_ranges ADD COLUMN IF NOT EXISTS owner text NOT NULL DEFAULT ''",
];

/** Replaces the stored ranges in doubt of a chain that an index found: `owner` is its schema. Several may share the cache. */
export async function keepDoubts(
  run: Statement,
  { chainId, owner }: { chainId: number; owner: string },
  ranges: readonly { from: number; to: number }[],
): Promise<void> {
  for (const sql of createDoubts) await run(sql);
  await run(
    `WITH gone AS (DELETE FROM ponder_sync.doubtful_ranges WHERE chain_id = $1 AND owner = $4)
    INSERT INTO ponder_sync.doubtful_ranges SELECT $1, *, $4 FROM unnest($2::bigint[], $3::bigint[])`,
    [chainId, ranges.map(({ from }) => from), ranges.map(({ to }) => to), owner],
  );
}

/** The stored ranges in doubt of some chains, whoever found them. */
export async function readDoubts(
  run: Statement,
  chainIds: readonly number[],
): Promise<Required<CachedRange>[]> {
  if (!(await hasTable(run, "ponder_sync.doubtful_ranges"))) return [];
  const { rows } = await run(
    "SELECT DISTINCT chain_id, from_block, to_block FROM ponder_sync.doubtful_ranges WHERE chain_id = ANY($1::bigint[]) ORDER BY 1, 2",
    [chainIds],
  );
  return rows.map((row) => ({
    chainId: Number(row["chain_id"]),
    from: Number(row["from_block"]),
    to: Number(row["to_block"]),
  }));
}

/** The commands that remove ranges from the cache, separated by `separator`. */
export const purgeCommands = (ranges: readonly Required<CachedRange>[], separator: string) =>
  ranges
    .map(({ chainId, from, to }) => `npm run cache -- purge --chain ${chainId} --from ${from} --to ${to}`)
    .join(separator);

const lookEveryMs = 1_000;

/**
 * Stores the ranges in doubt as they become known, so that the next start refuses the index. `fault` is for clients: since when
 * there are some (Unix seconds), and a sentence.
 */
export function createDoubtWatch({
  run,
  log,
  doubts,
  owner,
}: {
  run: Statement;
  log: Log;
  doubts: Doubts;
  /** The index's schema. */
  owner: string;
}) {
  let stored = "[]";
  let since = 0;
  let isSaid = false;
  let timer: NodeJS.Timeout | undefined;
  const current = () =>
    [...doubts].flatMap(([chainId, ranges]) => mergeRanges(ranges).map((range) => ({ chainId, ...range })));
  const fault = () => {
    const ranges = current();
    since = ranges.length === 0 ? 0 : since || Math.floor(Date.now() / 1000);
    if (ranges.length === 0) return undefined;
    const blocks = ranges.map(({ chainId, from, to }) => `${from} to ${to} of chain ${chainId}`).join(", ");
    const reason =
      `RPC endpoint returned incomplete or fabricated logs, served another chain, or contradicts another URL, and what it returned before may be indexed: blocks ${blocks}. Unless this ends by ` +
      `itself, stop the index, run "${purgeCommands(ranges, '" and "')}" and build a new index. ${doubtSection}`;
    return { since, reason };
  };
  const look = async () => {
    const text = JSON.stringify(current());
    if (text === stored) return;
    try {
      for (const [chainId, ranges] of doubts) await keepDoubts(run, { chainId, owner }, mergeRanges(ranges));
      stored = text;
      const found = fault();
      if (found !== undefined && !isSaid) log("error", found.reason, {});
      if (found === undefined && isSaid) log("info", "Nothing is in doubt any more", {});
      isSaid = found !== undefined;
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      log(
        "warn",
        `Could not store which blocks are in doubt, will try again: ${reason}. ${seeOperations("While something is away")}`,
        {},
      );
    }
  };
  return {
    fault,
    look,
    start: () => {
      timer = setInterval(() => void look(), lookEveryMs).unref();
    },
    stop: () => clearInterval(timer),
  };
}

/** Where operators read on. */
export const doubtSection = seeOperations("When a node leaves out logs");
