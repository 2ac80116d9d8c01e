import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Hex } from "viem";
import { type NodeOptions, startNode } from "../../devnet/node.ts";
import { freePort } from "../../devnet/ports.ts";
import { readAddresses, readLabels, readRecording } from "../../devnet/recording.ts";
import { type ServiceProcess, startServiceProcess } from "../../devnet/service-process.ts";
import { WaitError, waitFor } from "../../devnet/wait.ts";
import { batchOf, createLabelDatabase } from "../../labels-service/store/database-writer.ts";
import { brokenInvariants } from "../../src/api/status/invariants.ts";
import type { Snapshot } from "../../src/api/status/snapshot.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const recordings = { root: "a", base: "a-base", linea: "a-linea" } as const;

/** The chains of the carried recordings: root chain, Base and Linea. */
export type ChainName = keyof typeof recordings;

const folderOf = (chain: ChainName) => join(root, "devnet/recording", recordings[chain]);
const chainNames = Object.keys(recordings) as ChainName[];

/** Chain ids and last blocks of the recordings. */
export const chainIds: Record<ChainName, string> = { root: "15658733", base: "15658734", linea: "15658735" };
export const lastBlocks: Record<ChainName, number> = { root: 1666, base: 194, linea: 158 };

type Range = { startBlock?: number; endBlock?: number };

/** A datasources file for the recordings; `ranges` gives the block range of all contracts of a chain. */
export function datasourcesFile(ranges: Partial<Record<ChainName, Range>> = {}): string {
  const of = (chain: ChainName, names: readonly string[]) => {
    const addresses = readAddresses(folderOf(chain));
    const renamed: Record<string, Hex | undefined> = {
      Resolver: addresses["ThreeDNSResolver"],
      Seaport1_5: addresses["Seaport"],
    };
    const range = { startBlock: 0, ...ranges[chain] };
    const contracts = names.map((name) => {
      const isAny = name === "Resolver" && !names.includes("ThreeDNSToken");
      return [name, { ...(isAny ? {} : { address: renamed[name] ?? addresses[name] }), ...range }];
    });
    return { [chainIds[chain]]: { contracts: Object.fromEntries(contracts) } };
  };
  const controllers = ["Legacy", "Wrapped", "Unwrapped"].map((kind) => `${kind}EthRegistrarController`);
  const table = {
    ensroot: of("root", [
      "ENSv1RegistryOld",
      "ENSv1Registry",
      "Resolver",
      "BaseRegistrar",
      ...controllers,
      "UniversalRegistrarRenewalWithReferrer",
      "NameWrapper",
    ]),
    basenames: of("base", [
      "Registry",
      "Resolver",
      "BaseRegistrar",
      "EARegistrarController",
      "RegistrarController",
      "UpgradeableRegistrarController",
    ]),
    lineanames: of("linea", [
      "Registry",
      "Resolver",
      "BaseRegistrar",
      "EthRegistrarController",
      "NameWrapper",
    ]),
    threednsOptimism: of("linea", ["ThreeDNSToken", "Resolver"]),
    threednsBase: of("base", ["ThreeDNSToken", "Resolver"]),
    rrRoot: of("root", ["DefaultReverseRegistrar"]),
    rrBase: of("base", ["L2ReverseRegistrar"]),
    rrLinea: of("linea", ["L2ReverseRegistrar"]),
    seaport: of("root", ["Seaport1_5"]),
  };
  return JSON.stringify({ "ens-test-env": table });
}

/** Three nodes over the carried recordings and an indexing service with all plugins of names and registrars. */
export async function startChainsWorld({
  nodes: nodeOptions = {},
  ranges = {},
  environment = {},
}: {
  nodes?: Partial<NodeOptions>;
  ranges?: Partial<Record<ChainName, Range>>;
  environment?: Record<string, string>;
} = {}) {
  const folder = mkdtempSync(join(tmpdir(), "name-index-chains-"));
  const labels = join(folder, "labels.sqlite");
  const writer = createLabelDatabase(labels, "subgraph");
  writer.add(batchOf(chainNames.flatMap((chain) => readLabels(folderOf(chain)))));
  writer.finish(new Date());
  writeFileSync(join(folder, "datasources.json"), datasourcesFile(ranges));
  const open = (chain: ChainName, port = 0) =>
    startNode({ recording: readRecording(folderOf(chain)), ...nodeOptions, port });
  const nodes = { root: await open("root"), base: await open("base"), linea: await open("linea") };
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  let indexer: ServiceProcess | undefined;

  const status = async (): Promise<Snapshot | undefined> => {
    const response = await fetch(`${url}/api/indexing-status`).catch(() => undefined);
    if (response?.status !== 200) return undefined;
    const body = (await response.json()) as { realtimeProjection: { snapshot: Snapshot } };
    return body.realtimeProjection.snapshot;
  };

  return {
    nodes,
    url,
    status,

    /** Starts the indexing service; with the same data as before, if it ran already. */
    start() {
      indexer = startServiceProcess({
        name: "indexing service",
        args: [join(root, "scripts/ponder.ts"), "start"],
        cwd: folder,
        env: {
          PATH: process.env["PATH"],
          HOME: process.env["HOME"],
          NAMESPACE: "ens-test-env",
          PLUGINS: "subgraph,basenames,lineanames,threedns,registrars",
          LABELS_URL: `file:${labels}`,
          DATASOURCES_FILE: join(folder, "datasources.json"),
          PGLITE_DIRECTORY: join(folder, "pglite"),
          ...Object.fromEntries(chainNames.map((chain) => [`RPC_URL_${chainIds[chain]}`, nodes[chain].url])),
          PORT: String(port),
          LOG_LEVEL: "info",
          ...environment,
        },
      });
      return indexer;
    },

    /** Serves a chain anew on its port, as a node that was started again. */
    async restartNode(chain: ChainName, head?: number) {
      const { port: nodePort } = nodes[chain];
      await nodes[chain].close();
      nodes[chain] = await open(chain, nodePort);
      if (head !== undefined) nodes[chain].chain.setHead(head);
    },

    /** Waits until the status is as `isWanted` says; the service must not end before. */
    async waitForStatus(what: string, isWanted: (snapshot: Snapshot) => boolean, timeoutMs = 150_000) {
      return waitFor(
        what,
        async () => {
          const ending = indexer?.ending();
          if (ending) throw new WaitError(`The service ended:\n${indexer?.lastLines(30).join("\n")}`);
          const snapshot = await status();
          if (snapshot && isWanted(snapshot)) return { done: snapshot };
          return { state: JSON.stringify(snapshot?.omnichainSnapshot) ?? "no status" };
        },
        { timeoutMs },
      );
    },

    stop: () => indexer?.stop("SIGINT"),

    async close() {
      await indexer?.stop("SIGINT");
      await Promise.all(Object.values(nodes).map((node) => node.close()));
      rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

export type ChainsWorld = Awaited<ReturnType<typeof startChainsWorld>>;

/**
 * Asks for the status again and again: holds every answer against the invariants and remembers each state of the chains,
 * root, Base and Linea in this order.
 */
export function watchChains(world: Pick<ChainsWorld, "status">) {
  const seen: string[] = [];
  const faults = new Set<string>();
  let cursor = 0;
  let isOn = true;

  const look = async () => {
    const snapshot = await world.status();
    if (snapshot === undefined) return;
    for (const fault of brokenInvariants(snapshot)) faults.add(fault);
    if (snapshot.slowestChainIndexingCursor < cursor) faults.add("the cursor went back");
    cursor = snapshot.slowestChainIndexingCursor;
    const { omnichainStatus, chains } = snapshot.omnichainSnapshot;
    const states = chainNames.map((chain) => chains[chainIds[chain]]?.chainStatus.replace("chain-", ""));
    const state = `${omnichainStatus.replace("omnichain-", "")}: ${states.join(" ")}`;
    if (seen.at(-1) !== state) seen.push(state);
  };
  const done = (async () => {
    while (isOn) {
      await look();
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  })();

  return {
    seen,
    faults,
    /** Forgets the cursor: a service that was started again begins at its last checkpoint. */
    forget() {
      cursor = 0;
    },
    async stop() {
      isOn = false;
      await done;
    },
  };
}
