import { rowSettings } from "../config/row-settings.ts";
import { createFeed } from "../feed/log.ts";
import { installChecksums } from "../operations/checksums.ts";
import { beginHealing } from "../operations/heal-labels.ts";
import { installPast } from "../operations/past.ts";
import { keepProvenFrom } from "../operations/proven-blocks.ts";
import { describeIndex } from "../operations/stored-indexes.ts";
import { forgetBranches, restoreHeads } from "../ponder/checkpoints.ts";
import { shared } from "../ponder/shared.ts";
import { reachedFunction } from "../read/names/v2-walk.ts";
import { createFigures } from "../read/stats/count.ts";
import type { Core } from "./core.ts";

/**
 * Prepares the schema of an index: what it is, and the tables and functions beside Ponder's.
 * ponder: loads the API after it has reverted the tables to the safe checkpoint, and before it indexes and serves.
 */
export async function prepareIndex(core: Core): Promise<void> {
  const { config, versions } = core;
  const { write: run, schema } = core.ponder;
  await restoreHeads(run, schema);
  const { firstLabelSetVersion: from, labelSet, chains, needsProofs } = config;
  if (config.healsLabels) await beginHealing(run, schema, { from, to: labelSet.labelSetVersion });
  await describeIndex(run, schema, {
    release: versions.nsIndexer,
    namespace: config.namespace,
    plugins: config.plugins,
    settings: rowSettings(config),
  });
  await forgetBranches(run, schema);
  await installChecksums(run, schema);
  await keepProvenFrom(run, { schema, chainIds: chains.map(({ id }) => id), needsProofs });
  await run(reachedFunction(schema));
  await createFeed(run, schema);
  await createFigures(run, schema);
  const since = config.historyBlocks === "all" ? 0 : await historyBegin(core);
  shared().past = await installPast(run, schema, { since, functions: reachedFunction });
}

/** The second before which no former rows are kept; undefined if none are. */
export async function historyBegin({
  config,
  ponder,
  clients,
  readBlock,
}: Core): Promise<number | undefined> {
  const { historyBlocks, rootChainId, blockRange } = config;
  if (typeof historyBlocks !== "number") return undefined;
  const client = ponder.ofChain(clients, rootChainId);
  const newest = Number(await client?.getBlockNumber());
  // Its blocks cannot be read. What was kept before stays.
  if (shared().silentChains.has(rootChainId)) return 0;
  const number = Math.max(0, Math.min(newest, blockRange.endBlock ?? newest) - historyBlocks);
  return (await readBlock(rootChainId, { number }))?.timestamp;
}
