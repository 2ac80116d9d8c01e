import { setTimeout as pause } from "node:timers/promises";
import type { Registry } from "prom-client";
import { z } from "zod/v4";
import { type Log, seeOperations } from "../log/json-log.ts";
import { saveStatus } from "../operations/stored-indexes.ts";
import {
  type CheckpointRow,
  checkpointsSql,
  indexedBlock,
  indexedHead,
  joinHeads,
  readCheckpoints,
} from "../ponder/checkpoints.ts";
import { addGauge } from "../ponder/gauge.ts";
import type { PonderProcess, SyncMetrics } from "../ponder/process.ts";
import type { RowReader } from "../ponder/sql-client.ts";
import { stateTable } from "../ponder/state.ts";
import {
  backfilledBefore,
  buildSnapshot,
  chainFacts,
  type FindBlock,
  findSlowest,
  higherBlock,
  omnichainCursor,
  type StatusChain,
} from "./snapshot.ts";
import {
  type CurrentStatus,
  type HeadBlocks,
  isBackfilled,
  missingBlocks,
  type Snapshot,
  type Staleness,
  snapshotSchema,
  type WantedBlock,
} from "./types.ts";

// How far the index is on each chain, as one snapshot that is kept current. The facts come from src/ponder; snapshot.ts
// derives the snapshot from them without reading anything.

const collectHeadBlocks = (rows: readonly CheckpointRow[]): HeadBlocks =>
  Object.fromEntries(rows.flatMap((row) => [[row.chainId, indexedHead(row)]]).filter(([, head]) => head));

/**
 * A snapshot, the heads that it was read with (`joinHeads`), when the indexing process reported it (Unix seconds), and
 * how many seconds ago.
 */
export type Reading = {
  snapshot: Snapshot;
  heads: string;
  blocks?: HeadBlocks;
  reportedAt: number;
  age: number;
};

type IndexerFacts = {
  chains: readonly StatusChain[];
  readCheckpoints: () => Promise<readonly CheckpointRow[]>;
  readMetrics: () => Promise<ReadonlyMap<number, SyncMetrics>>;
  findBlock: FindBlock;
  clock?: () => number;
};

/**
 * Creates the status reader of the indexing process. It returns undefined while facts are unknown or fit no status.
 * `clock`: milliseconds.
 */
export function createIndexerStatus(facts: IndexerFacts): () => Promise<Reading | undefined> {
  const { chains, readCheckpoints, readMetrics, findBlock, clock = Date.now } = facts;
  return async () => {
    const rows = await readCheckpoints();
    const metrics = await readMetrics();
    const found = chains.flatMap((chain) => {
      const row = rows.find((candidate) => candidate.chainId === chain.chainId);
      return chainFacts(chain, row, metrics.get(chain.chainId), findBlock) ?? [];
    });
    if (found.length < chains.length) return undefined;
    const now = Math.floor(clock() / 1000);
    const snapshot = buildSnapshot(found, now, backfilledBefore(found, [...metrics.values()]));
    return (
      snapshot && {
        snapshot,
        heads: joinHeads(rows),
        blocks: collectHeadBlocks(rows),
        reportedAt: now,
        age: 0,
      }
    );
  };
}

/** Holds the current indexing status. */
export type StatusSource = ReturnType<typeof createStatusSource>;

// The indexing process reports each second; some seconds late if it is busy or the database is slow.
const staleAfterMs = 30_000;

// For how long a request waits for blocks that the index lacks, how often they are looked for, and how many may be
// missing.
const reachMs = 2_000;
const reachPauseMs = 200;
const maxMissing = 32;

/** Whether a live chain has more than one block that is not indexed yet. */
export const hasWaitingBlocks = (snapshot: Snapshot | undefined): boolean =>
  Object.values(snapshot?.omnichainSnapshot.chains ?? {}).some(
    (chain) =>
      chain.chainStatus === "chain-following" &&
      chain.latestKnownBlock.number - chain.latestIndexedBlock.number > 1,
  );

type SourceOptions = {
  read: () => Promise<Reading | undefined>;
  /** Reads the heads that the tables have now (`joinHeads`). */
  readHeads: () => Promise<string>;
  /** Saves a reading for other processes. */
  save?: ((snapshot: Snapshot) => Promise<void>) | undefined;
  /** Why the index cannot be relied on although it is being indexed; undefined if it can. */
  fault?: (() => Staleness | undefined) | undefined;
  log: Log;
  clock?: () => number;
};

/**
 * Creates a source that holds the newest snapshot and knows when it is stale. A `fault` makes it stale at once, and
 * keeps it from being saved, so that it becomes stale for readers. `log` gets each reason why a reading or saving fails
 * once, until a reading succeeds. `clock` returns milliseconds from any start.
 */
export function createStatusSource({
  read,
  readHeads,
  save,
  fault,
  log,
  clock = () => performance.now(),
}: SourceOptions) {
  const headsFromNow = shareNextReading(readHeads);
  let latest: (CurrentStatus & { reportedAt: number; ifStale: Staleness }) | undefined;
  let isOpen = true;
  let lastFailure: string | undefined;
  let wasStale = false;

  /** The newest snapshot; undefined before the first. Never waits. */
  const current = (): CurrentStatus | undefined => {
    if (latest === undefined) return undefined;
    const { omnichainStatus } = latest.snapshot.omnichainSnapshot;
    // A completed index needs no indexing process.
    const isSilent = clock() - latest.reportedAt > staleAfterMs && omnichainStatus !== "omnichain-completed";
    const stale = fault?.() ?? (isSilent ? latest.ifStale : undefined);
    return stale === undefined ? latest : { ...latest, stale };
  };

  const readOnce = async () => {
    let [verb, failure] = ["read", undefined as string | undefined];
    try {
      const reading = await read();
      if (reading !== undefined) {
        const { reportedAt, age, snapshot } = reading;
        latest = { ...reading, reportedAt: clock() - age * 1_000, ifStale: describeStaleness(reportedAt) };
        verb = "save";
        if (fault?.() === undefined) await save?.(snapshot);
      }
    } catch (error) {
      failure = `Could not ${verb} the indexing status: ${error instanceof Error ? error.message : error}`;
    }
    const stale = current()?.stale;
    if (isOpen) {
      if (failure !== undefined && failure !== lastFailure) log("warn", failure);
      if (stale && !wasStale) log("error", stale.reason, fault?.() === undefined ? outage : {});
      if (wasStale && !stale) log("info", "The index is no longer stale.");
    }
    lastFailure = failure;
    wasStale = stale !== undefined;
  };

  let reading: Promise<void> | undefined;
  /**
   * Reads the status, once for all who ask meanwhile. Never rejects: a reading that fails leaves the snapshot as it
   * was.
   */
  const refresh = () => {
    reading ??= readOnce().finally(() => {
      reading = undefined;
    });
    return reading;
  };

  return {
    current,
    refresh,
    /** The status itself if rows that were read since it are of its blocks, else a newer one. */
    async confirm(known: CurrentStatus): Promise<CurrentStatus> {
      const heads = await headsFromNow();
      if (heads === known.heads) return known;
      if (latest?.heads !== heads) await refresh();
      return current() ?? known;
    },
    /**
     * The status once it has these blocks, else the newest one after two seconds or, if a block is far ahead, at once.
     */
    reach: (blocks: readonly WantedBlock[], signal: AbortSignal): Promise<CurrentStatus | undefined> =>
      reach(blocks, signal, { current, refresh, clock }),
    /** Refreshes at once and then `intervalMs` after each reading, until `stop`. */
    async start(intervalMs: number) {
      while (isOpen) {
        await refresh();
        await pause(intervalMs, undefined, { ref: false });
      }
    },
    stop: () => {
      isOpen = false;
    },
  };
}

async function reach(
  blocks: readonly WantedBlock[],
  signal: AbortSignal,
  { current, refresh, clock }: Pick<StatusSource, "current" | "refresh"> & { clock: () => number },
): Promise<CurrentStatus | undefined> {
  const until = clock() + reachMs;
  for (;;) {
    const found = current();
    const behind = Math.max(...blocks.map((block) => missingBlocks(block, found)));
    if (behind <= 0 || behind > maxMissing || clock() > until || signal.aborted) return found;
    await pause(reachPauseMs, undefined, { ref: false });
    await refresh();
  }
}

// Reads what holds after the call, once for all who ask while an earlier reading lasts.
function shareNextReading<T>(read: () => Promise<T>): () => Promise<T> {
  let running: Promise<unknown> = Promise.resolve();
  let next: Promise<T> | undefined;
  const begin = () => {
    next = undefined;
    const reading = read();
    running = reading;
    return reading;
  };
  return () => {
    next ??= running.then(begin, begin);
    return next;
  };
}

function describeStaleness(since: number): Staleness {
  const time = new Date(since * 1_000).toISOString().replace(".000", "");
  return {
    since,
    reason: `The index is stale: no progress has been reported by its indexing process since ${time}.`,
  };
}

const refreshMs = 1_000;
const statementMs = 30_000;

/**
 * Follows the indexing status of this process, or under `ponder serve` the snapshots that the indexing process saves
 * each second. Stops with the process. `registry` gets its metrics.
 */
export function openStatus({
  process: { isIndexer, write, schema, readMetrics, onStop },
  database,
  findBlock,
  chains,
  fault,
  log,
  registry,
  readSaved = () =>
    readSavedSnapshot({ row: (...given) => database.row(...given, AbortSignal.timeout(statementMs)) }),
}: Pick<SourceOptions, "fault" | "log"> & {
  process: PonderProcess;
  /** Reads what the indexing process has saved; by default from `database`. */
  readSaved?: (() => Promise<SavedReading | undefined>) | undefined;
  database: RowReader;
  findBlock: FindBlock;
  chains: readonly StatusChain[];
  registry?: Registry | undefined;
}): StatusSource {
  const signal = () => AbortSignal.timeout(statementMs);
  const readRows = () => readCheckpoints(database, signal());
  const own = { chains, readCheckpoints: readRows, readMetrics, findBlock };
  const status = createStatusSource({
    read: isIndexer ? createIndexerStatus(own) : async () => restoreReading(await readSaved()),
    readHeads: async () => joinHeads(await readRows()),
    save: isIndexer ? (snapshot) => saveStatus(write, schema, "indexing", snapshot) : undefined,
    fault: isIndexer ? fault : undefined,
    log,
  });
  for (const [name, help, read] of metrics)
    addGauge(registry, { name, help }, (gauge) => {
      gauge.remove();
      const value = read(status.current());
      if (value !== undefined) gauge.set(value);
    });
  void status.start(refreshMs);
  onStop(status.stop);
  return status;
}

const nowSeconds = () => Math.floor(Date.now() / 1_000);

// An unknown value is undefined.
const metrics: [name: string, help: string, read: (status?: CurrentStatus) => number | undefined][] = [
  [
    "nsindex_index_stale_seconds",
    "Seconds for which the index has been stale; 0 if it is not",
    (status) => (status?.stale === undefined ? 0 : nowSeconds() - status.stale.since),
  ],
  [
    "nsindex_index_distance_seconds",
    "Seconds from the time up to which every chain is indexed until now",
    (status) => status && Math.max(0, nowSeconds() - findSlowest(status.snapshot).time),
  ],
  [
    "nsindex_index_is_backfilled",
    "1 once the backfill is complete",
    (status) => status && Number(isBackfilled(status.snapshot)),
  ],
];

// A fault's reason names its own section.
const outage = { section: seeOperations("When a dependency is unavailable") };

// The snapshot is saved each second, the rows of a chain that is followed are those of its head.
function restoreReading(saved: SavedReading | undefined): Reading | undefined {
  if (saved === undefined) return undefined;
  const { snapshot, checkpoints } = saved;
  const chains = { ...snapshot.omnichainSnapshot.chains };
  for (const row of checkpoints) {
    const [chain, head] = [chains[row.chainId], indexedBlock(row)];
    if (chain?.chainStatus !== "chain-following" || head === undefined) continue;
    const latestKnownBlock = higherBlock(head, chain.latestKnownBlock);
    chains[row.chainId] = { ...chain, latestIndexedBlock: head, latestKnownBlock };
  }
  const cursor = omnichainCursor(Object.values(chains));
  const of = {
    slowestChainIndexingCursor: cursor,
    snapshotTime: Math.max(snapshot.snapshotTime, cursor),
    omnichainSnapshot: { ...snapshot.omnichainSnapshot, chains, omnichainIndexingCursor: cursor },
  };
  return {
    ...saved,
    heads: joinHeads(checkpoints),
    blocks: collectHeadBlocks(checkpoints),
    snapshot: { ...snapshot, ...of },
  };
}

const savedReading = z.object({
  snapshot: snapshotSchema,
  checkpoints: z.array(z.custom<CheckpointRow>()),
  reportedAt: z.int(),
  age: z.number(),
  savedAt: z.number(),
});

/** A snapshot that the indexing process has saved; `savedAt` is its exact time in milliseconds. */
export type SavedReading = z.output<typeof savedReading>;

type ReadRow = (sql: string, values: readonly string[]) => Promise<(string | null)[]>;

/** The saved snapshot; undefined if no indexing process has saved one. Throws if it is malformed. */
export async function readSavedSnapshot({ row }: { row: ReadRow }): Promise<SavedReading | undefined> {
  const [exists] = await row(`select to_regclass('${stateTable}')::text`, []);
  if (typeof exists !== "string") return undefined;
  const [text] = await row(
    // Both times are of the database, so that no other clock decides how old a snapshot is.
    `select json_build_object('snapshot', snapshot, 'checkpoints', coalesce(${checkpointsSql}, '[]'), 'reportedAt', floor(extract(epoch from saved_at)),
      'age', extract(epoch from now() - saved_at), 'savedAt', extract(epoch from saved_at) * 1000)::text
      from ${stateTable} where id = 'indexing'`,
    [],
  );
  return typeof text === "string" ? savedReading.parse(JSON.parse(text)) : undefined;
}
