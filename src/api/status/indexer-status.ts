import type { ChainFacts } from "./chain.ts";
import {
  type CheckpointState,
  chainFacts,
  type FindBlock,
  findEndsAhead,
  findStaleRows,
  processedBefore,
  type StaleRows,
  type StatusChain,
  type SyncMetrics,
} from "./facts.ts";
import { omnichainSnapshot } from "./omnichain.ts";
import { createSnapshot } from "./snapshot.ts";
import type { Reading } from "./status-source.ts";

/**
 * Reader of the status inside the process that indexes: from Ponder's checkpoints and metrics and the blocks they name.
 * The reader gives undefined while the start of a chain is unknown or the chains fit no status. `clock`: milliseconds.
 */
export function createIndexerStatus({
  run,
  chains,
  readCheckpoints,
  readMetrics,
  findBlock,
  clock = Date.now,
}: {
  run: string;
  chains: readonly StatusChain[];
  readCheckpoints: () => Promise<CheckpointState>;
  readMetrics: () => Promise<ReadonlyMap<number, SyncMetrics>>;
  findBlock: FindBlock;
  clock?: () => number;
}): () => Promise<Reading | undefined> {
  let staleRows: StaleRows = new Map();
  let endsAhead: ReadonlySet<number> = new Set();

  return async () => {
    const state = await readCheckpoints();
    const metrics = await readMetrics();
    staleRows = findStaleRows(state, staleRows);

    const context = { isReady: state.isReady, staleRows, endsAhead, findBlock };
    const facts: ChainFacts[] = chains.flatMap((chain) => {
      const row = state.rows.find((candidate) => candidate.chainId === chain.chainId);
      return chainFacts(chain, row, metrics.get(chain.chainId), context) ?? [];
    });
    if (facts.length < chains.length) return undefined;
    endsAhead = findEndsAhead(facts, chains, endsAhead);

    const before = processedBefore(facts, state, [...metrics.values()]);
    const omnichain = omnichainSnapshot(facts, before);
    return omnichain && { run, snapshot: createSnapshot(omnichain, Math.floor(clock() / 1000)) };
  };
}
