import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { demoScreen } from "./demo-screen.ts";
import { type DevNode, startNode } from "./node.ts";
import { isPortFree } from "./ports.ts";
import { readAddresses, readLabels, readRecording } from "./recording.ts";
import { type ServiceProcess, startServiceProcess } from "./service-process.ts";
import { WaitError, waitFor } from "./wait.ts";

const root = fileURLToPath(new URL("..", import.meta.url));
const recordingFolder = join(root, "devnet/recording/a");

// Ponder considers the last 30 blocks of this chain not final: with 31 new blocks all recorded ones are final.
const recentBlocks = 31;
const secondsPerBlock = 2;
const startTimeoutMs = 300_000;

export type DemoOptions = {
  /** Port of the indexing service. */
  port: number;
  labelsPort: number;
  /** Environment of the programs. Of the service's settings, PLUGINS and SUBGRAPH_COMPAT may be chosen. */
  environment: Readonly<Record<string, string | undefined>>;
  write: (line: string) => void;
  /** Ends the demo. */
  signal: AbortSignal;
};

/**
 * Runs the complete system on one machine: a live chain, the label service and the indexing service. Settles when the
 * signal has ended it and everything is cleaned up; throws a DemoError if it cannot start or continue.
 */
export async function runDemo({ port, labelsPort, environment, write, signal }: DemoOptions): Promise<void> {
  await requirePort(port, "PORT");
  await requirePort(labelsPort, "LABELS_PORT");
  const start = performance.now();
  const seconds = () => `${((performance.now() - start) / 1000).toFixed(1).padStart(5)} s`;
  const folder = mkdtempSync(join(tmpdir(), "name-index-demo-"));
  const services: ServiceProcess[] = [];
  let node: DevNode | undefined;
  try {
    node = await startChain();
    write(`${seconds()}  chain ${node.chain.chainId} is live at ${node.url}, head ${node.chain.head()}`);
    const more = node.scenario?.subnameLabels ?? [];
    const labels = await ingestLabels({ folder, more, environment, signal });
    services.push(startLabelService({ labels, labelsPort, folder, environment }));
    services.push(startIndexingService({ node, port, labelsPort, folder, environment }));
    const url = `http://localhost:${port}`;
    await answered("the label service", `http://localhost:${labelsPort}/health`, services, signal);
    write(`${seconds()}  label service is up on port ${labelsPort}`);
    await answered("the first answer of the index", `${url}/ready`, services, signal);
    const block = await firstAnswer(url, services, signal);
    write(`${seconds()}  index is up on port ${port}, at block ${block}`);
    await answered("the index in real time", `${url}/amirealtime`, services, signal);
    write(demoScreen({ url, labelsUrl: `http://localhost:${labelsPort}`, seconds: seconds().trim() }));
    await untilEnd(services, signal);
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    // The indexing service first: it releases its database lock while the chain is still there.
    for (const service of services.reverse()) await service.stop();
    await node?.close();
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  }
}

async function startChain(): Promise<DevNode> {
  const recording = readRecording(recordingFolder);
  const seed = Math.floor(Math.random() * 2 ** 31);
  const node = await startNode({ recording, contracts: readAddresses(recordingFolder), seed });
  await node.mineUpToNow({ count: recentBlocks, seconds: secondsPerBlock });
  node.startMining(secondsPerBlock);
  return node;
}

async function ingestLabels({
  folder,
  more,
  environment,
  signal,
}: { folder: string; more: readonly string[] } & Pick<
  DemoOptions,
  "environment" | "signal"
>): Promise<string> {
  const csv = join(folder, "labels.csv");
  const quoted = [...readLabels(recordingFolder), ...more].map(
    (label) => `"${label.replaceAll('"', '""')}"\n`,
  );
  writeFileSync(csv, quoted.join(""));
  const database = join(folder, "labels.sqlite");
  const labelSet = ["--label-set-id", "subgraph", "--label-set-version", "0"];
  const ingest = startServiceProcess({
    name: "label ingest",
    args: [
      join(root, "labels-service/cli.ts"),
      "ingest",
      csv,
      "--database",
      database,
      "--format",
      "csv",
      ...labelSet,
    ],
    cwd: folder,
    env: surroundings(environment),
  });
  const { code } = await Promise.race([ingest.ended, aborted(signal)]);
  ingest.kill();
  if (code !== 0) throw new DemoError(endOf(ingest));
  return database;
}

function startLabelService({
  labels,
  labelsPort,
  folder,
  environment,
}: { labels: string; folder: string } & Pick<DemoOptions, "environment" | "labelsPort">) {
  return startServiceProcess({
    name: "label service",
    args: [join(root, "labels-service/cli.ts"), "serve", "--database", labels, "--port", String(labelsPort)],
    cwd: folder,
    env: surroundings(environment),
  });
}

function startIndexingService({
  node,
  port,
  labelsPort,
  folder,
  environment,
}: { node: DevNode; folder: string } & Pick<DemoOptions, "environment" | "labelsPort" | "port">) {
  // An empty working directory, so that no .env.local of the operator redirects it.
  const cwd = join(folder, "indexing");
  mkdirSync(cwd);
  return startServiceProcess({
    name: "indexing service",
    args: [join(root, "scripts/ponder.ts"), "start"],
    cwd,
    env: {
      ...surroundings(environment),
      PLUGINS: environment["PLUGINS"] ?? "subgraph",
      SUBGRAPH_COMPAT: environment["SUBGRAPH_COMPAT"] ?? "true",
      NAMESPACE: "ens-test-env",
      [`RPC_URL_${node.chain.chainId}`]: node.url,
      LABELS_URL: `http://localhost:${labelsPort}`,
      PGLITE_DIRECTORY: join(folder, "pglite"),
      PORT: String(port),
      LOG_LEVEL: "warn",
    },
  });
}

/** What any program needs of its environment; other settings do not reach the demo. */
function surroundings(environment: DemoOptions["environment"]): DemoOptions["environment"] {
  const names = ["PATH", "HOME", "TMPDIR", "TEMP", "TMP", "SystemRoot", "LANG"];
  return Object.fromEntries(names.map((name) => [name, environment[name]]));
}

async function requirePort(port: number, variable: string) {
  if (await isPortFree(port)) return;
  throw new DemoError(
    `Port ${port} is taken by another process. Free it, or choose another with ${variable}.`,
  );
}

async function answered(what: string, url: string, services: readonly ServiceProcess[], signal: AbortSignal) {
  await look(what, services, signal, async () => {
    const { status } = await fetch(url, { signal: AbortSignal.timeout(5_000) });
    return status === 200 ? { done: status } : { state: `${url} answers ${status}` };
  });
}

/** Number of the indexed block in the first successful subgraph response. */
async function firstAnswer(url: string, services: readonly ServiceProcess[], signal: AbortSignal) {
  return look("the subgraph", services, signal, async () => {
    const response = await fetch(`${url}/subgraph`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ query: "{ domains(first: 1) { id } _meta { block { number } } }" }),
      signal: AbortSignal.timeout(5_000),
    });
    const { data } = (await response.json()) as {
      data?: { domains: []; _meta: { block: { number: number } } };
    };
    if (data === undefined || data.domains.length === 0) return { state: "there are no domains" };
    return { done: data._meta.block.number };
  });
}

async function look<Result>(
  what: string,
  services: readonly ServiceProcess[],
  signal: AbortSignal,
  ask: () => Promise<{ done: Result } | { state: string }>,
): Promise<Result> {
  return waitFor(
    what,
    async () => {
      if (signal.aborted) throw new WaitError("The demo was stopped.");
      const ended = services.find((service) => service.ending() !== undefined);
      if (ended !== undefined) throw new WaitError(endOf(ended));
      return ask();
    },
    { timeoutMs: startTimeoutMs },
  );
}

async function untilEnd(services: readonly ServiceProcess[], signal: AbortSignal) {
  const ended = await Promise.race([
    ...services.map((service) => service.ended.then(() => service)),
    aborted(signal),
  ]);
  if ("name" in ended) throw new DemoError(endOf(ended));
}

function aborted(signal: AbortSignal): Promise<{ code: undefined }> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve({ code: undefined });
    signal.addEventListener("abort", () => resolve({ code: undefined }), { once: true });
  });
}

function endOf(service: ServiceProcess): string {
  const ending = service.ending();
  const how = ending?.signal ?? `exit code ${ending?.code}`;
  return [`The ${service.name} ended (${how}). Its last lines:`, ...service.lastLines(15)].join("\n");
}

/** The demo cannot start or continue; the message says why and what to change. */
export class DemoError extends Error {
  override name = "DemoError";
}
