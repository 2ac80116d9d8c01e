import { hasTable, type Statement } from "../ponder/sql-client.ts";
import type { RpcLog } from "../rpc/log-answers.ts";
import { type BlockRange, toHex } from "../rpc/nodes.ts";

// Logs in Ponder's cache, and which it has all of.

/** Logs that the cache has all of in some blocks: of a contract, of those that a factory deployed, or of all; by topics, of which null is any. */
export type CachedFilter = {
  address: string | undefined;
  factory: { factory: string; event: string } | undefined;
  topics: (string | null)[];
  ranges: BlockRange[];
};

/** The filters of a chain's cache. ponder: one is stored as "log_<chain>_<address>_<four topics>_<receipts>", its blocks a to b as [a, b + 1]. */
export async function cachedFilters(run: Statement, chainId: number): Promise<CachedFilter[]> {
  if (!(await hasTable(run, "ponder_sync.intervals"))) return [];
  const { rows } = await run(
    "SELECT fragment_id AS id, blocks::text FROM ponder_sync.intervals WHERE chain_id = $1 AND starts_with(fragment_id, 'log_')",
    [chainId],
  );
  return rows.map(({ id, blocks }) => {
    const parts = String(id).split("_");
    const [address = "null", event] = parts.slice(2, -5);
    const intervals = JSON.parse(`[${String(blocks).slice(1, -1)}]`) as [number, number][];
    return {
      address: event !== undefined || address === "null" ? undefined : address,
      factory: event === undefined ? undefined : { factory: address, event },
      topics: parts.slice(-5, -1).map((topic) => (topic === "null" ? null : topic)),
      ranges: intervals.map(([from, end]) => ({ from, to: end - 1 })),
    };
  });
}

/** The contracts that factories deployed by an event, and the blocks of their deployment. */
export async function cachedChildren(
  run: Statement,
  chainId: number,
  event: string,
): Promise<Map<string, number>> {
  const { rows } = await run(
    `SELECT lower(address) AS address, min(block_number)::text AS block FROM ponder_sync.factory_addresses child
    JOIN ponder_sync.factories ON factories.id = child.factory_id
    WHERE child.chain_id = $1 AND factory ->> 'eventSelector' = $2 GROUP BY 1 ORDER BY 1`,
    [chainId, event],
  );
  return new Map(rows.map(({ address, block }) => [String(address), Number(block)]));
}

/** The first cached logs of a range, in order, as a node returns them. */
export async function cachedLogs(
  run: Statement,
  chainId: number,
  { from, to }: BlockRange,
  most = Number.MAX_SAFE_INTEGER,
): Promise<RpcLog[]> {
  const { rows } = await run(
    `SELECT block_number::text AS block, log_index, block_hash, transaction_hash, transaction_index, address, data,
      array_remove(ARRAY[topic0, topic1, topic2, topic3], NULL) AS topics
    FROM ponder_sync.logs WHERE chain_id = $1 AND block_number BETWEEN $2 AND $3 ORDER BY block_number, log_index LIMIT $4`,
    [chainId, from, to, most],
  );
  return rows.map((row) => ({
    blockNumber: toHex(Number(row["block"])),
    logIndex: toHex(Number(row["log_index"])),
    blockHash: String(row["block_hash"]),
    transactionHash: String(row["transaction_hash"]),
    transactionIndex: toHex(Number(row["transaction_index"])),
    address: String(row["address"]),
    data: String(row["data"]),
    topics: row["topics"] as string[],
  }));
}
