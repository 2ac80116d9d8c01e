import { createAnomalyLog } from "./anomaly-log.ts";
import { readConfig } from "./config/environment.ts";
import type { PluginId } from "./config/plugins.ts";
import { contractSources } from "./config/sources.ts";
import { managedNameOf } from "./datasources/managed-names.ts";
import { createSettings } from "./indexing/settings.ts";
import { openLabels } from "./labels/open-labels.ts";
import { processLog } from "./log.ts";
import { openMetrics } from "./metrics.ts";
import { registerSubgraph } from "./plugins/subgraph.ts";

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
  report: (report) => {
    metrics.countAnomaly(report.anomaly);
    logAnomaly(report);
  },
});
const isSource = (source: string) => source in sources;

const register: Partial<Record<PluginId, () => void>> = {
  subgraph: () => registerSubgraph(settings, { isSource, managed: managedNameOf(datasources, "ensroot") }),
};
for (const plugin of config.plugins) register[plugin]?.();
