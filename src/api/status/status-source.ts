import { randomUUID } from "node:crypto";
import type { Log } from "../../log/json-log.ts";
import { type BlockRef, readCheckpoints } from "../../ponder/checkpoints.ts";
import type { PonderProcess } from "../../ponder/process.ts";
import type { RowReader } from "../../ponder/sql-client.ts";
import type { StatusChain } from "./facts.ts";
import { createFindBlock, type FetchBlock } from "./facts.ts";
import { createIndexerStatus } from "./indexer-status.ts";
import {
  createSnapshotTable,
  createSnapshotView,
  type Reading,
  readSavedSnapshot,
  saveSnapshot,
} from "./saved-snapshot.ts";
import type { Snapshot } from "./snapshot.ts";
import { brokenInvariants } from "./snapshot.ts";

/** The snapshot in force, and its JSON text, which is built once. */
export type CurrentStatus = { snapshot: Snapshot; json: string };

/** Holds the current indexing status. */
export type StatusSource = {
  /** The snapshot in force, or undefined before the first. Never waits. */
  current(): CurrentStatus | undefined;
  /** Reads the status once. Never rejects: a reading that fails leaves the snapshot as it was. */
  refresh(): Promise<void>;
  /** Refreshes at once and then `intervalMs` after each reading, until `stop`. */
  start(intervalMs: number): void;
  stop(): void;
};

/**
 * Holds the newest valid snapshot in memory. A reading is dropped if it breaks an invariant, or if its cursor is before
 * that of the same run: a reorganization takes rows back for a moment, which the cursor hides. `log` gets each reason
 * once, until a reading succeeds again.
 */
export function createStatusSource({
  read,
  save,
  log,
}: {
  read: () => Promise<Reading | undefined>;
  /** Saves a reading that took effect for other processes. */
  save?: ((reading: Reading) => Promise<void>) | undefined;
  log: Log;
}): StatusSource {
  let current: (Reading & CurrentStatus) | undefined;
  let isOpen = true;
  let timer: NodeJS.Timeout | undefined;

  const logOnce = createOnceLogger((message) => {
    if (isOpen) log("warn", message);
  });

  const accept = async (reading: Reading) => {
    const faults = brokenInvariants(reading.snapshot);
    if (faults.length > 0) return `Dropped an indexing status: ${faults.join("; ")}.`;
    if (current !== undefined && goesBack(current, reading)) return undefined;
    current = { ...reading, json: JSON.stringify(reading.snapshot) };
    return save?.(reading).then(undefined, (error) => `Could not save the indexing status: ${reason(error)}`);
  };

  const refresh = async () => {
    const fault = await read().then(
      (reading) => reading && accept(reading),
      (error) => `Could not read the indexing status: ${reason(error)}`,
    );
    logOnce(fault ?? undefined);
  };

  const loop = async (intervalMs: number) => {
    await refresh();
    if (isOpen) timer = setTimeout(() => void loop(intervalMs), intervalMs).unref();
  };

  return {
    current: () => current,
    refresh,
    start: (intervalMs) => void loop(intervalMs),
    stop: () => {
      isOpen = false;
      clearTimeout(timer);
    },
  };
}

function createOnceLogger(log: (message: string) => void): (message: string | undefined) => void {
  let last: string | undefined;
  return (message) => {
    if (message !== undefined && message !== last) log(message);
    last = message;
  };
}

function reason(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function goesBack(before: Reading, after: Reading): boolean {
  return (
    before.run === after.run &&
    after.snapshot.slowestChainIndexingCursor < before.snapshot.slowestChainIndexingCursor
  );
}

const refreshMs = 1_000;
const statementMs = 30_000;

/** The one call that the status needs of a chain's client. Rejects with `BlockNotFoundError` for a block not there yet. */
export type BlockClient = {
  getBlock(options: { blockNumber: bigint }): Promise<{ number: bigint | null; timestamp: bigint }>;
};

/**
 * Starts to follow the indexing status of this process, or under `ponder serve` that of the indexing process, which
 * leaves its snapshot in the database each second. It stops with the process.
 */
export function openStatus(options: StatusOptions): StatusSource {
  const { process, database, log } = options;
  const status = process.isIndexer
    ? createStatusSource({
        read: indexerReader(options),
        // No other process can read an embedded database.
        save: process.isEmbedded ? undefined : createSaver(process),
        log,
      })
    : createStatusSource({
        read: () => readSavedSnapshot(database, AbortSignal.timeout(statementMs)),
        log,
      });
  status.start(refreshMs);
  process.onStop(status.stop);
  return status;
}

type StatusOptions = {
  process: PonderProcess;
  database: RowReader;
  /** By Ponder's names of the chains. */
  clients: Readonly<Record<string, BlockClient>>;
  chains: readonly StatusChain[];
  log: Log;
};

function indexerReader({ process, database, clients, chains, log }: StatusOptions) {
  const fetchBlock: FetchBlock = (chainId, number) => {
    const client = process.ofChain(clients, chainId);
    if (client === undefined) throw new Error(`Chain ${chainId} has no client.`);
    return fetchBlockRef(client, number);
  };
  // Without the reason: an RPC client's error may contain its URL, and with it a key.
  const onFailure = (chainId: number, number: number) =>
    log(
      "warn",
      `Could not fetch block ${number} of chain ${chainId} for the indexing status; will try again.`,
    );
  return createIndexerStatus({
    run: randomUUID(),
    chains,
    readCheckpoints: () => readCheckpoints(database, AbortSignal.timeout(statementMs)),
    readMetrics: process.readMetrics,
    findBlock: createFindBlock(fetchBlock, { onFailure }),
  });
}

async function fetchBlockRef(client: BlockClient, number: number): Promise<BlockRef | undefined> {
  try {
    const { timestamp } = await client.getBlock({ blockNumber: BigInt(number) });
    return { timestamp: Number(timestamp), number };
  } catch (error) {
    if (error instanceof Error && error.name === "BlockNotFoundError") return undefined;
    throw error;
  }
}

function createSaver({ write, schema, viewsSchema }: PonderProcess) {
  let hasTable = false;
  let hasView = viewsSchema === undefined;

  return async (reading: Reading): Promise<void> => {
    if (!hasTable) await createSnapshotTable(write, schema);
    hasTable = true;
    await saveSnapshot(write, schema, reading);

    // ponder: the schema of the views is created when the backfill is complete.
    const status = reading.snapshot.omnichainSnapshot.omnichainStatus;
    const isBackfilled = status === "omnichain-following" || status === "omnichain-completed";
    if (viewsSchema === undefined || hasView || !isBackfilled) return;
    await createSnapshotView(write, schema, viewsSchema);
    hasView = true;
  };
}
