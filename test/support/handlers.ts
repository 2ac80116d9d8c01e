import {
  type Abi,
  type AbiEvent,
  type AbiParameter,
  decodeFunctionData,
  encodeFunctionResult,
  type Hex,
} from "viem";
import { threednsMetadataAbi } from "../../abis/names.ts";
import { entityTypes } from "../../src/api/subgraph/schema/inputs.ts";
import { parseEnvironment } from "../../src/config/environment.ts";
import { contractSources } from "../../src/config/sources.ts";
import { basenames } from "../../src/deployments/basenames.ts";
import type { Namespace } from "../../src/deployments/deployment.ts";
import { ens } from "../../src/deployments/ens.ts";
import { lineanames } from "../../src/deployments/lineanames.ts";
import { namespaces, v2KnownContracts } from "../../src/deployments/namespaces.ts";
import { labelhash } from "../../src/ens/labels.ts";
import { registerNames } from "../../src/handlers/names.ts";
import {
  type EventsOf,
  type LogsOf,
  registerHandlers,
  registerStrictHandlers,
} from "../../src/handlers/on.ts";
import type { Anomaly } from "../../src/indexing/anomalies.ts";
import { multichainNaming, type Settings, subgraphNaming } from "../../src/indexing/scope.ts";
import { registerRegistrars } from "../../src/plugins/registrars.ts";
import { registerThreedns } from "../../src/plugins/threedns.ts";
import * as tables from "../../src/schema/subgraph.ts";
import { checkpointOf } from "./checkpoints.ts";
import { createMemoryStore } from "./memory-store.ts";
import { handlers } from "./registry.ts";

/** Where and when an event happens; the rest is generated. */
export type EventOrigin = {
  chainId?: number;
  block?: number;
  timestamp?: number;
  logIndex?: number;
  transactionHash?: Hex;
  sender?: Hex;
  /** Whom the transaction calls. */
  recipient?: Hex;
  emitter?: Hex;
  data?: Hex;
  /** Topics of the log, or their number, if they differ from those that the event declares. */
  topics?: number | readonly (Hex | null)[];
};

/** The name that Ponder gives an event of an ABI: with its parameters where several have the name. */
export function eventKey(abi: Abi, { name, inputs }: AbiEvent): string {
  if (abi.filter((item) => item.type === "event" && item.name === name).length === 1) return name;
  return `${name}(${inputs.map((input) => `${input.type}${input.indexed ? " indexed" : ""} ${input.name}`).join(", ")})`;
}

type Options = {
  labels?: readonly string[];
  settings?: Partial<Settings>;
  isSource?: (source: string) => boolean;
  register: (events: EventsOf, logs: LogsOf) => void;
};

/**
 * The handlers that `register` registers, over a store in memory; `call` feeds an event to the one of
 * `<source>:<event>`.
 */
export function openHandlers({ labels = [], settings, isSource = () => true, register }: Options) {
  const store = createMemoryStore();
  const anomalies: Anomaly[] = [];
  const known = new Map(labels.map((label) => [labelhash(label), label]));
  const given: Settings = {
    naming: multichainNaming,
    rootChainId: 1,
    heal: (labelhash) => known.get(labelhash),
    report: (anomaly) => anomalies.push(anomaly),
    nodes: async () => undefined,
    isConfigured: () => true,
    v2: v2KnownContracts(namespace),
    ...settings,
  };
  handlers.clear();
  register(registerHandlers(given, isSource), registerStrictHandlers(given, isSource));
  const registered = new Map(handlers);

  async function call(
    key: string,
    args: object,
    at: Required<Omit<EventOrigin, "recipient">> & Pick<EventOrigin, "recipient">,
    client: unknown = {},
  ): Promise<void> {
    const handler = registered.get(key);
    if (handler === undefined) throw new Error(`no handler for ${key}`);
    const { chainId, block, timestamp, logIndex, topics } = at;
    await handler({
      event: {
        id: checkpointOf({ number: block, timestamp, logIndex }, chainId),
        args,
        block: { number: BigInt(block), timestamp: BigInt(timestamp) },
        transaction: { hash: at.transactionHash, from: at.sender, to: at.recipient },
        log: {
          address: at.emitter,
          logIndex,
          topics: typeof topics === "number" ? Array.from({ length: topics }, () => "0x00") : topics,
          data: at.data,
        },
      },
      context: { db: store.db, chain: { id: chainId }, client },
    });
  }
  return { store, rows: store.rows, anomalies, call, handlers: registered };
}

/** The one resolver of 3DNS in the harness, on each chain. */
export const threednsResolver: Hex = `0x${"3d".repeat(20)}`;

const { threednsOptimism, threednsBase } = namespaces.mainnet;
const withResolver = (datasource: Namespace[string] | undefined): Namespace[string] => ({
  chainId: datasource?.chainId ?? 0,
  contracts: { ...datasource?.contracts, Resolver: { address: threednsResolver, startBlock: 0 } },
});

// Every plugin on mainnet, but with the harness's resolver of 3DNS.
const namespace: Namespace = {
  ...namespaces.mainnet,
  threednsOptimism: withResolver(threednsOptimism),
  threednsBase: withResolver(threednsBase),
};
// The chain of the made-up deployment too, where a test adds that.
const urls = [1, 10, 8453, 31337, 59144, 42161, 534352].map((id) => [`RPC_URL_${id}`, "http://localhost"]);
const environment = { NAMESPACE: "mainnet", LABELS_URL: "file:labels", ...Object.fromEntries(urls) };

// Read once they are needed: a test may replace the deployments before.
function readConfiguration() {
  const config = { ...parseEnvironment(environment, () => ""), datasources: namespace };
  return { config, sources: contractSources(config) };
}
let read: ReturnType<typeof readConfiguration> | undefined;
const mainnet = () => {
  read ??= readConfiguration();
  return read;
};

/** The declaration of the event that `<source>:<event>` names. */
function declaredEvent(name: string): AbiEvent {
  const [source = "", event] = name.split(":");
  const abi = mainnet().sources[source]?.abi ?? [];
  const found = abi.find((item) => item.type === "event" && eventKey(abi, item) === event);
  if (found?.type !== "event") throw new Error(`no event ${name}`);
  return found;
}

/** All name plugins and `registrars` over one store in memory, fed through their own indexing functions. */
export function createChainsHarness({
  labels = [],
  readContract = async () => {
    throw new Error("no contract is read here");
  },
  ...settings
}: Partial<Settings> & {
  labels?: readonly string[];
  readContract?: (request: { address: Hex; args: readonly [bigint] }) => Promise<string>;
} = {}) {
  const opened = openHandlers({
    labels,
    settings: {
      nodes: async () => {
        throw new Error("no node is asked here");
      },
      ...settings,
    },
    register(events, logs) {
      for (const deployment of [ens, basenames, lineanames]) registerNames(events, namespace, deployment);
      registerThreedns(events, namespace);
      registerRegistrars(events, namespace, logs);
    },
  });
  const request = async ({ params: [{ to, data }] }: { params: [{ to: Hex; data: Hex }] }) => {
    const { args } = decodeFunctionData({ abi: threednsMetadataAbi, data });
    const result = await readContract({ address: to, args });
    return encodeFunctionResult({ abi: threednsMetadataAbi, result });
  };
  let played = 0;

  /** Feeds `<source>:<event>` to its indexing function; each event is the next log unless `place` is given. */
  function play(name: string, args: Record<string, unknown>, place: EventOrigin = {}): Promise<void> {
    played += 1;
    const { config, sources } = mainnet();
    const indexed = sources[name.split(":")[0] ?? ""]?.chain ?? {};
    const at = {
      chainId: config.chains.find((chain) => chain.name in indexed)?.id ?? 0,
      block: 7,
      timestamp: 1_700_000_000,
      logIndex: played,
      transactionHash: `0x${"7a".repeat(32)}` as const,
      sender: `0x${"5e".repeat(20)}` as const,
      emitter: `0x${"c0".repeat(20)}` as const,
      data: "0x" as const,
      topics: 1 + declaredEvent(name).inputs.filter(({ indexed }) => indexed).length,
      ...place,
    };
    return opened.call(name, args, at, { request });
  }
  const domainOf = (node: Hex) => opened.rows(tables.domain).find(({ id }) => id === node);
  return { ...opened, play, domainOf };
}

/** An event as the fixtures write it: big numbers as decimal strings. */
export type GivenEvent = {
  contract: string;
  /** Name, or name with `(value)` for the TextChanged that carries the value. */
  event: string;
  args: Record<string, unknown>;
  address?: Hex;
  block?: number;
  logIndex?: number;
  timestamp?: string;
  transactionHash?: Hex;
  sender?: Hex;
  data?: Hex;
  trace?: unknown;
};

type Entity = Record<string, unknown>;

/**
 * The handlers of the plugin `subgraph`, fed with events as fixtures write them; `entities` is what they stored as the
 * original has it.
 */
export function createSubgraphHarness({
  labels = [],
  naming = subgraphNaming,
  chainId = 1,
}: Partial<Pick<Settings, "naming">> & { labels?: readonly string[]; chainId?: number } = {}) {
  let trace: unknown;
  const harness = createChainsHarness({
    labels,
    naming,
    rootChainId: chainId,
    isConfigured: () => false,
    nodes: async (_, { method }) => (method === "debug_traceTransaction" ? trace : undefined),
  });

  function play({ contract, event, args, address, timestamp, trace: given, ...place }: GivenEvent) {
    trace = given;
    const key = keyOf(`subgraph/${contract}`, event);
    const inputs = declaredEvent(key).inputs.map((input) => [input.name, toArgument(input, args)]);
    return harness.play(key, Object.fromEntries(inputs), {
      chainId,
      block: 1,
      logIndex: 1,
      transactionHash: `0x${"a1".repeat(32)}`,
      sender: `0x${"b2".repeat(20)}`,
      emitter: address ?? `0x${"c3".repeat(20)}`,
      timestamp: Number(timestamp ?? 1),
      ...place,
    });
  }
  return { ...harness, play, entities: () => entitiesOf(harness.rows) };
}

function keyOf(source: string, event: string): string {
  const isWithValue = event === "TextChanged(value)" || event === "TextChangedWithValue";
  const abi = mainnet().sources[source]?.abi ?? [];
  const events = abi.flatMap((item) =>
    item.type === "event" && item.name === (isWithValue ? "TextChanged" : event) ? [item] : [],
  );
  const found = events.find(({ inputs }) => events.length === 1 || inputs.length === (isWithValue ? 4 : 3));
  if (found === undefined) throw new Error(`no event ${source}.${event}`);
  return `${source}:${eventKey(abi, found)}`;
}

function toArgument({ name, type }: AbiParameter, args: Record<string, unknown>): unknown {
  const value = args[name ?? ""];
  if (type.endsWith("[]")) return (value as string[]).map((item) => BigInt(item));
  const bits = /^uint(\d+)$/.exec(type)?.[1];
  if (bits === undefined) return value;
  return Number(bits) <= 48 ? Number(value) : BigInt(value as string);
}

const named = {
  Domain: tables.domain,
  Account: tables.account,
  Registration: tables.registration,
  WrappedDomain: tables.wrappedDomain,
  Resolver: tables.resolver,
};

function entitiesOf(
  rows: ReturnType<typeof createMemoryStore>["rows"],
): Record<string, Record<string, Entity>> {
  const result: Record<string, Record<string, Entity>> = {};
  const add = (type: string, row: Entity) => {
    result[type] = { ...result[type], [String(row["id"])]: entityOf(type, row) };
  };
  for (const [type, table] of Object.entries(named)) for (const row of rows(table)) add(type, row);
  for (const table of [tables.domainEvent, tables.registrationEvent, tables.resolverEvent])
    for (const row of rows(table)) add(String(row["type"]), row);
  return result;
}

// Ours; names keep where they live, events the time and place that histories sort by.
const notOriginal = new Set([
  ...["id", "type", "changeBlock", "timestamp", "logIndex"],
  ...["namespace", "chainId", "fromOldRegistry", "primaryNameOf", "fromId", "operatorId"],
]);

// Relations lose their `Id`, big numbers are decimal strings; unset fields and those the original lacks are left out.
function entityOf(type: string, row: Entity): Entity {
  const known = entityTypes.get(type)?.fields;
  const isExtra = (name: string) => {
    const field = known?.get(name);
    return field?.kind === "scalar" && field.extra && !field.isId;
  };
  const fields = Object.entries(row).filter(
    ([name, value]) => value !== null && !notOriginal.has(name) && !isExtra(name),
  );
  return Object.fromEntries(fields.map(([name, value]) => [name.replace(/Id$/, ""), toJson(value)]));
}

function toJson(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(toJson);
  return typeof value === "bigint" ? String(value) : value;
}
