import { randomUUID } from "node:crypto";
import { type BlockRef, readCheckpoints } from "../../ponder/checkpoints.ts";
import type { PonderProcess } from "../../ponder/process.ts";
import type { RowReader } from "../../ponder/sql-client.ts";
import type { StatusChain } from "./facts.ts";
import { createFindBlock, type FetchBlock } from "./find-block.ts";
import { createIndexerStatus } from "./indexer-status.ts";
import {
  createSnapshotTable,
  createSnapshotView,
  readSavedSnapshot,
  saveSnapshot,
} from "./saved-snapshot.ts";
import { createStatusSource, type Reading, type StatusSource } from "./status-source.ts";

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
export function openStatus({
  process,
  database,
  clients,
  chains,
}: {
  process: PonderProcess;
  database: RowReader;
  /** By Ponder's names of the chains. */
  clients: Readonly<Record<string, BlockClient>>;
  chains: readonly StatusChain[];
}): StatusSource {
  const status = process.isIndexer
    ? createStatusSource({
        read: indexerReader(process, database, clients, chains),
        // No other process can read an embedded database.
        save: process.isEmbedded ? undefined : createSaver(process),
        log: process.log,
      })
    : createStatusSource({
        read: () => readSavedSnapshot(database, AbortSignal.timeout(statementMs)),
        log: process.log,
      });
  status.start(refreshMs);
  process.onStop(status.stop);
  return status;
}

function indexerReader(
  process: PonderProcess,
  database: RowReader,
  clients: Readonly<Record<string, BlockClient>>,
  chains: readonly StatusChain[],
): () => Promise<Reading | undefined> {
  const fetchBlock: FetchBlock = (chainId, number) => {
    const client = process.ofChain(clients, chainId);
    if (client === undefined) throw new Error(`Chain ${chainId} has no client.`);
    return fetchBlockRef(client, number);
  };
  // Without the reason: an RPC client's error may contain its URL, and with it a key.
  const onFailure = (chainId: number, number: number) =>
    process.log(
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
