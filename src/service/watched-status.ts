import { createUnverifiedWatch } from "../operations/cache.ts";
import { createChainWatches } from "../operations/finalized-blocks.ts";
import { shared } from "../ponder/shared.ts";
import { backfilledBlocks } from "../status/snapshot.ts";
import { openStatus } from "../status/status.ts";
import { isBackfilled } from "../status/types.ts";
import type { Core } from "./core.ts";

/** Follows the status of the index, which a chain that contradicts it or a range that was not verified makes stale. */
export function openWatchedStatus(core: Core) {
  const { config, ponder, log, database, blocks, chains, registry, readSaved } = core;
  const { write: run, schema } = ponder;
  const watches = ponder.isIndexer
    ? [
        ...createChainWatches(config.chains, { run, schema, log }),
        createUnverifiedWatch(run, schema, { shared: shared(), log }),
      ]
    : [];
  for (const { start } of watches) ponder.onStop(start());
  const status = openStatus({
    ...{ process: ponder, log, database, chains, registry, readSaved, findBlock: blocks.peekTime },
    fault: () => watches.map(({ fault }) => fault()).find((fault) => fault !== undefined),
  });
  core.whenServerFails(status.refresh);
  shared().backfill = () => {
    const snapshot = status.current()?.snapshot;
    return snapshot && backfilledBlocks(snapshot.omnichainSnapshot.chains);
  };
  /** Whether the backfill goes on; also true until the status is known. */
  const isBackfilling = () => {
    const current = status.current();
    return current === undefined || !isBackfilled(current.snapshot);
  };
  return { status, isBackfilling };
}
