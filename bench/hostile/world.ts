import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { goLive, openChains } from "../../devnet/demo/chains.ts";
import { demoDatasources } from "../../devnet/demo/datasources.ts";
import { projectRoot, startIndexingService, waitWhileRunning } from "../../devnet/indexing-service.ts";
import { writeLabelsFile } from "../../devnet/labels-file.ts";
import { freePort } from "../../devnet/ports.ts";
import { chainNames, recordingFolder } from "../../devnet/recorded-chains.ts";
import { readLabels } from "../../devnet/recording.ts";
import { startServiceProcess } from "../../devnet/service-process.ts";
import { childrenOf } from "../../test/support/process-tree.ts";
import { startBenchPostgres } from "../postgres.ts";
import { longLabelLengths } from "./attacks/labels.ts";
import { type AddedRows, addRows } from "./rows.ts";

const schema = "hostile";

/** Both services as a user starts them, and what they depend on. */
export type World = Awaited<ReturnType<typeof startWorld>>;

/**
 * Starts Postgres, the live chains of the demo, the label service and the indexing service with all plugins, and adds rows to
 * the finished index.
 */
export async function startWorld(rows: AddedRows) {
  const folder = mkdtempSync(join(tmpdir(), "bench-hostile-"));
  const postgres = await startBenchPostgres();
  const chains = await openChains.everything();
  const [port, labelsPort] = [await freePort(), await freePort()];
  const inputs = writeInputs(folder);
  const urls = chains.map(({ node }) => [`RPC_URL_${node.chain.chainId}`, node.url]);
  const environment = { DATABASE_URL: postgres.url, DATABASE_SCHEMA: schema, ...Object.fromEntries(urls) };
  const start = () => startServices({ folder, port, labelsPort, inputs, environment });

  goLive(chains);
  let services = await start();
  await addRows({ url: postgres.url, schema }, rows);
  const pidOf = async (service: "index" | "labels") => {
    if (service === "index") return (await childrenOf(services.index.pid))[0];
    return services.labels.ending() === undefined ? services.labels.pid : undefined;
  };
  const stop = async () => {
    const pid = await pidOf("index");
    await services.index.stop("SIGINT", { patienceMs: 15_000 });
    await services.labels.stop("SIGTERM");
    // It has its own process group, and may be too busy to notice that its launcher has exited.
    if (pid !== undefined && existsSync(`/proc/${pid}`)) process.kill(pid, "SIGKILL");
  };
  return {
    port,
    labelsPort,
    schema,
    postgres,
    /** The process of a service; undefined while there is none. */
    pidOf,
    lastLines: () => services.index.lastLines(30),
    /** Restarts both services, as after an update; the index resumes where it was. */
    async restart() {
      await stop();
      services = await start();
    },
    async close() {
      await stop();
      await Promise.all(chains.map(({ node }) => node.close()));
      await postgres.stop();
      rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

function writeInputs(folder: string) {
  const labels = join(folder, "labels.sqlite");
  const recorded = chainNames.flatMap((name) => readLabels(recordingFolder(name)));
  writeLabelsFile(labels, [...recorded, ...longLabelLengths.map((length) => "x".repeat(length))]);
  const datasources = join(folder, "datasources.json");
  writeFileSync(datasources, demoDatasources());
  return { labels, datasources };
}

type Started = {
  folder: string;
  port: number;
  labelsPort: number;
  inputs: ReturnType<typeof writeInputs>;
  environment: Readonly<Record<string, string>>;
};

async function startServices({ folder, port, labelsPort, inputs, environment }: Started) {
  const surroundings = { PATH: process.env["PATH"], HOME: process.env["HOME"] };
  const serve = ["serve", "--port", String(labelsPort), "--host", "127.0.0.1", "--database", inputs.labels];
  const labels = startServiceProcess({
    name: "label service",
    args: [join(projectRoot, "labels-service/cli.ts"), ...serve],
    cwd: folder,
    env: surroundings,
  });
  const index = startIndexingService({
    cwd: folder,
    env: {
      ...surroundings,
      NAMESPACE: "ens-test-env",
      PLUGINS: "subgraph,basenames,lineanames,threedns,protocol-acceleration,registrars,tokenscope",
      DATASOURCES_FILE: inputs.datasources,
      LABELS_URL: `http://127.0.0.1:${labelsPort}`,
      PORT: String(port),
      ...environment,
    },
  });
  for (const one of [labelsPort, port]) {
    const look = async () => {
      const { status } = await fetch(`http://127.0.0.1:${one}/ready`, { signal: AbortSignal.timeout(5_000) });
      return status === 200 ? { done: true } : { state: `it answers ${status}` };
    };
    const limits = { timeoutMs: 240_000, everyMs: 250 };
    await waitWhileRunning([labels, index], `/ready on port ${one}`, look, limits);
  }
  return { labels, index };
}
