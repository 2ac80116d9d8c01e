import { readReindexed, writeHealed } from "../feed/log.ts";
import { keepHealing } from "../operations/heal-labels.ts";
import { readStatuses } from "../operations/stored-indexes.ts";
import { shared } from "../ponder/shared.ts";
import { hasWaitingBlocks } from "../status/status.ts";
import type { Service } from "./service.ts";

/**
 * Starts healing, if rows lack labels that the configured version of the label set has. Adds the names that handlers
 * heal to `healed`.
 */
export async function startHealing({ config, ponder, log, status, isBackfilling, running }: Service) {
  const { write: run, schema } = ponder;
  const { labels, feed } = await readStatuses(run, schema);
  const { healRows } = shared();
  if (labels === undefined || labels.part === "done" || healRows === undefined) {
    shared().healRows = undefined;
    return undefined;
  }
  const { healed } = running;
  // Nobody has read names of a first backfill.
  const hasFeed = feed !== undefined;
  for (const node of await readReindexed(run, schema)) healed.set(node, undefined);
  shared().healRows = async (table, rows) => {
    const after = await healRows(table, rows);
    for (const [at, row] of after.entries())
      if (table === "domain" && row !== rows[at] && (hasFeed || !isBackfilling()))
        healed.set(String(row["id"]), row["name"] as string | null);
    return after;
  };
  const { isSubgraphCompatible, rootChainId: chainId, blockRange } = config;
  running.isHealing = true;
  return keepHealing({
    ...{ run, schema, healRows, isSubgraphCompatible, log },
    inTransaction: ponder.inOwnTransaction,
    onHealed: (own, nodes) => writeHealed(own, schema, nodes),
    root: { chainId, endBlock: blockRange.endBlock },
    isReady: () => !isBackfilling() && running.indexBuild?.isComplete() === true,
    isBehind: () => hasWaitingBlocks(status.current()?.snapshot),
    onDone: () => {
      running.isHealing = false;
      running.coverage?.soon();
      shared().healRows = undefined;
    },
  });
}
