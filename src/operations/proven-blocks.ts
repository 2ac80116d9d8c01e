import { createTable, hasTable, type Statement } from "../ponder/sql-client.ts";
import { finalizedBlock } from "./finalized-blocks.ts";

const table = "ponder_sync.proven_from";

/**
 * Stores from which block of each chain on all logs of cache and index are proven: the first that both lack when an
 * indexer first needs proofs. An indexer that needs none forgets it, since it adds unproven blocks.
 */
export async function keepProvenFrom(
  run: Statement,
  { schema, chainIds, needsProofs }: { schema: string; chainIds: readonly number[]; needsProofs: boolean },
): Promise<void> {
  if (!needsProofs) {
    if (await hasTable(run, table))
      await run(`DELETE FROM ${table} WHERE chain_id = ANY($1::bigint[])`, [chainIds]);
    return;
  }
  await createTable(run, `${table} (chain_id bigint PRIMARY KEY, block bigint NOT NULL)`);
  for (const chainId of chainIds) {
    const last = (await finalizedBlock(run, schema, chainId)) ?? -1;
    await run(`INSERT INTO ${table} VALUES ($1, $2) ON CONFLICT DO NOTHING`, [chainId, last + 1]);
  }
}

/** By chain id, the block from which on all logs are proven; undefined if no indexer needs proofs. */
export async function readProvenFrom(
  row: (sql: string) => Promise<readonly (string | null)[]>,
): Promise<Record<string, number> | undefined> {
  const [exists] = await row(`SELECT to_regclass('${table}')::text`);
  if (!exists) return undefined;
  const [text] = await row(`SELECT json_object_agg(chain_id, block)::text FROM ${table}`);
  return text ? JSON.parse(text) : undefined;
}
