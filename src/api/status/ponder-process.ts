import { z } from "zod/v4";
import type { SyncMetrics } from "./facts.ts";
import type { WriteStatement } from "./saved-snapshot.ts";

type Gauge = { get(): Promise<{ values: { value: number; labels: Record<string, unknown> }[] }> };

const isFunction = (value: unknown) => typeof value === "function";
const gauge = z.custom<Gauge>((value) => isFunction((value as Gauge | undefined)?.get));
const shutdown = z.object({ add: z.custom<(stop: () => void) => void>(isFunction) });
const pool = z.custom<{ query: WriteStatement }>((value) => isFunction((value as { query?: unknown }).query));

// ponder: these globals are no public interface. They are checked here, so that a release which renames them fails
// at start with the name of what is missing, instead of answering a wrong status.
const globals = z.object({
  PONDER_COMMON: z.object({
    options: z.object({ command: z.string() }),
    logger: z.object({ warn: z.custom<(line: { msg: string }) => void>(isFunction) }),
    metrics: z.object({
      ponder_historical_total_blocks: gauge,
      ponder_historical_total_indexing_seconds: gauge,
      ponder_sync_block: gauge,
      ponder_sync_block_timestamp: gauge,
      ponder_sync_is_realtime: gauge,
      ponder_sync_is_complete: gauge,
    }),
    shutdown,
    apiShutdown: shutdown,
  }),
  PONDER_NAMESPACE_BUILD: z.object({ schema: z.string(), viewsSchema: z.string().optional() }),
  PONDER_INDEXING_BUILD: z.object({ chains: z.array(z.object({ id: z.number(), name: z.string() })) }),
  PONDER_DATABASE: z.object({ driver: z.object({ admin: pool.optional() }) }),
});

type Gauges = z.infer<typeof globals>["PONDER_COMMON"]["metrics"];

/** What the API may know of the Ponder process it runs in. */
export type PonderProcess = {
  /** False under `ponder serve`, where another process indexes. */
  isIndexer: boolean;
  schema: string;
  viewsSchema: string | undefined;
  chainNames: ReadonlyMap<number, string>;
  /** Sync figures by chain id, as they are now. */
  readMetrics(): Promise<ReadonlyMap<number, SyncMetrics>>;
  /** Runs SQL with the right to write; absent on PGlite, which no other process can read. */
  write: WriteStatement | undefined;
  log(message: string): void;
  /** Calls `stop` when the process ends and when `ponder dev` loads the API anew. */
  onStop(stop: () => void): void;
};

/** Reads Ponder's globals, which are set before it loads the API. Throws if one of them is missing. */
export function ponderProcess(scope: unknown): PonderProcess {
  const { PONDER_COMMON, PONDER_NAMESPACE_BUILD, PONDER_INDEXING_BUILD, PONDER_DATABASE } =
    globals.parse(scope);
  const { metrics, options, logger } = PONDER_COMMON;
  const chains = PONDER_INDEXING_BUILD.chains;
  const admin = PONDER_DATABASE.driver.admin;

  return {
    isIndexer: options.command !== "serve",
    schema: PONDER_NAMESPACE_BUILD.schema,
    viewsSchema: PONDER_NAMESPACE_BUILD.viewsSchema,
    chainNames: new Map(chains.map(({ id, name }) => [id, name])),
    readMetrics: () => readSyncMetrics(metrics, chains),
    write: admin && ((text, values) => admin.query(text, values)),
    log: (msg) => logger.warn({ msg }),
    onStop: (stop) => {
      PONDER_COMMON.shutdown.add(stop);
      PONDER_COMMON.apiShutdown.add(stop);
    },
  };
}

async function readSyncMetrics(
  gauges: Gauges,
  chains: readonly { id: number; name: string }[],
): Promise<ReadonlyMap<number, SyncMetrics>> {
  const totalBlocks = await figures(gauges.ponder_historical_total_blocks);
  const totalSeconds = await figures(gauges.ponder_historical_total_indexing_seconds);
  const syncBlock = await figures(gauges.ponder_sync_block);
  const syncBlockTimestamp = await figures(gauges.ponder_sync_block_timestamp);
  const isRealtime = await figures(gauges.ponder_sync_is_realtime);
  const isComplete = await figures(gauges.ponder_sync_is_complete);
  return new Map(
    chains.map(({ id, name }) => [
      id,
      {
        historicalTotalBlocks: totalBlocks.get(name),
        historicalTotalSeconds: totalSeconds.get(name),
        syncBlock: syncBlock.get(name),
        syncBlockTimestamp: syncBlockTimestamp.get(name),
        isRealtime: isRealtime.get(name) === 1,
        isComplete: isComplete.get(name) === 1,
      },
    ]),
  );
}

async function figures(gauge: Gauge): Promise<ReadonlyMap<unknown, number>> {
  const { values } = await gauge.get();
  return new Map(values.map(({ value, labels }) => [labels["chain"], value]));
}
