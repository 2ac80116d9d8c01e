import type { BlockRef } from "./block.ts";
import type { ChainFacts } from "./chain.ts";
import { parseCheckpoint } from "./checkpoint.ts";

/** One chain that is indexed: its id and its range of block numbers. */
export type StatusChain = { chainId: number; startBlock: number; endBlock?: number | undefined };

/** A row of Ponder's `_ponder_checkpoint`; `version` changes with every write to the row. */
export type CheckpointRow = {
  chainId: number;
  latestCheckpoint: string;
  safeCheckpoint: string;
  finalizedCheckpoint: string;
  version: string;
};

/** Ponder's own record of its progress, read at one moment. `isReady`: the backfill of all chains is complete. */
export type CheckpointState = { isReady: boolean; rows: readonly CheckpointRow[] };

/** What Ponder's metrics say of one chain's sync; a number is absent until Ponder has set it. */
export type SyncMetrics = {
  historicalTotalBlocks?: number | undefined;
  historicalTotalSeconds?: number | undefined;
  syncBlock?: number | undefined;
  syncBlockTimestamp?: number | undefined;
  isRealtime: boolean;
  isComplete: boolean;
};

/** Looks up a block whose timestamp is wanted: the block, or undefined while it is not known (yet). */
export type FindBlock = (chainId: number, number: number) => BlockRef | undefined;

/** By chain id, checkpoint rows that an earlier run wrote and whose `latestCheckpoint` no longer holds. */
export type StaleRows = ReadonlyMap<number, CheckpointRow>;

/**
 * The rows whose `latestCheckpoint` is left over from before a restart. Ponder then takes the tables back to
 * `safeCheckpoint` but leaves the row alone until it next writes it; in its backfill it writes both alike.
 */
export function findStaleRows(state: CheckpointState, known: StaleRows): StaleRows {
  const stale = state.isReady
    ? state.rows.filter((row) => isStillStale(row, known.get(row.chainId)))
    : state.rows.filter((row) => row.latestCheckpoint !== row.safeCheckpoint);
  return new Map(stale.map((row) => [row.chainId, row]));
}

// A live block rewrites the row, maybe with the same block as before the restart. Finalization rewrites it too, but
// leaves the head as it was.
function isStillStale(row: CheckpointRow, stale: CheckpointRow | undefined): boolean {
  if (stale === undefined || row.latestCheckpoint !== stale.latestCheckpoint) return false;
  return row.version === stale.version || row.finalizedCheckpoint !== stale.finalizedCheckpoint;
}

/** What the facts of every chain depend on; `endsAhead` as `findEndsAhead` tells. */
export type FactsContext = {
  isReady: boolean;
  staleRows: StaleRows;
  endsAhead: ReadonlySet<number>;
  findBlock: FindBlock;
};

/** Facts of one chain, or undefined while the block that it starts at, or an end that it has passed, is not known. */
export function chainFacts(
  chain: StatusChain,
  row: CheckpointRow | undefined,
  metrics: SyncMetrics | undefined,
  { isReady, staleRows, endsAhead, findBlock }: FactsContext,
): ChainFacts | undefined {
  const startBlock = startOf(chain, row) ?? findBlock(chain.chainId, chain.startBlock);
  if (startBlock === undefined) return undefined;

  const latestIndexedBlock = indexedOf(chain, row, isReady, staleRows);
  const endBlock = endOf(chain, latestIndexedBlock, endsAhead, findBlock);
  // Blocks past the end are fetched but not indexed: a cursor that had followed them would have to go back to the end.
  const isPastEnd = chain.endBlock !== undefined && (latestIndexedBlock?.number ?? 0) > chain.endBlock;
  if (isPastEnd && endBlock === undefined) return undefined;

  const backfillEndBlock = backfillEndOf(chain, row, metrics, findBlock);
  return {
    chainId: chain.chainId,
    startBlock,
    endBlock,
    backfillEndBlock,
    latestIndexedBlock,
    latestKnownBlock: knownOf(chain, metrics) ?? backfillEndBlock,
    sync: syncOf(metrics),
  };
}

/** The chains that follow their head towards an end block which does not exist yet, added to those `known` before. */
export function findEndsAhead(
  facts: readonly ChainFacts[],
  chains: readonly StatusChain[],
  known: ReadonlySet<number>,
): ReadonlySet<number> {
  const ahead = facts.filter((fact) => {
    const end = chains.find((chain) => chain.chainId === fact.chainId)?.endBlock;
    return end !== undefined && fact.endBlock === undefined && fact.sync === "live";
  });
  return new Set([...known, ...ahead.map((fact) => fact.chainId)]);
}

/**
 * The second (Unix time) before which the events of all chains are processed, also where no block of theirs says so, or
 * undefined. Ponder restarts from one safe checkpoint for all chains, and it backfills all chains to one moment.
 */
export function processedBefore(
  facts: readonly ChainFacts[],
  state: CheckpointState,
  metrics: readonly SyncMetrics[],
): number | undefined {
  const times = state.rows.flatMap((row) => {
    const safe = parseCheckpoint(row.safeCheckpoint);
    // The first checkpoint of a chain is its start, or a finalized block that lies before it.
    const start = facts.find((chain) => chain.chainId === safe.chainId)?.startBlock.number ?? 0;
    return safe.isStart || safe.block.number < start ? [] : [safe.block.timestamp];
  });
  if (metrics.some((chain) => chain.isRealtime || chain.isComplete))
    times.push(backfilledBefore(facts, metrics));
  return times.length === 0 ? undefined : Math.max(...times);
}

function startOf(chain: StatusChain, row: CheckpointRow | undefined): BlockRef | undefined {
  if (row === undefined) return undefined;
  const { block } = parseCheckpoint(row.latestCheckpoint);
  return block.number === chain.startBlock ? block : undefined;
}

function indexedOf(
  chain: StatusChain,
  row: CheckpointRow | undefined,
  isReady: boolean,
  staleRows: StaleRows,
): BlockRef | undefined {
  if (row === undefined) return undefined;
  const isHeadValid = isReady && !staleRows.has(chain.chainId);
  // ponder: a safe checkpoint may be one of another chain. It then tells up to when this chain is processed, but not
  // up to which block; the last block known to be that old is its own latest, if that is old enough.
  const isOwnSafe = parseCheckpoint(row.safeCheckpoint).chainId === chain.chainId;
  if (!isHeadValid && !isOwnSafe && row.latestCheckpoint > row.safeCheckpoint) return undefined;

  const checkpoint = parseCheckpoint(isHeadValid || !isOwnSafe ? row.latestCheckpoint : row.safeCheckpoint);
  return checkpoint.isStart || checkpoint.block.number < chain.startBlock ? undefined : checkpoint.block;
}

// An end block that was not there when the chain went live is not told, even once it is mined, until it is indexed:
// a chain that follows its head must not fall back to backfill.
function endOf(
  chain: StatusChain,
  indexed: BlockRef | undefined,
  endsAhead: ReadonlySet<number>,
  findBlock: FindBlock,
): BlockRef | undefined {
  if (chain.endBlock === undefined) return undefined;
  if (indexed?.number === chain.endBlock) return indexed;
  const isReached = indexed !== undefined && indexed.number >= chain.endBlock;
  if (endsAhead.has(chain.chainId) && !isReached) return undefined;
  return findBlock(chain.chainId, chain.endBlock);
}

function backfillEndOf(
  chain: StatusChain,
  row: CheckpointRow | undefined,
  metrics: SyncMetrics | undefined,
  findBlock: FindBlock,
): BlockRef | undefined {
  const total = metrics?.historicalTotalBlocks;
  const target = total ? findBlock(chain.chainId, chain.startBlock + total - 1) : undefined;
  if (target !== undefined || row === undefined) return target;
  // Until Ponder has said where its backfill ends, the last finalized block that it noted is the best known target.
  const finalized = parseCheckpoint(row.finalizedCheckpoint);
  const isUsable = finalized.chainId === chain.chainId && finalized.block.number >= chain.startBlock;
  return isUsable ? finalized.block : undefined;
}

// ponder: number and timestamp belong together only for live blocks. In the backfill the number may run ahead alone.
function knownOf(chain: StatusChain, metrics: SyncMetrics | undefined): BlockRef | undefined {
  if (metrics?.syncBlock === undefined || metrics.syncBlockTimestamp === undefined) return undefined;
  const backfillEnd = chain.startBlock + (metrics.historicalTotalBlocks ?? 0) - 1;
  if (metrics.syncBlock <= backfillEnd) return undefined;
  return { timestamp: metrics.syncBlockTimestamp, number: metrics.syncBlock };
}

function syncOf(metrics: SyncMetrics | undefined): ChainFacts["sync"] {
  if (metrics?.isComplete) return "complete";
  return metrics?.isRealtime ? "live" : "backfill";
}

// ponder: the figure is the same for every chain, counted from the earliest start to where the backfill of all ends.
// That is the last end of all chains, and then its second is processed whole. Or it is the earliest finalized block of
// all, and then chains of a higher id may have events of the same second that come after it.
function backfilledBefore(facts: readonly ChainFacts[], metrics: readonly SyncMetrics[]): number {
  const seconds = Math.max(...metrics.map((chain) => chain.historicalTotalSeconds ?? 0));
  const time = Math.min(...facts.map((chain) => chain.startBlock.timestamp)) + seconds;
  const ends = facts.map(({ sync, endBlock }) => (sync === "complete" ? endBlock?.timestamp : undefined));
  const lastEnd = Math.max(...ends.map((end) => end ?? Number.POSITIVE_INFINITY));
  return time === lastEnd ? time + 1 : time;
}
