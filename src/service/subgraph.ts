import { createFrame, createSurround } from "../api/pages/frame.ts";
import { createSubgraph, subgraphRoutes } from "../api/subgraph/routes.ts";
import type { Config } from "../config/environment.ts";
import { contractSources } from "../config/sources.ts";
import { buildPosition, describePast, pastFromSql } from "../operations/past.ts";
import { branchSql, hasBlockSql } from "../ponder/branch.ts";
import { headNumberSql } from "../ponder/checkpoints.ts";
import { findV2Contracts } from "../read/names/v2-names.ts";
import { endOfChain, statusChains } from "../status/snapshot.ts";
import { missingBlocks } from "../status/types.ts";
import type { Readings } from "./readings.ts";
import type { Service } from "./service.ts";

/** Opens `/subgraph` for the root chain of an index. `schema`: of the index that is served. */
export function openSubgraph(
  { database, status, versions, blocks }: Service,
  config: Config,
  { healing, firstFrom, schema }: Pick<Readings, "healing" | "firstFrom"> & { schema(): string },
) {
  const { rootChainId: chainId } = config;
  const ranges = statusChains(config.chains, Object.values(contractSources(config)));
  const rootChain = ranges.find((chain) => chain.chainId === chainId);
  const subgraph = createSubgraph({
    database,
    chainId,
    deployment: versions.nsIndexer,
    limits: config.subgraphLimits,
    v2: config.plugins.includes("ensv2") ? findV2Contracts(config.datasources) : undefined,
    chainIds: config.chains.map(({ id }) => id),
    endBlock: () => endOfChain(rootChain, status.current()?.snapshot),
    hasErrors: () => status.current()?.stale !== undefined,
    reach: async (number, signal) => {
      const block = { chainId: String(chainId), number };
      return missingBlocks(block, await status.reach([block], signal)) <= 0;
    },
    edition: () => {
      const now = healing();
      if (now === undefined) return "";
      return now.part === "done" ? `-labels${now.to}` : undefined;
    },
    blocks,
    past: () => {
      const { schemas, isKept } = describePast(schema());
      return {
        ...{ fromSql: pastFromSql, branchSql: branchSql(chainId), start: rootChain?.startBlock ?? 0 },
        momentOf: ({ number, timestamp, hash }) => ({
          schemas,
          position: buildPosition(timestamp, config.chains.length === 1 ? { chainId, number } : undefined),
          isKept:
            `${isKept(timestamp)} AND ${headNumberSql(chainId)} >= ${number}` +
            (hash === undefined ? "" : ` AND ${hasBlockSql(chainId, { number, hash })}`),
        }),
        find: (...given) => blocks.find(chainId, ...given),
        firstFrom: (...given) => firstFrom(chainId, ...given),
      };
    },
  });
  return subgraphRoutes(
    subgraph,
    "/subgraph",
    createSurround(createFrame(versions.nsIndexer, true, config.site)),
  );
}
