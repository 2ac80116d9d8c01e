import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { readDeployment, register } from "../../devnet/life.ts";
import { startNode } from "../../devnet/node.ts";
import { chainIds } from "../../devnet/recorded-chains.ts";
import { waitFor } from "../../devnet/wait.ts";
import { createIndexer, indexedBlock } from "../../test/support/indexer.ts";
import { childrenOf } from "../../test/support/process-tree.ts";
import { recordedLabels, recordingOf } from "../../test/support/recordings.ts";
import { quantile } from "../measure.ts";
import { createDatabase } from "../world.ts";
import type { ClientJob, ClientSeen } from "./clients.ts";

/** Services over the recorded root chain, on which blocks are mined by request. */
export type FeedWorld = Awaited<ReturnType<typeof startFeedWorld>>;

/** Starts an index of the chain, and a process that only serves it. */
export async function startFeedWorld(
  { server, compiledModules }: { server: string; compiledModules: string },
  environment: Record<string, string> = {},
) {
  const node = await startNode({ recording: recordingOf("root") });
  const databaseUrl = await createDatabase(server, `feed_${Date.now()}`);
  const indexer = await createIndexer({
    ...{ labels: recordedLabels(["root"]), compiledModules, databaseUrl },
    environment: {
      ...{ NAMESPACE: "ens-test-env", PLUGINS: "subgraph,registrars" },
      [`RPC_URL_${chainIds.root}`]: node.url,
      ...environment,
    },
  });
  // When each block was given out first.
  const arrived = new Map<number, number>();
  const { block } = node.chain;
  node.chain.block = (number) => {
    if (number === node.chain.head() && !arrived.has(number)) arrived.set(number, now());
    return block(number);
  };
  const isThere = (url: string) =>
    waitFor(url, async () => {
      const { status } = await fetch(`${url}/ready`);
      const [head, wanted] = [status === 200 ? await indexedBlock(url) : -1, node.chain.head()];
      return head >= wanted ? { done: head } : { state: `block ${head} of ${wanted}` };
    });
  const service = indexer.start();
  await isThere(indexer.url);
  const reader = await indexer.startBeside("serve");
  await isThere(reader.url);
  return {
    ...{ node, indexer, reader, databaseUrl, arrived },
    /** The process that indexes. */
    pid: async () => (await childrenOf(service.pid))[0],
    /** Mines a block with so many registrations, six events each. */
    mine(registrations: number) {
      const number = node.chain.head() + 1;
      arrived.set(node.chain.head(), arrived.get(node.chain.head()) ?? 0);
      const sales = Array.from({ length: registrations }, (_, at) => ({
        label: generateLabel(number, at),
        owner: generateOwner(at),
        expires: 2_000_000_000n,
      }));
      node.mineBlock({ transactions: sales.map((sale) => register(readDeployment("root"), sale)) });
      return number;
    },
    indexed: () => Promise.all([isThere(indexer.url), isThere(reader.url)]),
    async close() {
      await reader.stop();
      await indexer.close();
      await node.close();
    },
  };
}

/** Unix milliseconds, with decimals. */
const now = () => performance.timeOrigin + performance.now();

/** Label of a registration in a block, and its owner. */
export const generateLabel = (block: number, at: number) => `bench${block}x${at}`;
export const generateOwner = (at: number) => `0x${(4_096 + at).toString(16).padStart(40, "0")}` as const;

/** Clients in a process of their own. */
export function startClients() {
  const child = fork(fileURLToPath(new URL("clients.ts", import.meta.url)), {
    execArgv: ["--disable-warning=ExperimentalWarning"],
  });
  return {
    async ask(job: ClientJob): Promise<ClientSeen> {
      const answer = once(child, "message");
      child.send(job);
      const [seen] = (await answer) as [ClientSeen];
      return seen;
    },
    pid: child.pid,
    stop: () => child.disconnect(),
  };
}

/** Prints a row of a table. */
export const printRow = (...cells: readonly string[]) => console.log(`| ${cells.join(" | ")} |`);

/** p50 / p95 / p99. */
export const spread = (values: readonly number[]) =>
  [0.5, 0.95, 0.99].map((share) => quantile(values, share).toFixed(0)).join(" / ");
