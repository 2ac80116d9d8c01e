import { type AbiEvent, decodeFunctionData, encodeFunctionResult, type Hex } from "viem";
import { threednsMetadataAbi } from "../../abis/names.ts";
import { parseEnvironment } from "../../src/config/environment.ts";
import { contractSources } from "../../src/config/sources.ts";
import type { Namespace } from "../../src/deployments/deployment.ts";
import { namespaces } from "../../src/deployments/namespaces.ts";
import { labelhash } from "../../src/ens/labels.ts";
import { registerHandlers, registerStrictHandlers } from "../../src/handlers/on.ts";
import type { Anomaly } from "../../src/indexing/anomalies.ts";
import { multichainNaming } from "../../src/indexing/naming.ts";
import type { AskNodes } from "../../src/indexing/scope.ts";
import { registerBasenames } from "../../src/plugins/basenames.ts";
import { registerLineanames } from "../../src/plugins/lineanames.ts";
import { registerRegistrars } from "../../src/plugins/registrars.ts";
import { registerSubgraph } from "../../src/plugins/subgraph.ts";
import { registerThreedns } from "../../src/plugins/threedns.ts";
import { createMemoryStore } from "./memory-store.ts";
import { handlers } from "./registry.ts";

/** The one resolver of 3DNS in the harness, on each chain. */
export const threednsResolver: Hex = `0x${"3d".repeat(20)}`;

/** Where and when an event happens; the rest is generated. */
export type Place = {
  chainId?: number;
  block?: number;
  timestamp?: number;
  logIndex?: number;
  transactionHash?: Hex;
  sender?: Hex;
  emitter?: Hex;
  data?: Hex;
  /** Topics of the log, if they differ from those that the event declares. */
  topics?: number;
};

const chainIds: Record<string, number> = {
  subgraph: 1,
  basenames: 8453,
  lineanames: 59144,
  "threedns/threednsOptimism": 10,
  "threedns/threednsBase": 8453,
  "registrars/ensroot": 1,
  "registrars/basenames": 8453,
  "registrars/lineanames": 59144,
};

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
const config = parseEnvironment(
  {
    NAMESPACE: "mainnet",
    LABELS_URL: "file:labels.sqlite",
    ...Object.fromEntries(
      [1, 10, 8453, 59144, 42161, 534352].map((id) => [`RPC_URL_${id}`, "http://localhost"]),
    ),
  },
  () => "",
);
const sources = contractSources({ ...config, datasources: namespace });

// Topics of the event that `<source>:<event>` names, by its declaration.
function topicsOf(name: string): number {
  const [source = "", event = ""] = name.split(":");
  const named = (sources[source]?.abi ?? []).filter(
    (item): item is AbiEvent => item.type === "event" && item.name === event.split("(")[0],
  );
  return 1 + (named[0]?.inputs.filter(({ indexed }) => indexed).length ?? 0);
}

/** All name plugins and `registrars` over one store in memory, fed through their own indexing functions. */
export function createChainsHarness({
  labels = [],
  readContract = async () => {
    throw new Error("no contract is read here");
  },
  nodes = async () => {
    throw new Error("no node is asked here");
  },
}: {
  labels?: readonly string[];
  nodes?: AskNodes;
  readContract?: (request: { address: Hex; args: readonly [bigint] }) => Promise<string>;
} = {}) {
  const store = createMemoryStore();
  const anomalies: Anomaly[] = [];
  const known = new Map(labels.map((label) => [labelhash(label), label]));
  const settings = {
    naming: multichainNaming,
    rootChainId: 1,
    heal: (labelhash: Hex) => known.get(labelhash),
    report: (anomaly: Anomaly) => anomalies.push(anomaly),
    nodes,
    isConfigured: () => true,
  };
  const request = async ({ params: [{ to, data }] }: { params: [{ to: Hex; data: Hex }] }) => {
    const { args } = decodeFunctionData({ abi: threednsMetadataAbi, data });
    const result = await readContract({ address: to, args });
    return encodeFunctionResult({ abi: threednsMetadataAbi, result });
  };
  handlers.clear();
  const events = registerHandlers(settings, () => true);
  registerSubgraph(events, namespace);
  registerBasenames(events, namespace);
  registerLineanames(events, namespace);
  registerThreedns(events, namespace);
  registerRegistrars(
    events,
    namespace,
    registerStrictHandlers(settings, () => true),
  );
  const registered = new Map(handlers);
  let played = 0;

  /** Feeds `<source>:<event>` to its indexing function; each event is the next log unless `place` is given. */
  async function play(name: string, args: Record<string, unknown>, place: Place = {}): Promise<void> {
    const handler = registered.get(name);
    if (!handler) throw new Error(`no handler for ${name}`);
    played += 1;
    const source = Object.keys(chainIds).find((key) => name.startsWith(`${key}/`)) ?? "";
    const chainId = place.chainId ?? chainIds[source] ?? 0;
    const { block = 7, timestamp = 1_700_000_000, logIndex = played } = place;
    await handler({
      event: {
        id: eventId({ chainId, block, timestamp, logIndex }),
        args,
        block: { number: BigInt(block), timestamp: BigInt(timestamp) },
        transaction: {
          hash: place.transactionHash ?? `0x${"7a".repeat(32)}`,
          from: place.sender ?? `0x${"5e".repeat(20)}`,
        },
        log: {
          address: place.emitter ?? `0x${"c0".repeat(20)}`,
          logIndex,
          topics: Array.from({ length: place.topics ?? topicsOf(name) }, () => "0x00"),
          data: place.data ?? "0x",
        },
      },
      context: {
        db: store.db,
        chain: { id: chainId },
        client: { request },
      },
    });
  }

  return { play, rows: store.rows, store, anomalies };
}

/** Ponder's checkpoint of a log: timestamp, chain, block, transaction 0, type 5, log index. */
export function eventId({
  chainId,
  block,
  timestamp,
  logIndex,
}: {
  chainId: number;
  block: number;
  timestamp: number;
  logIndex: number;
}): string {
  const pad = (value: number, digits: number) => String(value).padStart(digits, "0");
  return `${pad(timestamp, 10)}${pad(chainId, 16)}${pad(block, 16)}${pad(0, 16)}5${pad(logIndex, 16)}`;
}
