import { sql } from "ponder";
import { z } from "zod/v4";
import type { CheckpointState } from "./facts.ts";

/** A database handle that runs one SQL statement; drizzle's, of Postgres or PGlite. */
export type StatementRunner = { execute(statement: ReturnType<typeof sql>): Promise<{ rows: unknown[] }> };

const stateRow = z.object({
  is_ready: z.boolean(),
  chain_id: z.coerce.number().int().nullable(),
  latest_checkpoint: z.string().nullable(),
  safe_checkpoint: z.string().nullable(),
  finalized_checkpoint: z.string().nullable(),
  version: z.string().nullable(),
});

/** Ponder's progress as its own two tables tell it at one moment: no rows before its first event handlers have run. */
export async function readCheckpoints(db: StatementRunner): Promise<CheckpointState> {
  const { rows } = await db.execute(sql`
    select coalesce(m.value->>'is_ready' = '1', false) as is_ready, c.chain_id::text as chain_id,
      c.latest_checkpoint, c.safe_checkpoint, c.finalized_checkpoint, c.xmin::text as version
    from _ponder_meta m left join _ponder_checkpoint c on true
    where m.key = 'app' order by c.chain_id`);
  const parsed = z.array(stateRow).parse(rows);
  return {
    isReady: parsed[0]?.is_ready ?? false,
    rows: parsed.flatMap((row) => {
      const { chain_id, latest_checkpoint, safe_checkpoint, finalized_checkpoint, version } = row;
      if (chain_id === null || latest_checkpoint === null || safe_checkpoint === null) return [];
      if (finalized_checkpoint === null || version === null) return [];
      return [
        {
          chainId: chain_id,
          latestCheckpoint: latest_checkpoint,
          safeCheckpoint: safe_checkpoint,
          finalizedCheckpoint: finalized_checkpoint,
          version,
        },
      ];
    }),
  };
}
