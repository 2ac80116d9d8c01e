import { once } from "node:events";
import { describeEnding, isAnswered, waitWhileRunning } from "../indexing-service.ts";
import { freePort } from "../ports.ts";
import type { ServiceProcess } from "../service-process.ts";
import { WaitError } from "../wait.ts";
import type { DemoChains, DemoWorld } from "./chains.ts";
import { type Chains, describeProgress, measureProgress, type Progress } from "./progress.ts";
import { demoScreen } from "./screen.ts";
import { type DemoServices, startServices } from "./services.ts";

/** What the demo runs with. */
export type DemoOptions = DemoServices & {
  world: DemoWorld;
  /** Whether the screen shows all commands. */
  isAll: boolean;
  write: (line: string) => void;
  /** Ends the demo. */
  signal: AbortSignal;
};

/**
 * Runs the complete system on one machine: live chains, the label service and the indexing service. Settles when the
 * signal has ended it and everything is cleaned up; throws a WaitError if it cannot start or continue.
 */
export async function runDemo(options: DemoOptions): Promise<void> {
  const { port, labelsPort, world, signal } = options;
  await requirePort(port, "PORT");
  await requirePort(labelsPort, "LABELS_PORT");
  const services = await startServices(options, { world });
  try {
    await showProgress(options, services);
    await untilEnd([services.labels, services.index], signal);
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    await services.close();
  }
}

// Includes the start of this process.
const seconds = () => `${(performance.now() / 1000).toFixed(1).padStart(5)} s`;

/** Says what is up, what it waits for every few seconds, and what to try once all is up. */
async function showProgress(
  { port, labelsPort, world, isAll, write, signal }: DemoOptions,
  { chains, labels, index, received }: Awaited<ReturnType<typeof startServices>>,
) {
  const [url, labelsUrl] = [`http://localhost:${port}`, `http://localhost:${labelsPort}`];
  const answered = async (what: string, url: string, describe = async () => `waiting for ${what}`) => {
    const timer = setInterval(async () => write(`${seconds()}  ${await describe()}`), 4_000);
    const unlessStopped = () => {
      if (signal.aborted) throw new WaitError("The demo was stopped.");
      return isAnswered(url)();
    };
    try {
      await waitWhileRunning([labels, index], what, unlessStopped, { everyMs: 250 });
    } finally {
      clearInterval(timer);
    }
  };
  for (const { node } of chains) {
    write(`${seconds()}  chain ${node.chain.chainId} is live at ${node.url}, head ${node.chain.head()}`);
  }
  await answered("the label service", `${labelsUrl}/health`);
  write(`${seconds()}  label service is up on port ${labelsPort}`);
  const describe = describeIndex(url, chains);
  await answered("the index of the recorded blocks", `${url}/ready`, describe);
  await answered("the subgraph", `${url}/subgraph?query={domains{id}}`);
  write(`${seconds()}  index is up on port ${port}`);
  await answered("the index to be in real time", `${url}/amirealtime`);
  write(demoScreen({ url, labelsUrl, received, seconds: seconds().trim(), world, isAll }));
}

type Status = { realtimeProjection: { snapshot: { omnichainSnapshot: { chains: Chains } } } };

/** Describes how far the index at a URL is, and where to watch it. */
function describeIndex(url: string, chains: DemoChains) {
  const heads = new Map(chains.map(({ node: { chain } }) => [chain.chainId, chain.head()]));
  let first: { progress: Progress; at: number } | undefined;
  return async () => {
    const response = await fetch(`${url}/api/indexing-status`, { signal: AbortSignal.timeout(3_000) }).catch(
      () => undefined,
    );
    if (response?.status !== 200) return "the index is starting";
    const { realtimeProjection } = (await response.json()) as Status;
    const progress = measureProgress(realtimeProjection.snapshot.omnichainSnapshot.chains, heads);
    const at = performance.now();
    first ??= { progress, at };
    return `${describeProgress(progress, first.progress, (at - first.at) / 1_000)}; open ${url}/`;
  };
}

// Both services listen on all interfaces.
async function requirePort(port: number, variable: string) {
  await freePort(port).catch(() => {
    throw new WaitError(
      `Port ${port} is taken by another process. Free it, or choose another with ${variable}.`,
    );
  });
}

async function untilEnd(services: readonly ServiceProcess[], signal: AbortSignal) {
  if (signal.aborted) return;
  const ended = await Promise.race([
    once(signal, "abort").then(() => undefined),
    ...services.map((service) => service.ended.then(() => service)),
  ]);
  if (ended !== undefined) throw new WaitError(describeEnding(ended));
}
