import { namehash } from "viem";
import { readConfig } from "./config/environment.ts";
import { contractSources } from "./config/sources.ts";
import { createSettings } from "./indexing/settings.ts";
import { openLabels } from "./labels/open-labels.ts";
import { processLog } from "./log.ts";
import { registerSubgraph } from "./plugins/subgraph.ts";

// The one file that acts on load: opens the labels and registers the indexing functions of the active plugins.

const config = readConfig();
const sources = contractSources(config);
const log = processLog();
const labels = await openLabels({ url: config.labelsUrl, ...config.labelSet, log });
const settings = createSettings(labels, {
  isSubgraphCompatible: config.isSubgraphCompatible,
  report: (report) => log("warn", "Skipped or repaired an odd event", report),
});

if (config.plugins.includes("subgraph")) {
  const managedName = config.datasources["ensroot"]?.managedName ?? "eth";
  registerSubgraph(settings, {
    isSource: (source) => source in sources,
    managed: { node: namehash(managedName), name: managedName },
  });
}
