import type { CheckpointRow } from "../../ponder/checkpoints.ts";
import type { SyncMetrics } from "../../ponder/process.ts";
import { chainFacts, type FindBlock, findEndsAhead, processedBefore, type StatusChain } from "./facts.ts";
import type { Reading } from "./saved-snapshot.ts";
import type { ChainFacts } from "./snapshot.ts";
import { createSnapshot, omnichainSnapshot } from "./snapshot.ts";

/**
 * Reader of the status inside the process that indexes: from Ponder's checkpoints and metrics and the blocks they name.
 * The reader gives undefined while the start of a chain is unknown or the chains fit no status. `clock`: milliseconds.
 */
export function createIndexerStatus({
  chains,
  readCheckpoints,
  readMetrics,
  findBlock,
  clock = Date.now,
}: {
  chains: readonly StatusChain[];
  readCheckpoints: () => Promise<readonly CheckpointRow[]>;
  readMetrics: () => Promise<ReadonlyMap<number, SyncMetrics>>;
  findBlock: FindBlock;
  clock?: () => number;
}): () => Promise<Reading | undefined> {
  let endsAhead: ReadonlySet<number> = new Set();

  return async () => {
    const rows = await readCheckpoints();
    const metrics = await readMetrics();

    const facts: ChainFacts[] = chains.flatMap((chain) => {
      const row = rows.find((candidate) => candidate.chainId === chain.chainId);
      return chainFacts(chain, row, metrics.get(chain.chainId), { endsAhead, findBlock }) ?? [];
    });
    if (facts.length < chains.length) return undefined;
    endsAhead = findEndsAhead(facts, chains, endsAhead);

    const before = processedBefore(facts, rows, [...metrics.values()]);
    const omnichain = omnichainSnapshot(facts, before);
    const now = Math.floor(clock() / 1000);
    return omnichain && { snapshot: createSnapshot(omnichain, now), reportedAt: now, age: 0 };
  };
}
