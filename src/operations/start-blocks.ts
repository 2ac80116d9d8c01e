import { buildCheckpointParts } from "../ponder/checkpoints.ts";
import type { StartBlock } from "../ponder/shared.ts";
import { createTable, hasTable, quoted, type Statement } from "../ponder/sql-client.ts";

// Beside the cache, so that a purge removes these blocks too. `owner` is the schema of an index; `final_at` is the time
// of a final block.
const table = `ponder_sync.start_blocks
  (owner text NOT NULL, chain_id bigint NOT NULL, number bigint NOT NULL, final_at bigint, block json NOT NULL)`;

/** Replaces the blocks of a chain that the next start of an index asks for. */
export async function saveStartBlocks(
  run: Statement,
  { owner, chainId, blocks }: { owner: string; chainId: number; blocks: readonly StartBlock[] },
): Promise<void> {
  await createTable(run, table);
  const kept = blocks.map((block) => ({
    number: Number(block.number),
    final_at: block.newest === undefined ? null : Number(block.timestamp),
    block,
  }));
  await run(
    `WITH gone AS (DELETE FROM ponder_sync.start_blocks WHERE owner = $1 AND chain_id = $2)
    INSERT INTO ponder_sync.start_blocks SELECT $1, $2::bigint, number, final_at, block
      FROM json_to_recordset($3::json) AS kept (number bigint, final_at bigint, block json)`,
    [owner, chainId, JSON.stringify(kept)],
  );
}

/**
 * The kept blocks by chain id, of the chains that the index has followed. The first is final, and not before what the
 * index holds as final. Those of other indexes are among them: they share the cache, which Ponder may have to name the
 * last block of.
 */
export async function readStartBlocks(run: Statement, owner: string): Promise<Record<string, StartBlock[]>> {
  const checkpoints = `${quoted(owner)}._ponder_checkpoint`;
  for (const name of ["ponder_sync.start_blocks", checkpoints]) if (!(await hasTable(run, name))) return {};
  const isFirst = `coalesce(owner = $1 AND final_at >= ${buildCheckpointParts("finalized_checkpoint").time}::bigint, false)`;
  const { rows } = await run(
    `SELECT chain_id::text AS chain, json_agg(block ORDER BY ${isFirst} DESC, number)::text AS blocks
    FROM ponder_sync.start_blocks JOIN ${checkpoints} USING (chain_id) GROUP BY chain_id HAVING bool_or(${isFirst})`,
    [owner],
  );
  return Object.fromEntries(rows.map(({ chain, blocks }) => [chain, JSON.parse(String(blocks))]));
}
