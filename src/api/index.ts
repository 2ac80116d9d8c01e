import { db, publicClients } from "ponder:api";
import type { Hono } from "hono";
import { readConfig } from "../config/environment.ts";
import { contractSources } from "../config/sources.ts";
import { indexedSubregistries } from "../deployments/issuers.ts";
import { labelDatabaseSchemaVersion } from "../labels/label-set.ts";
import { openLabels } from "../labels/open-labels.ts";
import { processLog } from "../log.ts";
import { createApi } from "./app.ts";
import { createDatabase, type SqlClient } from "./database/client.ts";
import { createSearchIndexesWhenReady, isBackfillOver } from "./database/search-indexes.ts";
import { namesContext } from "./endpoints/name-tokens.ts";
import { defaultGatewayLimits } from "./resolution/gateway.ts";
import { knownContracts } from "./resolution/known-contracts.ts";
import { watchLabelSource } from "./status/label-source.ts";
import { openStatus } from "./status/open-status.ts";
import { ponderProcess } from "./status/ponder-process.ts";
import { statusChains } from "./status/status-chains.ts";
import { readVersions } from "./status/versions.ts";
import { subgraphRoutes } from "./subgraph/routes.ts";
import { createSubgraph } from "./subgraph/subgraph.ts";

const config = readConfig();
const versions = readVersions();
const ponder = ponderProcess(globalThis);

const status = openStatus({
  process: ponder,
  db,
  clients: publicClients,
  chains: statusChains(config.chains, Object.values(contractSources(config))),
});

// ponder: the client is there, but not in the type that Ponder gives its read-only database.
const database = createDatabase((db as unknown as { $client: SqlClient }).$client);

const labels = openLabels({ url: config.labelsUrl, ...config.labelSet, log: processLog() });
const labelSource = watchLabelSource({
  describe: async () => (await labels).describe(),
  expectedSchemaVersion: labelDatabaseSchemaVersion,
  log: ponder.log,
});
ponder.onStop(() => {
  labelSource.stop();
  labels.then((source) => source.close()).catch(() => undefined); // An unopened source has nothing to close.
});

export default createApi({
  context: {
    config: { ...config, indexedChainIds: config.chains.map(({ id }) => id) },
    plugins: config.plugins,
    versions,
    labelSource: labelSource.current,
    status,
    database,
    clock: Date.now,
    subregistries: indexedSubregistries(config.datasources),
    names: namesContext(config.datasources, config.plugins),
    resolution: {
      known: knownContracts(config.datasources),
      clientOf,
      gatewayLimits: { ...defaultGatewayLimits, allowsPrivateHosts: config.allowsPrivateGateways },
      timeoutMs: 20_000,
    },
  },
  subgraph: config.plugins.includes("subgraph") ? openSubgraph() : undefined,
  log: ponder.log,
});

function clientOf(chainId: number) {
  return publicClients[ponder.chainNames.get(chainId) ?? ""];
}

function openSubgraph(): Hono {
  const client = clientOf(config.rootChainId);
  const { write } = ponder;
  if (write && ponder.isIndexer) {
    const stopMaking = createSearchIndexesWhenReady({
      isReady: () => isBackfillOver(database),
      connection: { query: (text) => write(text, []) },
      schema: config.databaseSchema,
      log: ponder.log,
    });
    ponder.onStop(stopMaking);
  }
  const subgraph = createSubgraph({
    database,
    chainId: config.rootChainId,
    deployment: versions.program,
    limits: config.subgraphLimits,
    blockOf: async (number) => {
      const block = await client?.getBlock({ blockNumber: BigInt(number) });
      return block && { hash: block.hash, parentHash: block.parentHash, timestamp: Number(block.timestamp) };
    },
  });
  return subgraphRoutes(subgraph);
}
