import { PonderDiffersError } from "./expected.ts";
import { quoted, type RowReader, type Statement, throughOutage } from "./sql-client.ts";
import { stateSql, stateTable } from "./state.ts";

/** A block, without further members; `timestamp` is in Unix seconds. */
export type BlockRef = { timestamp: number; number: number };

/** A block of a chain, of one of its branches. */
export type ChainBlock = BlockRef & { hash: string; parentHash: string };

/**
 * The block that an index has reached on a chain; `timestamp` (Unix seconds) is absent while unknown, hashes while none
 * are stored.
 */
export type Head = Pick<ChainBlock, "number"> & {
  [Member in Exclude<keyof ChainBlock, "number">]?: ChainBlock[Member] | undefined;
};

/**
 * A row of Ponder's `_ponder_checkpoint`; `isReady` is true if the backfill of all chains was complete.
 * `reorganizations`: how many the index has followed, on all chains; null before the first. `head`: the block of a head
 * that was followed (branch.ts).
 */
export type CheckpointRow = {
  chainId: number;
  reorganizations: number | null;
  isReady: boolean;
  latestCheckpoint: string;
  safeCheckpoint: string;
  finalizedCheckpoint: string;
  head?: Partial<ChainBlock> | null;
};

/**
 * Parses Ponder's 75 digits: timestamp 10, chain id 16, block number 16, transaction index 16, event type 1, event
 * index 16. `isStart`: before the chain's first event. Throws PonderDiffersError on any other text.
 */
export function parseCheckpoint(text: string): { block: BlockRef; chainId: number; isStart: boolean } {
  if (!/^[0-9]{75}$/.test(text))
    throw new PonderDiffersError(`a checkpoint in _ponder_checkpoint has 75 digits, got "${text}"`);
  return {
    block: { timestamp: Number(text.slice(0, 10)), number: Number(text.slice(26, 42)) },
    chainId: Number(text.slice(10, 26)),
    // ponder: a processed event has type 5 and a processed block is filled up with nines.
    isStart: /^0+$/.test(text.slice(42)),
  };
}

/**
 * The last block of the row's chain whose events are in the tables: the one rule for the head. Undefined before the
 * chain's first event, and while no block of the chain is known to be there after a restart.
 */
export function indexedBlock(row: HeadRow): BlockRef | undefined {
  const checkpoint = parseCheckpoint(pickHead(row));
  return checkpoint.isStart || checkpoint.chainId !== row.chainId ? undefined : checkpoint.block;
}

type HeadRow = Pick<CheckpointRow, "chainId" | "isReady" | "latestCheckpoint" | "safeCheckpoint">;

// ponder: a restart reverts the tables to the safe checkpoint, which may be another chain's, and leaves the latest one
// (until `restoreHeads`, or the chain's next block). The backfill writes both alike.
const pickHead = ({ isReady, latestCheckpoint, safeCheckpoint }: HeadRow) =>
  isReady || latestCheckpoint <= safeCheckpoint ? latestCheckpoint : safeCheckpoint;

/**
 * The heads of all chains as one text, which differs once rows of another block can be read, even one of the same
 * number and time: a reorganization is counted in the transaction that reverts the rows (docs/ponder.md). The count is
 * the text's first word.
 */
export const joinHeads = (rows: readonly (HeadRow & Pick<CheckpointRow, "reorganizations">)[]): string =>
  [rows[0]?.reorganizations ?? 0, ...rows.map(pickHead)].join(" ");

/** Whether a reorganization came between the readings of two texts of `joinHeads`. */
export const isReorganized = (before: string | undefined, after: string | undefined): boolean =>
  before?.split(" ", 1)[0] !== after?.split(" ", 1)[0];

/** The last indexed block of a row's chain, with its hashes if they are stored. */
export function indexedHead(row: HeadRow & Pick<CheckpointRow, "head">): (BlockRef & Head) | undefined {
  const [block, { head }] = [indexedBlock(row), row];
  // After a restart rows are reverted before what was stored with them is forgotten.
  const isSame = head?.number === block?.number && head?.timestamp === block?.timestamp;
  return block && (isSame ? { ...head, ...block } : block);
}

/** SQL of the parts of a checkpoint, given as SQL: those of `parseCheckpoint`, numbers as their digits. */
export const buildCheckpointParts = (checkpoint: string) => ({
  time: `left(${checkpoint}, 10)`,
  chain: `substr(${checkpoint}, 11, 16)`,
  block: `substr(${checkpoint}, 27, 16)`,
  isStart: `(substr(${checkpoint}, 43) = repeat('0', 33))`,
});

/**
 * SQL of whether the backfill of all chains is complete; null before the index has begun. `meta`: SQL of the table
 * `_ponder_meta`.
 */
export const buildIsReadySql = (meta: string) =>
  `(SELECT value ->> 'is_ready' = '1' FROM ${meta} WHERE key = 'app')`;
const isReadySql = buildIsReadySql("_ponder_meta");

const members = `'chainId', c.chain_id, 'isReady', coalesce(${isReadySql}, false),
  'latestCheckpoint', c.latest_checkpoint, 'safeCheckpoint', c.safe_checkpoint, 'finalizedCheckpoint', c.finalized_checkpoint,
  'head', (SELECT s.snapshot FROM ${stateTable} s WHERE s.id = 'head ' || c.chain_id)`;

/** SQL expression for a chain's row, as a text for `parseHead`. */
export const headSql = (chainId: number) =>
  `(SELECT json_build_object(${members})::text FROM _ponder_checkpoint c WHERE c.chain_id = ${Math.trunc(chainId)})`;

/**
 * SQL expression for the number of the checkpoint's block that `indexedBlock` reads; null for a chain without a row.
 */
export const headNumberSql = (chainId: number) => headPartSql(chainId, "block");

/**
 * SQL expression for the time (Unix seconds) of the checkpoint that `indexedBlock` reads; null for a chain without a
 * row.
 */
export const headTimeSql = (chainId: number) => headPartSql(chainId, "time");

/**
 * SQL expression for the checkpoint that `indexedBlock` reads, of a row `c` of `_ponder_checkpoint`. `meta`: SQL of the
 * table `_ponder_meta`.
 */
export const buildHeadSql = (meta: string) =>
  `(CASE WHEN coalesce(${buildIsReadySql(meta)}, false) OR c.latest_checkpoint <= c.safe_checkpoint THEN c.latest_checkpoint ELSE c.safe_checkpoint END)`;

function headPartSql(chainId: number, part: "block" | "time"): string {
  return `(SELECT ${buildCheckpointParts(buildHeadSql("_ponder_meta"))[part]}::numeric FROM _ponder_checkpoint c WHERE c.chain_id = ${Math.trunc(chainId)})`;
}

/**
 * The last indexed block, from the text of `headSql`; undefined as in `indexedBlock`, and for a chain without a row.
 */
export const parseHead = (text: string | null): (BlockRef & Head) | undefined =>
  text === null ? undefined : indexedHead(JSON.parse(text) as HeadRow);

/** The head of a chain whose range ends at `end`: Ponder follows the chain past the last indexed block. */
export function headUpTo(end: Head | undefined, head: Head | undefined): Head | undefined {
  return end !== undefined && head !== undefined && head.number > end.number ? end : head;
}

/** SQL expression for the rows of all chains, as JSON; null before the first. */
export const checkpointsSql = `(SELECT json_agg(json_build_object(${members},
  'reorganizations', ${stateSql("reorganizations")}) ORDER BY c.chain_id) FROM _ponder_checkpoint c)`;

/** Ponder's progress on all chains at one moment; empty before its first event handlers have run. */
export async function readCheckpoints(database: RowReader, signal: AbortSignal): Promise<CheckpointRow[]> {
  const [text] = await database.row(`SELECT ${checkpointsSql}::text`, [], signal);
  return JSON.parse(text ?? "[]") as CheckpointRow[];
}

/**
 * Forgets the branches of an earlier run. Run it before Ponder indexes: it begins again at the last final block, maybe
 * on another branch.
 */
export async function forgetBranches(run: Statement, schema: string): Promise<void> {
  const own = quoted(schema);
  await throughOutage(() => run(`DELETE FROM ${own}.${stateTable} WHERE id ~ '^(head|branch) '`));
}

/**
 * SQL expression for the last checkpoint that all chains have reached and no reorganization reverts; empty before the
 * first. It is also the id of the last event up to there: Ponder's event ids are checkpoints.
 */
export const finalizedCheckpointSql = buildFinalizedCheckpointSql("_ponder_checkpoint");

/** The same expression for a table of checkpoints, given as SQL. */
export function buildFinalizedCheckpointSql(table: string): string {
  return `(SELECT coalesce(least(min(finalized_checkpoint), max(latest_checkpoint)), '') COLLATE "C" FROM ${table})`;
}

/**
 * Corrects a `latest_checkpoint` that a restart left above the rows: to the safe checkpoint or, if that is another
 * chain's, to the chain's newest cached block before it. Run it before Ponder indexes and serves: afterwards a stale
 * head looks like one that was reached.
 */
export async function restoreHeads(run: Statement, schema: string): Promise<void> {
  const own = quoted(schema);
  const digits = (value: string, length: number) => `lpad(${value}::text, ${length}, '0')`;
  const cached = `${digits("b.timestamp", 10)} || ${digits("b.chain_id", 16)} || ${digits("b.number", 16)} || repeat('9', 33)`;
  const start = `repeat('0', 10) || ${digits("c.chain_id", 16)} || repeat('0', 49)`;
  const statement = `
    UPDATE ${own}._ponder_checkpoint c SET latest_checkpoint = CASE
      WHEN ${buildCheckpointParts("c.safe_checkpoint").chain}::bigint = c.chain_id THEN c.safe_checkpoint
      ELSE coalesce((
        SELECT ${cached} FROM ponder_sync.blocks b
        WHERE b.chain_id = c.chain_id AND ${cached} COLLATE "C" <= c.safe_checkpoint
        ORDER BY b.number DESC LIMIT 1
      ), ${start}) END
    WHERE c.latest_checkpoint COLLATE "C" > c.safe_checkpoint
      AND (SELECT value ->> 'is_ready' FROM ${own}._ponder_meta WHERE key = 'app') = '0'`;
  await throughOutage(() => run(statement));
}
