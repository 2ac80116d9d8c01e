import { setImmediate } from "node:timers/promises";
import { type Abi, type AbiEvent, decodeEventLog, type Hex, isAddress, toEventSelector } from "viem";
import type { Recording } from "../../../devnet/recording.ts";
import { type Config, parseEnvironment } from "../../../src/config/environment.ts";
import { type ContractEntry, contractSources } from "../../../src/config/sources.ts";
import { labelhash } from "../../../src/ens/labels.ts";
import {
  createSettings,
  type EventsOf,
  type LogsOf,
  registerHandlers,
  registerStrictHandlers,
} from "../../../src/handlers/on.ts";
import type { Anomaly } from "../../../src/indexing/anomalies.ts";
import { eventId } from "../chains-harness.ts";
import { createMemoryStore } from "../memory-store.ts";
import { handlers } from "../registry.ts";

/** A log as a node returns it. A contract may emit one without topics. */
export type PlayedLog = {
  address: Hex;
  topics: readonly Hex[];
  data: Hex;
  blockNumber: Hex;
  transactionHash: Hex;
  logIndex: Hex;
};

type Register = (config: Config, events: EventsOf, logs: LogsOf) => void;

/**
 * An index over a store in memory, of one chain: each log reaches the contract entries of the configuration that match it, in
 * their order, as Ponder feeds them. `register` registers the plugins.
 */
export function createRecordedIndex(
  { chainId, blocks, receipts }: Pick<Recording, "chainId" | "blocks" | "receipts">,
  {
    environment,
    datasources,
    labels = [],
    register,
  }: {
    environment: Record<string, string>;
    datasources: string;
    /** Those that can be healed. */
    labels?: readonly string[];
    register: Register;
  },
) {
  const config = parseEnvironment(
    { ...environment, DATASOURCES_FILE: "datasources.json" },
    () => datasources,
  );
  const sources = contractSources(config);
  const store = createMemoryStore();
  const anomalies = new Map<Anomaly, number>();
  const known = new Map(labels.map((label) => [labelhash(label), label]));
  const settings = createSettings(
    { heal: (labelhash) => known.get(labelhash) },
    {
      isSubgraphCompatible: config.isSubgraphCompatible,
      rootChainId: chainId,
      isV2Indexed: config.plugins.includes("ensv2"),
      nodes: async () => undefined,
      isConfigured: () => true,
      report: ({ anomaly }) => anomalies.set(anomaly, (anomalies.get(anomaly) ?? 0) + 1),
    },
  );
  handlers.clear();
  const isSource = (source: string) => source in sources;
  register(config, registerHandlers(settings, isSource), registerStrictHandlers(settings, isSource));
  const registered = new Map(handlers);

  const logs = receipts.flatMap((receipt) =>
    (receipt["logs"] as PlayedLog[]).map((log) => ({ ...log, sender: receipt["from"] as Hex })),
  );
  const times = new Map(blocks.map(({ number, timestamp }) => [Number(number), BigInt(String(timestamp))]));
  const routes = Object.entries(sources).flatMap(([source, entry]) => routesOf(source, entry, logs));
  const byTopic = Map.groupBy(routes, ({ topic }) => topic);

  let turns = 0;
  /** Plays a log; says how many handlers it reached. */
  async function play(log: PlayedLog & { sender?: Hex }): Promise<number> {
    let reached = 0;
    // The store never waits: without a pause the test runner would think that the worker is dead.
    if (turns++ % 1000 === 0) await setImmediate();
    const block = Number(log.blockNumber);
    const topics: readonly (Hex | null)[] = [...log.topics, null, null, null, null].slice(0, 4);
    for (const { item, key, matches } of byTopic.get(log.topics[0] ?? "0x") ?? []) {
      const handler = matches(log.address, block) ? registered.get(key) : undefined;
      // Strict rules read the log themselves; here they see also what Ponder's decoder would leave out.
      const args = handler && (key.startsWith("ensv2/") ? {} : argsOf(item, log));
      if (handler === undefined || args === undefined) continue;
      reached += 1;
      const timestamp = times.get(block) ?? BigInt(block);
      await handler({
        event: {
          id: eventId({ chainId, block, timestamp: Number(timestamp), logIndex: Number(log.logIndex) }),
          args,
          block: { number: BigInt(block), timestamp },
          transaction: { hash: log.transactionHash, from: log.sender ?? `0x${"b2".repeat(20)}` },
          log: { address: log.address, logIndex: Number(log.logIndex), topics, data: log.data },
        },
        context: { db: store.db, chain: { id: chainId }, client: {} },
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

  return { config, store, anomalies, logs, play, playTo };
}

type Route = {
  topic: Hex;
  item: AbiEvent;
  key: string;
  matches: (address: Hex, block: number) => boolean;
};

function routesOf(source: string, { abi, chain }: ContractEntry, logs: readonly PlayedLog[]): Route[] {
  const [range] = Object.values(chain);
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
      ? [{ topic: toEventSelector(item), item, key: `${source}:${nameIn(abi, item)}`, matches }]
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

function nameIn(abi: Abi, { name, inputs }: AbiEvent): string {
  if (abi.filter((item) => item.type === "event" && item.name === name).length === 1) return name;
  return `${name}(${inputs.map((input) => `${input.type}${input.indexed ? " indexed" : ""} ${input.name}`).join(", ")})`;
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
