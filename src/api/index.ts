import { db, publicClients } from "ponder:api";
import { readConfig } from "../config/environment.ts";
import { contractSources } from "../config/sources.ts";
import { labelDatabaseSchemaVersion } from "../labels/label-set.ts";
import { openLabels } from "../labels/open-labels.ts";
import { createApi } from "./app.ts";
import { watchLabelSource } from "./label-source.ts";
import { openStatus } from "./status/open-status.ts";
import { ponderProcess } from "./status/ponder-process.ts";
import { statusChains } from "./status/status-chains.ts";
import { readVersions } from "./versions.ts";

const config = readConfig();
const process = ponderProcess(globalThis);

const status = openStatus({
  process,
  db,
  clients: publicClients,
  chains: statusChains(config.chains, Object.values(contractSources(config))),
});

const labels = openLabels({
  url: config.labelsUrl,
  ...config.labelSet,
  log: (_level, line) => process.log(line),
});
const labelSource = watchLabelSource({
  describe: async () => (await labels).describe(),
  expectedSchemaVersion: labelDatabaseSchemaVersion,
  log: process.log,
});
process.onStop(() => {
  labelSource.stop();
  labels.then((source) => source.close()).catch(() => undefined); // An unopened source has nothing to close.
});

export default createApi({
  config: { ...config, indexedChainIds: config.chains.map(({ id }) => id) },
  versions: readVersions(),
  labelSource: labelSource.current,
  status,
  pluginRoutes: [],
  log: process.log,
});
