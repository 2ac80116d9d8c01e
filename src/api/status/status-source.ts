import { setTimeout as pause } from "node:timers/promises";
import { Gauge, type Registry } from "prom-client";
import { z } from "zod/v4";
import { type Log, seeOperations } from "../../log/json-log.ts";
import { saveStatus } from "../../operations/stored-indexes.ts";
import { readCheckpoints } from "../../ponder/checkpoints.ts";
import type { PonderProcess } from "../../ponder/process.ts";
import type { RowReader } from "../../ponder/sql-client.ts";
import {
  type BlockClient,
  createFindBlock,
  createIndexerStatus,
  isBackfilled,
  type Reading,
  type Snapshot,
  type StatusChain,
  snapshotSchema,
} from "./snapshot.ts";

/** Since when (Unix seconds) the index cannot be relied on, and why, as a sentence. */
export type Staleness = { since: number; reason: string };

/** The newest snapshot; `stale` if it is too old, or contradicted by the chain. */
export type CurrentStatus = { snapshot: Snapshot; stale?: Staleness | undefined };

/** Holds the current indexing status. */
export type StatusSource = ReturnType<typeof createStatusSource>;

// The indexing process reports each second; some seconds late if it is busy or the database is slow.
const staleAfterMs = 30_000;

type SourceOptions = {
  read: () => Promise<Reading | undefined>;
  /** Saves a reading for other processes. */
  save?: ((snapshot: Snapshot) => Promise<void>) | undefined;
  /** Why the index cannot be relied on although it is being indexed; undefined if it can. */
  fault?: (() => Staleness | undefined) | undefined;
  log: Log;
  clock?: () => number;
};

/**
 * Creates a source that holds the newest snapshot and knows when it is stale. A `fault` makes it stale at once, and keeps it from being
 * saved, so that it becomes stale for readers. `log` gets each reason why a reading or saving fails once, until a reading succeeds. `clock`
 * returns milliseconds from any start.
 */
export function createStatusSource({
  read,
  save,
  fault,
  log,
  clock = () => performance.now(),
}: SourceOptions) {
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

  /** Reads the status once. Never rejects: a reading that fails leaves the snapshot as it was. */
  const refresh = async () => {
    let [verb, failure] = ["read", undefined as string | undefined];
    try {
      const reading = await read();
      if (reading !== undefined) {
        const { snapshot, reportedAt, age } = reading;
        latest = { snapshot, reportedAt: clock() - age * 1_000, ifStale: stalenessSince(reportedAt) };
        verb = "save";
        if (fault?.() === undefined) await save?.(snapshot);
      }
    } catch (error) {
      failure = `Could not ${verb} the indexing status: ${error instanceof Error ? error.message : error}`;
    }
    const stale = current()?.stale;
    if (isOpen) {
      if (failure !== undefined && failure !== lastFailure) log("warn", failure);
      if (stale && !wasStale) log("error", stale.reason, sectionOf(stale));
      if (wasStale && !stale) log("info", "The index is no longer stale.");
    }
    lastFailure = failure;
    wasStale = stale !== undefined;
  };

  return {
    current,
    refresh,
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

function stalenessSince(since: number): Staleness {
  const time = new Date(since * 1_000).toISOString().replace(".000", "");
  return {
    since,
    reason: `The index is stale: no progress has been reported by its indexing process since ${time}.`,
  };
}

const refreshMs = 1_000;
const statementMs = 30_000;

/**
 * Follows the indexing status of this process, or under `ponder serve` the snapshots that the indexing process saves each second. Stops
 * with the process. `registry` gets its metrics.
 */
export function openStatus({
  process: { isIndexer, isEmbedded, write, schema, ofChain, readMetrics, onStop },
  database,
  clients,
  chains,
  fault,
  log,
  registry,
}: Pick<SourceOptions, "fault" | "log"> & {
  process: PonderProcess;
  database: RowReader;
  /** By Ponder's chain names. */
  clients: Readonly<Record<string, BlockClient>>;
  chains: readonly StatusChain[];
  registry?: Registry | undefined;
}): StatusSource {
  const signal = () => AbortSignal.timeout(statementMs);
  const findBlock = createFindBlock((chainId) => ofChain(clients, chainId), { log });
  const own = { chains, readCheckpoints: () => readCheckpoints(database, signal()), readMetrics, findBlock };
  const status = createStatusSource({
    read: isIndexer ? createIndexerStatus(own) : () => readSavedSnapshot(database, signal()),
    // No other process can read an embedded database.
    save:
      isIndexer && !isEmbedded ? (snapshot) => saveStatus(write, schema, "indexing", snapshot) : undefined,
    fault: isIndexer ? fault : undefined,
    log,
  });
  if (registry !== undefined) showStatus(registry, status);
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
    (status) => status && Math.max(0, nowSeconds() - status.snapshot.slowestChainIndexingCursor),
  ],
  [
    "nsindex_index_is_backfilled",
    "1 once the backfill is complete",
    (status) => status && Number(isBackfilled(status.snapshot)),
  ],
];

function showStatus(registry: Registry, { current }: StatusSource): void {
  for (const [name, help, read] of metrics) {
    // A hot reload loads this module again over the same registry.
    registry.removeSingleMetric(name);
    new Gauge({
      name,
      help,
      registers: [registry],
      collect() {
        this.remove();
        const value = read(current());
        if (value !== undefined) this.set(value);
      },
    });
  }
}

// The reason of a chain that contradicts the index names its own section.
const sectionOf = ({ reason }: Staleness) =>
  reason.includes("docs/operations.md") ? {} : { section: seeOperations("While something is away") };

const savedReading = z.object({ snapshot: snapshotSchema, reportedAt: z.int(), age: z.number() });

// The saved snapshot; undefined if no indexing process has saved one. Throws if it is malformed.
async function readSavedSnapshot(database: RowReader, signal: AbortSignal): Promise<Reading | undefined> {
  const [exists] = await database.row("select to_regclass('_indexing_status')::text", [], signal);
  if (typeof exists !== "string") return undefined;
  const [text] = await database.row(
    // Both times are of the database, so that no other clock decides how old a snapshot is.
    `select json_build_object('snapshot', snapshot, 'reportedAt', floor(extract(epoch from saved_at)),
      'age', extract(epoch from now() - saved_at))::text from _indexing_status where id = 'indexing'`,
    [],
    signal,
  );
  return typeof text === "string" ? savedReading.parse(JSON.parse(text)) : undefined;
}
