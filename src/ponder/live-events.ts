import { type SQL, sql } from "drizzle-orm";
import { type BranchBlock, branchRows } from "./branch.ts";
import { headAt } from "./chain-order.ts";
import { moduleOfPonder } from "./expected.ts";
import { stateTable } from "./state.ts";

// What an index stores with each block and each reorganization that it follows (docs/ponder.md#branch-of-the-rows).

type LiveChain = { id: number; name: string };
type LiveSync = {
  syncProgress: { getCheckpoint(of: { tag: "finalized" }): string };
  unfinalizedBlocks: readonly BranchBlock[];
};
type LiveEventOptions = { perChainSync: ReadonlyMap<LiveChain, LiveSync> };
/** `checkpoint`: the position up to which rows exist. */
type LiveEvent = { type: "block" | "reorg" | "finalize"; chain: LiveChain; checkpoint: string };
/** `head`: the checkpoint of the chain's last block. `branch`: its blocks that a reorganization may replace. */
type BranchEvent = LiveEvent & { head: string; branch: readonly BranchBlock[] };
type OfPonder = { getRealtimeEventsOmnichain(given: LiveEventOptions): AsyncGenerator<LiveEvent> };
type WrappedTransaction = {
  wrap(
    query: (db: { execute(statement: SQL): PromiseLike<unknown> }) => PromiseLike<unknown>,
    context?: object,
  ): Promise<unknown>;
};

/**
 * Replaces Ponder's function of this name (cli/preload.mjs): each event has the branch of its chain.
 * ponder: events wait in a buffer, while the list of blocks goes on.
 */
export async function* getRealtimeEventsOmnichain(given: LiveEventOptions): AsyncGenerator<BranchEvent> {
  const { perChainSync } = given;
  const ofPonder = moduleOfPonder<OfPonder>("runtime/realtime.js", "getRealtimeEventsOmnichain");
  for await (const event of ofPonder.getRealtimeEventsOmnichain(given)) {
    const { type, chain, checkpoint } = event;
    const head = type === "reorg" ? headAt(perChainSync, chain, checkpoint) : checkpoint;
    yield { ...event, head, branch: perChainSync.get(chain)?.unfinalizedBlocks.slice() ?? [] };
  }
}

/**
 * Stores the branch of an event, in the transaction of its rows. After a reorganization the chain's checkpoint would
 * name a block whose rows are gone until the next block comes. It is set to the last block whose rows exist. The next
 * block may have the number and time of the block before; the count of reorganizations tells them apart.
 */
export async function storeBranch(
  tx: WrappedTransaction,
  { type, chain, head, branch }: BranchEvent,
  schema: string,
  context?: object,
): Promise<void> {
  const run = (statement: SQL) => tx.wrap((db) => db.execute(statement), context);
  const [own, table] = [sql.identifier(schema), sql.identifier(stateTable)];
  if (type === "reorg") {
    await run(sql`UPDATE ${own}._ponder_checkpoint SET latest_checkpoint = ${head}
      WHERE chain_id = ${chain.id} AND latest_checkpoint > ${head}`);
    await run(sql`INSERT INTO ${own}.${table} AS s VALUES ('reorganizations', '1', now())
      ON CONFLICT (id) DO UPDATE SET snapshot = to_json(s.snapshot::text::int + 1), saved_at = excluded.saved_at`);
  }
  await run(sql`INSERT INTO ${own}.${table}
    SELECT b.id, b.snapshot, now() FROM json_to_recordset(${branchRows(chain, branch, head)}::text::json) AS b (id text, snapshot json)
    ON CONFLICT (id) DO UPDATE SET snapshot = excluded.snapshot, saved_at = excluded.saved_at`);
}
