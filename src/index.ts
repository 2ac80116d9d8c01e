import { createAnomalyLog } from "./anomaly-log.ts";
import { readConfig } from "./config/environment.ts";
import type { PluginId } from "./config/plugins.ts";
import { contractSources } from "./config/sources.ts";
import { accelerationContracts } from "./datasources/acceleration-contracts.ts";
import { currencies } from "./datasources/currencies.ts";
import { managedNameOf, managedNames } from "./datasources/managed-names.ts";
import { tokenIssuers } from "./datasources/token-issuers.ts";
import { createSettings } from "./indexing/settings.ts";
import { openLabels } from "./labels/open-labels.ts";
import { processLog } from "./log.ts";
import { openMetrics } from "./metrics.ts";
import { registerBasenames } from "./plugins/basenames.ts";
import { registerLineanames } from "./plugins/lineanames.ts";
import { registerProtocolAcceleration } from "./plugins/protocol-acceleration.ts";
import { registerRegistrars } from "./plugins/registrars.ts";
import { registerSubgraph } from "./plugins/subgraph.ts";
import { registerThreedns } from "./plugins/threedns.ts";
import { registerTokenscope } from "./plugins/tokenscope.ts";

// The one file that acts on load: opens the labels and registers the indexing functions of the active plugins.

const config = readConfig();
const { datasources } = config;
const sources = contractSources(config);
const log = processLog();
const logAnomaly = createAnomalyLog(log);
const metrics = openMetrics();
const labels = await openLabels({ url: config.labelsUrl, ...config.labelSet, log });
const settings = createSettings(labels, {
  isSubgraphCompatible: config.isSubgraphCompatible,
  rootChainId: config.rootChainId,
  report: (report) => {
    metrics.countAnomaly(report.anomaly);
    logAnomaly(report);
  },
});
const isSource = (source: string) => source in sources;
const managedBy = (datasource: string) => managedNameOf(datasources, datasource);

const register: Record<PluginId, () => void> = {
  subgraph: () => registerSubgraph(settings, { isSource, managed: managedBy("ensroot") }),
  basenames: () => registerBasenames(settings, { isSource, managed: managedBy("basenames") }),
  lineanames: () => registerLineanames(settings, { isSource, managed: managedBy("lineanames") }),
  threedns: () =>
    registerThreedns(settings, {
      isSource,
      resolvers: {
        threednsOptimism: datasources["threednsOptimism"]?.contracts["Resolver"]?.address,
        threednsBase: datasources["threednsBase"]?.contracts["Resolver"]?.address,
      },
    }),
  registrars: () => registerRegistrars(settings, { isSource, managed: managedNames(datasources) }),
  "protocol-acceleration": () =>
    registerProtocolAcceleration(settings, { isSource, contracts: accelerationContracts(datasources) }),
  tokenscope: () =>
    registerTokenscope(settings, {
      isSource,
      issuers: tokenIssuers(datasources),
      currencyOf: currencies(datasources),
    }),
};
for (const plugin of config.plugins) register[plugin]();
