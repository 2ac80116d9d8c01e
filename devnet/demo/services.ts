import { appendFileSync, chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { json } from "node:stream/consumers";
import { projectRoot, startIndexingService } from "../indexing-service.ts";
import { writeLabelsFile } from "../labels-file.ts";
import { chainNames, recordingFolder, v2Folder } from "../recorded-chains.ts";
import { readLabels } from "../recording.ts";
import { listen } from "../rpc/server.ts";
import { startServiceProcess } from "../service-process.ts";
import { type DemoChains, type DemoWorld, goLive, openChains } from "./chains.ts";
import { demoDatasources } from "./datasources.ts";
import { reverseLabels } from "./showcase.ts";

type Environment = Readonly<Record<string, string | undefined>>;

/** Where the services run. */
export type DemoServices = {
  port: number;
  labelsPort: number;
  /** Environment of the programs; settings of the services in it do not reach them. */
  environment: Environment;
};

type World = {
  world: DemoWorld;
  /** Settings of the index, which a private Postgres server stores unless they say otherwise. */
  settings?: Environment;
  /** Labels that are known beside those of the recordings. */
  labels?: readonly string[];
};

/** Live chains, a label service that knows their names, and an index of them, in a folder that `close` removes. */
export async function startServices(services: DemoServices, given: World) {
  const { environment, labelsPort } = services;
  const chains = await openChains[given.world]();
  const folder = mkdtempSync(join(environment["TMPDIR"] || tmpdir(), "name-index-demo-"));
  // The private Postgres server of a demo by root is another user's.
  chmodSync(folder, 0o711);
  const database = join(folder, "labels.sqlite");
  const recorded = chainNames.flatMap((name) => readLabels(recordingFolder(name)));
  writeLabelsFile(database, [...recorded, ...reverseLabels, ...(given.labels ?? [])]);
  // The index takes seconds until it looks at the chains: they go live in the meantime.
  const labels = startServiceProcess({
    name: "label service",
    args: [
      join(projectRoot, "labels-service/cli.ts"),
      ...["serve", "--database", database, "--port", String(labelsPort)],
    ],
    cwd: folder,
    env: surroundings(environment),
  });
  const hook = await openHook(folder);
  const settings = { WEBHOOKS_FILE: hook.file, ...given.settings };
  const index = startIndex(folder, services, chains, { ...given, settings });
  goLive(chains);
  return {
    ...{ chains, labels, index, received: hook.received },
    async close() {
      // The indexing service first: it releases its database lock while the chains are still there.
      for (const service of [index, labels]) await service.stop();
      for (const { close } of [hook, ...chains.map(({ node }) => node)]) await close();
      rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

type Message = { event: string; data?: { type?: string; name?: string } };

// A webhook of registrations, and what receives it: a line for each message in a file. It checks no signature, as a
// receiver should.
async function openHook(folder: string) {
  const [file, received] = [join(folder, "webhooks.json"), join(folder, "received.log")];
  const { url, close } = await listen(async (request, response) => {
    const messages = await json(request).catch(() => undefined);
    if (!Array.isArray(messages)) return void response.writeHead(400).end();
    for (const { event, data } of messages as Message[])
      appendFileSync(received, `${event}: ${data?.type ?? ""} ${data?.name ?? ""}\n`);
    response.writeHead(204).end();
  });
  const secret = `whsec_${Buffer.alloc(32).toString("base64")}`;
  const hook = { name: "demo", url, secret, filter: { type: "registration" }, allowPrivate: true };
  writeFileSync(file, JSON.stringify([hook]));
  writeFileSync(received, "");
  return { file, received, close };
}

// With every plugin of the chains, or in subgraph mode.
function startIndex(
  folder: string,
  { port, labelsPort, environment }: DemoServices,
  chains: DemoChains,
  { world, settings }: World,
) {
  // An empty working directory, so that no .env.local of the operator redirects it.
  const cwd = join(folder, "indexing");
  mkdirSync(cwd);
  const datasources = world === "ensv2" ? join(v2Folder, "datasources.json") : demoDatasources;
  const ofWorld: Environment =
    world === "subgraph"
      ? { PLUGINS: "subgraph", SUBGRAPH_COMPAT: "true" }
      : { DATASOURCES_FILE: datasources, METADATA: "true" };
  return startIndexingService({
    cwd,
    env: {
      ...surroundings(environment),
      NAMESPACE: "ens-test-env",
      ...ofWorld,
      ...Object.fromEntries(chains.map(({ node }) => [`RPC_URL_${node.chain.chainId}`, node.url])),
      LABELS_URL: `http://localhost:${labelsPort}`,
      DATABASE_FOLDER: join(folder, "postgres"),
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
