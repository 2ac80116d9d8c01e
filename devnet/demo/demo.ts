import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { endingOf, waitWhileRunning } from "../indexing-service.ts";
import { isPortFree } from "../ports.ts";
import type { ServiceProcess } from "../service-process.ts";
import { WaitError } from "../wait.ts";
import { type DemoChains, type DemoWorld, goLive, openChains } from "./chains.ts";
import { demoScreen } from "./screen.ts";
import { type DemoServices, startIndex, startIngest, startLabelService } from "./services.ts";

const startTimeoutMs = 300_000;

/** What the demo runs with. */
export type DemoOptions = Omit<DemoServices, "folder"> & {
  world: DemoWorld;
  /** Whether the screen shows all commands. */
  isAll: boolean;
  write: (line: string) => void;
  /** Ends the demo. */
  signal: AbortSignal;
};

/**
 * Runs the complete system on one machine: live chains, the label service and the indexing service. Settles when the
 * signal has ended it and everything is cleaned up; throws a DemoError if it cannot start or continue.
 */
export async function runDemo(options: DemoOptions): Promise<void> {
  await requirePort(options.port, "PORT");
  await requirePort(options.labelsPort, "LABELS_PORT");
  const folder = mkdtempSync(join(options.environment["TMPDIR"] || tmpdir(), "name-index-demo-"));
  const services: ServiceProcess[] = [];
  let chains: DemoChains = [];
  const progress = showWaiting(options.write);
  try {
    const ingest = startIngest({ ...options, folder });
    services.push(ingest);
    chains = await openChains[options.world]();
    const { code } = await Promise.race([ingest.ended, aborted(options.signal)]);
    if (code !== 0) throw new DemoError(endingOf(ingest));
    services.pop();
    await runServices({ ...options, folder }, { chains, services, progress });
  } catch (error) {
    if (!options.signal.aborted) throw error;
  } finally {
    progress.end();
    // The indexing service first: it releases its database lock while the chains are still there.
    for (const service of services.reverse()) await service.stop();
    for (const { node } of chains) await node.close();
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  }
}

// Includes the start of this process.
const seconds = () => `${(performance.now() / 1000).toFixed(1).padStart(5)} s`;

/** Says every few seconds what the demo waits for, until it ends. */
function showWaiting(write: (line: string) => void) {
  let what = "the labels and the recorded chains";
  const timer = setInterval(() => write(`${seconds()}  waiting for ${what}`), 4_000);
  return {
    on: (next: string) => {
      what = next;
    },
    end: () => clearInterval(timer),
  };
}

type Running = {
  chains: DemoChains;
  services: ServiceProcess[];
  progress: ReturnType<typeof showWaiting>;
};

async function runServices(options: DemoOptions & DemoServices, { chains, services, progress }: Running) {
  const { port, labelsPort, world, isAll, write, signal } = options;
  const [url, labelsUrl] = [`http://localhost:${port}`, `http://localhost:${labelsPort}`];
  // The index takes seconds until it looks at the chains: they go live in the meantime.
  services.push(startLabelService(options), startIndex(options, { chains, world }));
  goLive(chains);
  for (const { node } of chains) {
    write(`${seconds()}  chain ${node.chain.chainId} is live at ${node.url}, head ${node.chain.head()}`);
  }
  progress.on("the label service");
  await answered("the label service", `${labelsUrl}/health`, services, signal);
  write(`${seconds()}  label service is up on port ${labelsPort}`);
  progress.on("the index of the recorded blocks");
  await answered("the first answer of the index", `${url}/ready`, services, signal);
  const block = await firstAnswer(url, services, signal);
  write(`${seconds()}  index is up on port ${port}, at block ${block}`);
  progress.on("the index to be in real time");
  await answered("the index in real time", `${url}/amirealtime`, services, signal);
  progress.end();
  write(demoScreen({ url, labelsUrl, seconds: seconds().trim(), world, isAll }));
  await untilEnd(services, signal);
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

function look<Result>(
  what: string,
  services: readonly ServiceProcess[],
  signal: AbortSignal,
  ask: () => Promise<{ done: Result } | { state: string }>,
): Promise<Result> {
  const unlessStopped = async () => {
    if (signal.aborted) throw new WaitError("The demo was stopped.");
    return ask();
  };
  return waitWhileRunning(services, what, unlessStopped, { timeoutMs: startTimeoutMs, everyMs: 250 });
}

async function untilEnd(services: readonly ServiceProcess[], signal: AbortSignal) {
  const ended = await Promise.race([
    ...services.map((service) => service.ended.then(() => service)),
    aborted(signal),
  ]);
  if ("name" in ended) throw new DemoError(endingOf(ended));
}

function aborted(signal: AbortSignal): Promise<{ code: undefined }> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve({ code: undefined });
    signal.addEventListener("abort", () => resolve({ code: undefined }), { once: true });
  });
}

/** The demo cannot start or continue; the message says why and what to change. */
export class DemoError extends Error {
  override name = "DemoError";
}
