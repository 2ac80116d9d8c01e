import { setImmediate } from "node:timers/promises";
import { type AbiEvent, decodeEventLog, type Hex, isAddress, toEventSelector } from "viem";
import { v2ChainId, v2DatasourcesFile, v2Environment, v2Folder } from "../../devnet/recorded-chains.ts";
import { type Recording, readRecording } from "../../devnet/recording.ts";
import { type Config, parseEnvironment } from "../../src/config/environment.ts";
import { type ContractEntry, contractSources } from "../../src/config/sources.ts";
import { ens } from "../../src/deployments/ens.ts";
import { v2KnownContracts } from "../../src/deployments/namespaces.ts";
import { registerNames } from "../../src/handlers/names.ts";
import type { EventsOf, LogsOf } from "../../src/handlers/on.ts";
import { type AskNodes, multichainNaming, subgraphNaming } from "../../src/indexing/scope.ts";
import { registerEnsv2 } from "../../src/plugins/ensv2.ts";
import { registerProtocolAcceleration } from "../../src/plugins/protocol-acceleration.ts";
import { registerRegistrars } from "../../src/plugins/registrars.ts";
import { registerTokenscope } from "../../src/plugins/tokenscope.ts";
import { eventKey, openHandlers } from "./handlers.ts";

/** A log as a node returns it. A contract may emit one without topics. */
export type PlayedLog = {
  address: Hex;
  topics: readonly Hex[];
  data: Hex;
  blockNumber: Hex;
  transactionHash: Hex;
  logIndex: Hex;
};

type Options = {
  environment: Record<string, string>;
  datasources: string;
  /** Those that can be healed. */
  labels?: readonly string[];
  nodes?: AskNodes;
  /** Registers the plugins. */
  register: (config: Config, events: EventsOf, logs: LogsOf) => void;
};

/**
 * An index over a store in memory, of one chain: each log reaches the contract entries of the configuration that match
 * it, in their order, as Ponder feeds them.
 */
export function createRecordedIndex(
  { chainId, blocks, receipts }: Pick<Recording, "chainId" | "blocks" | "receipts">,
  { environment, datasources, labels, nodes = async () => undefined, register }: Options,
) {
  const config = parseEnvironment(
    { LABELS_URL: "file:labels.sqlite", ...environment, DATASOURCES_FILE: "datasources.json" },
    () => datasources,
  );
  const sources = contractSources(config);
  const { store, anomalies, call, handlers } = openHandlers({
    ...(labels ? { labels } : {}),
    settings: {
      naming: config.isSubgraphCompatible ? subgraphNaming : multichainNaming,
      rootChainId: chainId,
      isV2Indexed: config.plugins.includes("ensv2"),
      v2: v2KnownContracts(config.datasources),
      nodes,
    },
    isSource: (source) => source in sources,
    register: (events, logs) => register(config, events, logs),
  });

  const logs = receipts.flatMap((receipt) =>
    (receipt["logs"] as PlayedLog[]).map((log) => ({ ...log, sender: receipt["from"] as Hex })),
  );
  const times = new Map(blocks.map(({ number, timestamp }) => [Number(number), Number(timestamp)]));
  const chainName = config.chains.find(({ id }) => id === chainId)?.name ?? "";
  const routes = Object.entries(sources).flatMap(([source, entry]) =>
    routesOf(source, entry, { chainName, logs }),
  );
  const byTopic = Map.groupBy(routes, ({ topic }) => topic);

  let turns = 0;
  /** Plays a log; says how many handlers it reached. */
  async function play(log: PlayedLog & { sender?: Hex }): Promise<number> {
    let reached = 0;
    // The store never waits: without a pause the test runner would think that the worker is dead.
    if (turns++ % 1000 === 0) await setImmediate();
    const block = Number(log.blockNumber);
    for (const { item, key, matches } of byTopic.get(log.topics[0] ?? "0x") ?? []) {
      if (!matches(log.address, block) || !handlers.has(key)) continue;
      // Strict handlers read the log themselves; here they see also what Ponder's decoder would leave out.
      const args = key.startsWith("ensv2/") ? {} : argsOf(item, log);
      if (args === undefined) continue;
      reached += 1;
      await call(key, args, {
        ...{ chainId, block, timestamp: times.get(block) ?? block, logIndex: Number(log.logIndex) },
        ...{ transactionHash: log.transactionHash, sender: log.sender ?? `0x${"b2".repeat(20)}` },
        ...{ emitter: log.address, data: log.data },
        topics: [...log.topics, null, null, null, null].slice(0, 4),
      });
    }
    return reached;
  }

  let played = 0;
  /** Plays the recording up to a block. */
  async function playTo(block: number): Promise<void> {
    for (let log = logs[played]; log && Number(log.blockNumber) <= block; log = logs[played]) {
      await play(log);
      played += 1;
    }
  }

  const timeOf = (block: number) => times.get(block) ?? block;
  return { config, chainId, sources, store, anomalies, logs, timeOf, play, playTo };
}

type Route = {
  topic: Hex;
  item: AbiEvent;
  key: string;
  matches: (address: Hex, block: number) => boolean;
};

function routesOf(
  source: string,
  { abi, chain }: ContractEntry,
  { chainName, logs }: { chainName: string; logs: readonly PlayedLog[] },
): Route[] {
  const range = chain[chainName];
  if (range === undefined) return [];
  const { address, startBlock } = range;
  const children = typeof address === "object" ? childrenOf(address, logs) : undefined;
  const matches = (emitter: Hex, block: number) =>
    block >= startBlock &&
    (children
      ? (children.get(emitter) ?? Number.POSITIVE_INFINITY) <= block
      : address === undefined || address === emitter);
  return abi.flatMap((item) =>
    item.type === "event"
      ? [{ topic: toEventSelector(item), item, key: `${source}:${eventKey(abi, item)}`, matches }]
      : [],
  );
}

// From the block of their creation on, as Ponder has it: logs before the factory's own in that block count.
function childrenOf({ address, event }: { address: Hex; event: AbiEvent }, logs: readonly PlayedLog[]) {
  const children = new Map<Hex, number>();
  for (const log of logs) {
    if (log.address !== address || log.topics[0] !== toEventSelector(event)) continue;
    const child: Hex = `0x${log.topics[2]?.slice(26)}`;
    children.set(child, Math.min(children.get(child) ?? Number.POSITIVE_INFINITY, Number(log.blockNumber)));
  }
  return children;
}

// Ponder leaves out the logs that its decoder refuses, and has addresses in lower case.
function argsOf(item: AbiEvent, { topics, data }: PlayedLog): object | undefined {
  try {
    const { args = {} } = decodeEventLog({ abi: [item], topics: topics as [Hex, ...Hex[]], data });
    const lower = Object.entries(args).map(([name, value]: [string, unknown]) => {
      return [name, typeof value === "string" && isAddress(value) ? value.toLowerCase() : value];
    });
    return Object.fromEntries(lower);
  } catch {
    return undefined;
  }
}

/** An index of the recorded chain with both generations, or of another with these contracts; nothing is played yet. */
export function createV2Index(
  chain: Pick<Recording, "chainId" | "blocks" | "receipts"> = readRecording(v2Folder),
  addresses?: Readonly<Record<string, Hex>>,
) {
  return createRecordedIndex(chain, {
    environment: { ...v2Environment, [`RPC_URL_${v2ChainId}`]: "http://localhost" },
    datasources: v2DatasourcesFile(addresses),
    register: ({ datasources }, events, logs) => {
      registerNames(events, datasources, ens);
      registerEnsv2(logs);
      registerProtocolAcceleration(events, datasources);
      registerRegistrars(events, datasources, logs);
      registerTokenscope(events, datasources);
    },
  });
}
