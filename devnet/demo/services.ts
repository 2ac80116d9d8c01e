import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { projectRoot, startIndexingService } from "../indexing-service.ts";
import { writeLabelsFile } from "../labels-file.ts";
import { chainNames, recordingFolder, v2Folder } from "../recorded-chains.ts";
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

const databaseIn = (folder: string) => join(folder, "labels.sqlite");

/** Writes what is known of the names, and `more` labels, into the database that the label service serves. */
export function writeDemoLabels(folder: string, more: readonly string[] = []): void {
  const recorded = chainNames.flatMap((name) => readLabels(recordingFolder(name)));
  writeLabelsFile(databaseIn(folder), [...recorded, ...reverseLabels, ...more]);
}

/** Starts the label service. */
export function startLabelService({ folder, labelsPort, environment }: DemoServices) {
  return startServiceProcess({
    name: "label service",
    args: [
      join(projectRoot, "labels-service/cli.ts"),
      ...["serve", "--database", databaseIn(folder), "--port", String(labelsPort)],
    ],
    cwd: folder,
    env: surroundings(environment),
  });
}

/** Starts the indexing service with every plugin of the chains or in subgraph mode, on a database in memory unless `settings` say otherwise. */
export function startIndex(
  { folder, port, labelsPort, environment }: DemoServices,
  { chains, world, settings }: { chains: DemoChains; world: DemoWorld; settings?: Environment },
) {
  // An empty working directory, so that no .env.local of the operator redirects it.
  const cwd = join(folder, "indexing");
  mkdirSync(cwd, { recursive: true });
  const datasources = world === "ensv2" ? join(v2Folder, "datasources.json") : demoDatasources;
  const ofWorld: Environment =
    world === "subgraph"
      ? { PLUGINS: "subgraph", SUBGRAPH_COMPAT: "true" }
      : { DATASOURCES_FILE: datasources };
  return startIndexingService({
    cwd,
    env: {
      ...surroundings(environment),
      NAMESPACE: "ens-test-env",
      ...ofWorld,
      ...Object.fromEntries(chains.map(({ node }) => [`RPC_URL_${node.chain.chainId}`, node.url])),
      LABELS_URL: `http://localhost:${labelsPort}`,
      PGLITE_DIRECTORY: "memory://",
      PORT: String(port),
      LOG_LEVEL: "warn",
      ...settings,
    },
  });
}

/** What any program needs of its environment; other settings do not reach the demo. */
function surroundings(environment: Environment): Environment {
  const names = ["PATH", "HOME", "TMPDIR", "TEMP", "TMP", "SystemRoot", "LANG"];
  return Object.fromEntries(names.map((name) => [name, environment[name]]));
}
