import { readConfig } from "./config/environment.ts";
import type { PluginId } from "./config/plugins.ts";
import { contractSources } from "./config/sources.ts";
import type { Namespace } from "./deployments/deployment.ts";
import { isContractOf, managedLabels, v2KnownContracts } from "./deployments/namespaces.ts";
import { type EventsOf, type LogsOf, registerHandlers, registerStrictHandlers } from "./handlers/on.ts";
import { createAnomalyLog } from "./indexing/anomalies.ts";
import { createHealer } from "./indexing/healing.ts";
import { createNodes } from "./indexing/node-reads.ts";
import { listLabelhashes } from "./indexing/prefetch-labels.ts";
import { multichainNaming, type Settings, subgraphNaming } from "./indexing/scope.ts";
import { openLabels } from "./labels/open-labels.ts";
import { seeOperations } from "./log/json-log.ts";
import { openMetrics } from "./metrics.ts";
import { registerBasenames } from "./plugins/basenames.ts";
import { registerEnsv2 } from "./plugins/ensv2.ts";
import { registerLineanames } from "./plugins/lineanames.ts";
import { registerProtocolAcceleration } from "./plugins/protocol-acceleration.ts";
import { registerRegistrars } from "./plugins/registrars.ts";
import { registerSubgraph } from "./plugins/subgraph.ts";
import { registerThreedns } from "./plugins/threedns.ts";
import { registerTokenscope } from "./plugins/tokenscope.ts";
import { processLog } from "./ponder/process.ts";
import { openSavedResults } from "./ponder/saved-results.ts";
import { shared } from "./ponder/shared.ts";
import { enlargeBatches, expectReplaced, readNeededColumns } from "./ponder/store.ts";

// This module has side effects on load: it opens the labels and registers the handlers of the active plugins.

const register: Record<PluginId, (events: EventsOf, namespace: Namespace, logs: LogsOf) => void> = {
  subgraph: registerSubgraph,
  basenames: registerBasenames,
  lineanames: registerLineanames,
  threedns: registerThreedns,
  ensv2: (_events, _namespace, logs) => registerEnsv2(logs),
  "protocol-acceleration": registerProtocolAcceleration,
  registrars: registerRegistrars,
  tokenscope: registerTokenscope,
};

const config = readConfig();
readNeededColumns();
enlargeBatches();
expectReplaced(config.ponderStores);
const sources = contractSources(config);
const log = processLog();
const logAnomaly = createAnomalyLog(log, shared().examples);
const metrics = openMetrics();
const labels = await openLabels({ url: config.labelsUrl, ...config.labelSet, log });
const managed = managedLabels(config.datasources);
const heal: Settings["heal"] = (labelhash) => managed.get(labelhash) ?? labels.heal(labelhash);
shared().prefetch = async (events) => labels.expect?.(listLabelhashes(events));
const naming = config.isSubgraphCompatible ? subgraphNaming : multichainNaming;
if (config.healsLabels)
  shared().healRows = createHealer({
    ...{ naming, heal },
    expect: async (labelhashes) => labels.expect?.(labelhashes),
  });
const settings: Settings = {
  naming,
  rootChainId: config.rootChainId,
  isV2Indexed: config.plugins.includes("ensv2"),
  v2: v2KnownContracts(config.datasources),
  heal,
  nodes: createNodes(config.chains, {
    onOutage: (chainId) =>
      log("warn", "No node of the chain responds; indexing waits for one", {
        chain_id: chainId,
        section: seeOperations("When a dependency is unavailable"),
      }),
  }),
  saved: openSavedResults({ areKept: config.keepsRpcCache }),
  isConfigured: isContractOf(config.datasources),
  report: (anomaly, { chainId, transactionHash, logIndex }) => {
    metrics.countAnomaly(anomaly);
    logAnomaly({ anomaly, chainId, transactionHash, logIndex });
  },
};
const isSource = (source: string) => source in sources;
const events = registerHandlers(settings, isSource);
const logs = registerStrictHandlers(settings, isSource);
for (const plugin of config.plugins) register[plugin](events, config.datasources, logs);
