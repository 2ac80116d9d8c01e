import { type Log, seeOperations } from "../log/json-log.ts";
import { parseCheckpoint } from "../ponder/checkpoints.ts";
import type { Shared } from "../ponder/shared.ts";
import { createTable, hasTable, inTransaction, quoted, type Statement } from "../ponder/sql-client.ts";
import { repeat } from "./repeat.ts";
import { createStatusTable, listPonderIndexes, OperationError, saveStatus } from "./stored-indexes.ts";

// Purges of cached blocks. Each file of this folder has functions for operators on a database, which the launcher, the
// jobs of the service and the commands call. Handlers are in src/indexing, and reads of requests in src/read.

/** Blocks of a chain, both ends included; without `to`, all from `from` on. */
export type CachedRange = { chainId: number; from: number; to?: number | undefined };

/** What a purge removed: rows by table of `ponder_sync`; and the schemas whose indexes rest on removed blocks. */
export type Purge = { removed: Record<string, number>; orphaned: string[] };

const tablesSql = `SELECT table_name::text AS name, column_name::text AS block FROM information_schema.columns
  WHERE table_schema = 'ponder_sync' AND column_name IN ('number', 'block_number', 'from_block') ORDER BY 1`;

/**
 * Removes a chain's blocks from Ponder's cache in one transaction, so that they are fetched again, and marks indexes
 * that rest on them as purged. `run` has a connection of its own. Throws an OperationError while an indexer of the
 * chain runs.
 */
export async function purgeCache(run: Statement, range: CachedRange, now: number): Promise<Purge> {
  const { chainId, from } = range;
  return inTransaction(run, async () => {
    const indexes = (await listPonderIndexes(run, now)).filter(
      ({ heads }) => heads.length === 0 || heads.some((head) => head.chainId === chainId),
    );
    const used = indexes.find(({ expiry }) => expiry > 0);
    if (used !== undefined)
      throw new OperationError(
        `An indexer uses schema ${quoted(used.schema)} of this database. Stop it and run this again; if it was killed, wait ${Math.ceil(used.expiry / 1000)} s.`,
      );
    const removed: Record<string, number> = {};
    for (const { name, block } of (await run(tablesSql)).rows)
      removed[String(name)] = await deleteRows(run, String(name), String(block), range);
    if (await hasTable(run, "ponder_sync.intervals"))
      removed["intervals"] = await subtractFromIntervals(run, range);
    const orphaned = indexes.filter(({ heads }) => heads.some((head) => restsOn(head, range)));
    for (const { schema } of orphaned) {
      await createStatusTable(run, schema);
      await saveStatus(run, schema, "purged", { chainId, from });
    }
    return { removed, orphaned: orphaned.map(({ schema }) => schema) };
  });
}

// ponder: it caches results of requests that name no block with a null block.
async function deleteRows(run: Statement, table: string, block: string, { chainId, from, to }: CachedRange) {
  const { rows } = await run(
    `WITH removed AS (DELETE FROM ponder_sync.${table}
      WHERE chain_id = $1 AND (${block} >= $2::bigint OR ${block} IS NULL) AND (${block} <= $3::bigint) IS NOT FALSE RETURNING 1)
    SELECT count(*)::int AS count FROM removed`,
    [chainId, from, to ?? null],
  );
  return Number(rows[0]?.["count"]);
}

// ponder: it stores blocks a to b as [a, b + 1], and reads closed ranges only. What remains is closed; a single point
// means no block.
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

type CachedChain = { chainId: number; latestCheckpoint: string };

function restsOn(index: CachedChain, { chainId, from }: CachedRange): boolean {
  const { block, isStart, chainId: ofBlock } = parseCheckpoint(index.latestCheckpoint);
  if (index.chainId !== chainId || isStart) return false;
  return ofBlock !== chainId || block.number >= from;
}

// --- Unverified ranges ---

/** The union of ranges, ascending; those that overlap or touch are one. */
export function joinRanges(ranges: readonly { from: number; to: number }[]): { from: number; to: number }[] {
  const union: { from: number; to: number }[] = [];
  for (const { from, to } of [...ranges].sort((a, b) => a.from - b.from)) {
    const last = union.at(-1);
    if (last !== undefined && from <= last.to + 1) last.to = Math.max(last.to, to);
    else union.push({ from, to });
  }
  return union;
}

/** The union of ranges; beyond five, the range that spans them all. */
export function mergeRanges(ranges: readonly { from: number; to: number }[]): { from: number; to: number }[] {
  const union = joinRanges(ranges);
  const [first, last] = [union[0], union.at(-1)];
  if (union.length <= 5 || first === undefined || last === undefined) return union;
  return [{ from: first.from, to: last.to }];
}

const unverifiedTable = `ponder_sync.doubtful_ranges
  (chain_id bigint NOT NULL, from_block bigint NOT NULL, to_block bigint NOT NULL, owner text NOT NULL)`;

/** Replaces the stored unverified ranges of an index; `owner` is its schema. Several indexes may share the cache. */
export async function saveUnverified(
  run: Statement,
  owner: string,
  ranges: readonly Required<CachedRange>[],
): Promise<void> {
  await createTable(run, unverifiedTable);
  await run(
    `WITH gone AS (DELETE FROM ponder_sync.doubtful_ranges WHERE owner = $1)
    INSERT INTO ponder_sync.doubtful_ranges SELECT "chainId", "from", "to", $1
      FROM json_to_recordset($2::json) AS ranges ("chainId" bigint, "from" bigint, "to" bigint)`,
    [owner, JSON.stringify(ranges)],
  );
}

/** The stored unverified ranges of some chains, of all indexes. */
export async function readUnverified(
  run: Statement,
  chainIds: readonly number[],
): Promise<Required<CachedRange>[]> {
  if (!(await hasTable(run, "ponder_sync.doubtful_ranges"))) return [];
  // Drivers return a bigint as text.
  const { rows } = await run(
    `SELECT DISTINCT chain_id::float8 AS "chainId", from_block::float8 AS "from", to_block::float8 AS "to"
    FROM ponder_sync.doubtful_ranges WHERE chain_id = ANY($1::bigint[]) ORDER BY 1, 2`,
    [chainIds],
  );
  return rows as Required<CachedRange>[];
}

/** The commands that purge ranges from the cache. */
export const purgeCommands = (ranges: readonly CachedRange[], separator: string) =>
  ranges
    .map(({ chainId, from, to }) => {
      const end = to === undefined ? "" : ` --to ${to}`;
      return `npm run cache -- purge --chain ${chainId} --from ${from}${end}`;
    })
    .join(separator);

/**
 * Stores unverified ranges so that the next start refuses the index: when they are reported, and in the rounds of
 * `start`, which retry failures. `fault` is for clients: a sentence about the stored ranges, and since when there are
 * any (Unix seconds). `owner` is the index's schema.
 */
export function createUnverifiedWatch(
  run: Statement,
  owner: string,
  { shared, log }: { shared: Pick<Shared, "unverified" | "storeUnverified">; log: Log },
) {
  let stored: Required<CachedRange>[] = [];
  let fault: { since: number; reason: string } | undefined;
  const store = async () => {
    const current = [...shared.unverified].flatMap(([chainId, ranges]) =>
      mergeRanges(ranges).map((range) => ({ chainId, ...range })),
    );
    if (JSON.stringify(current) === JSON.stringify(stored)) return;
    await saveUnverified(run, owner, current);
    const before = fault;
    stored = current;
    fault = describeFault(current, before?.since ?? Math.floor(Date.now() / 1000));
    if (fault === undefined) log("info", "All blocks are verified", {});
    else if (before === undefined) log("error", fault.reason, {});
  };
  let last = Promise.resolve();
  const look = () => {
    last = last.catch(() => undefined).then(store);
    return last;
  };
  shared.storeUnverified = look;
  const failure = "Could not store which blocks are unverified";
  return { fault: () => fault, look, start: () => repeat(look, { everyMs: 1_000, log, failure }) };
}

function describeFault(ranges: readonly Required<CachedRange>[], since: number) {
  if (ranges.length === 0) return undefined;
  const blocks = ranges.map(({ chainId, from, to }) => `${from} to ${to} of chain ${chainId}`).join(", ");
  const reason =
    `RPC endpoint returned incomplete or fabricated logs, served another chain, or contradicts another URL, and its earlier responses may be indexed: blocks ${blocks}. Unless this ends by ` +
    `itself, stop the index, run "${purgeCommands(ranges, '" and "')}" and build a new index. ${unverifiedSection}`;
  return { since, reason };
}

/** The section of the operators' guide about them. */
export const unverifiedSection = seeOperations("When a node leaves out logs");
