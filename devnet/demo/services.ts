import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { projectRoot, startIndexingService } from "../indexing-service.ts";
import { subnameLabels } from "../life/scenario.ts";
import { chainNames, recordingFolder, v2DatasourcesFile } from "../recorded-chains.ts";
import { readLabels } from "../recording.ts";
import { startServiceProcess } from "../service-process.ts";
import type { DemoChains, DemoWorld } from "./chains.ts";
import { demoDatasources } from "./datasources.ts";
import { reverseLabels } from "./showcase.ts";

type Environment = Readonly<Record<string, string | undefined>>;

/** Where and how the services run. */
export type DemoServices = {
  /** Removed in the end. */
  folder: string;
  port: number;
  labelsPort: number;
  /** Environment of the programs; settings of the services in it do not reach them. */
  environment: Environment;
};

/** Starts to ingest what is known of the names into the database that the label service serves. */
export function startIngest({ folder, environment }: DemoServices) {
  const csv = join(folder, "labels.csv");
  const recorded = chainNames.flatMap((name) => readLabels(recordingFolder(name)));
  const labels = [...recorded, ...subnameLabels, ...reverseLabels];
  const quoted = labels.map((label) => `"${label.replaceAll('"', '""')}"\n`);
  writeFileSync(csv, quoted.join(""));
  const labelSet = ["--label-set-id", "subgraph", "--label-set-version", "0", "--format", "csv"];
  return startServiceProcess({
    name: "label ingest",
    args: [labelsProgram, "ingest", csv, "--database", databaseIn(folder), ...labelSet],
    cwd: folder,
    env: surroundings(environment),
  });
}

/** Starts the label service. */
export function startLabelService({ folder, labelsPort, environment }: DemoServices) {
  return startServiceProcess({
    name: "label service",
    args: [labelsProgram, "serve", "--database", databaseIn(folder), "--port", String(labelsPort)],
    cwd: folder,
    env: surroundings(environment),
  });
}

/** Starts the indexing service on an embedded database in memory, with every plugin of the chains or in subgraph mode. */
export function startIndex(
  { folder, port, labelsPort, environment }: DemoServices,
  { chains, world }: { chains: DemoChains; world: DemoWorld },
) {
  // An empty working directory, so that no .env.local of the operator redirects it.
  const cwd = join(folder, "indexing");
  mkdirSync(cwd);
  const datasources = join(cwd, "datasources.json");
  writeFileSync(datasources, world === "ensv2" ? v2DatasourcesFile() : demoDatasources());
  const settings: Record<DemoWorld, Environment> = {
    everything: { DATASOURCES_FILE: datasources },
    subgraph: { PLUGINS: "subgraph", SUBGRAPH_COMPAT: "true" },
    ensv2: { DATASOURCES_FILE: datasources },
  };
  return startIndexingService({
    cwd,
    env: {
      ...surroundings(environment),
      NAMESPACE: "ens-test-env",
      ...settings[world],
      ...Object.fromEntries(chains.map(({ node }) => [`RPC_URL_${node.chain.chainId}`, node.url])),
      LABELS_URL: `http://localhost:${labelsPort}`,
      PGLITE_DIRECTORY: "memory://",
      PORT: String(port),
      LOG_LEVEL: "warn",
    },
  });
}

const labelsProgram = join(projectRoot, "labels-service/cli.ts");
const databaseIn = (folder: string) => join(folder, "labels.sqlite");

/** What any program needs of its environment; other settings do not reach the demo. */
function surroundings(environment: Environment): Environment {
  const names = ["PATH", "HOME", "TMPDIR", "TEMP", "TMP", "SystemRoot", "LANG"];
  return Object.fromEntries(names.map((name) => [name, environment[name]]));
}
