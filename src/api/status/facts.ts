import {
  type BlockRef,
  type CheckpointRow,
  type Head,
  indexedBlock,
  parseCheckpoint,
} from "../../ponder/checkpoints.ts";
import type { SyncMetrics } from "../../ponder/process.ts";
import { type ChainFacts, createSnapshot, omnichainSnapshot, type Snapshot } from "./snapshot.ts";

/** One chain that is indexed: its id and its range of block numbers. */
export type StatusChain = { chainId: number; startBlock: number; endBlock?: number | undefined };

type Range = { startBlock: number; endBlock?: number | undefined };

/** A contract that is indexed: its block range on each chain, by the chain's name. */
export type RangedContract = { chain: Readonly<Record<string, Range>> };

/**
 * The range of each chain: from the lowest start of its contracts to the highest end, the latter only if every one of
 * them has an end. Chains without contracts are left out.
 */
export function statusChains(
  chains: readonly { id: number; name: string }[],
  contracts: readonly RangedContract[],
): StatusChain[] {
  return chains.flatMap(({ id, name }) => {
    const ranges = contracts.flatMap((contract) => contract.chain[name] ?? []);
    if (ranges.length === 0) return [];
    const ends = ranges.flatMap((range) => range.endBlock ?? []);
    return [
      {
        chainId: id,
        startBlock: Math.min(...ranges.map((range) => range.startBlock)),
        ...(ends.length === ranges.length ? { endBlock: Math.max(...ends) } : {}),
      },
    ];
  });
}

/** The end of a chain's range, if it has one; with its time once `snapshot` contains it. */
export function endOfChain(chain: StatusChain | undefined, snapshot: Snapshot | undefined): Head | undefined {
  if (chain?.endBlock === undefined) return undefined;
  const config = snapshot?.omnichainSnapshot.chains[chain.chainId]?.config;
  return config?.configType === "definite" ? config.endBlock : { number: chain.endBlock };
}

/** Looks up a block by its number, for its timestamp; undefined while it is not known (yet). */
export type FindBlock = (chainId: number, number: number) => BlockRef | undefined;

/** What the facts of every chain depend on; `endsAhead` as `findEndsAhead` gives. */
export type FactsContext = { endsAhead: ReadonlySet<number>; findBlock: FindBlock };

/** Facts of one chain, or undefined while the block that it starts at, or an end that it has passed, is not known. */
export function chainFacts(
  chain: StatusChain,
  row: CheckpointRow | undefined,
  metrics: SyncMetrics | undefined,
  { endsAhead, findBlock }: FactsContext,
): ChainFacts | undefined {
  const startBlock = startOf(chain, row) ?? findBlock(chain.chainId, chain.startBlock);
  if (startBlock === undefined) return undefined;

  const latestIndexedBlock = indexedOf(chain, row);
  const endBlock = endOf(chain, latestIndexedBlock, endsAhead, findBlock);
  // Blocks past the end are fetched but not indexed: a cursor that followed them would have to return to the end.
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
 * The second (Unix time) before which the events of all chains are processed, even where they have no block, or
 * undefined. Ponder restarts from one safe checkpoint for all chains, and it backfills all chains to one moment.
 */
export function processedBefore(
  facts: readonly ChainFacts[],
  rows: readonly CheckpointRow[],
  metrics: readonly SyncMetrics[],
): number | undefined {
  const times = rows.flatMap((row) => {
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

function indexedOf(chain: StatusChain, row: CheckpointRow | undefined): BlockRef | undefined {
  const block = row && indexedBlock(row);
  return block === undefined || block.number < chain.startBlock ? undefined : block;
}

// An end block that did not exist when the chain went live stays unknown, even once it is mined, until it is indexed:
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
  // Until Ponder has set where its backfill ends, the last finalized block in its table is the best known target.
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

/** Asks a node for a block by number: undefined if the chain has none of that number yet. Rejects if the node cannot respond. */
export type FetchBlock = (chainId: number, number: number) => Promise<BlockRef | undefined>;

const askAgainMs = 5_000;

/** Blocks whose timestamps the status needs: each is fetched in the background when it is requested, again every five seconds until it is there. */
export function createFindBlock(
  fetchBlock: FetchBlock,
  {
    clock = Date.now,
    onFailure,
  }: { clock?: () => number; onFailure: (chainId: number, number: number) => void },
): FindBlock {
  const found = new Map<string, BlockRef>();
  const askAgainAt = new Map<string, number>();

  const fetch = async (key: string, chainId: number, number: number) => {
    askAgainAt.set(key, Number.POSITIVE_INFINITY);
    try {
      const block = await fetchBlock(chainId, number);
      if (block !== undefined) found.set(key, block);
    } catch {
      onFailure(chainId, number);
    }
    askAgainAt.set(key, clock() + askAgainMs);
  };

  return (chainId, number) => {
    const key = `${chainId}:${number}`;
    const block = found.get(key);
    if (block === undefined && clock() >= (askAgainAt.get(key) ?? 0)) void fetch(key, chainId, number);
    return block;
  };
}

/** A snapshot that was read, when the indexing process reported it (Unix seconds), and how many seconds ago that was. */
export type Reading = { snapshot: Snapshot; reportedAt: number; age: number };

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
