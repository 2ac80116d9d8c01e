import { type Abi, type AbiEvent, type AbiParameter, encodeEventTopics, type Hex } from "viem";
import { nameWrapperAbi, registryAbi } from "../../abis/names.ts";
import {
  baseRegistrarAbi,
  legacyControllerAbi,
  unwrappedControllerAbi,
  wrappedControllerAbi,
} from "../../abis/registrars.ts";
import { resolverAbi } from "../../abis/resolver.ts";
import { entityTypes } from "../../src/api/subgraph/schema/entities.ts";
import { namespaces } from "../../src/deployments/namespaces.ts";
import { labelhash } from "../../src/ens/labels.ts";
import { registerHandlers } from "../../src/handlers/on.ts";
import type { Anomaly } from "../../src/indexing/anomalies.ts";
import { type Naming, subgraphNaming } from "../../src/indexing/naming.ts";
import type { Settings } from "../../src/indexing/scope.ts";
import { registerSubgraph } from "../../src/plugins/subgraph.ts";
import * as tables from "../../src/schema/subgraph.ts";
import { createMemoryStore } from "./memory-store.ts";
import { handlers } from "./registry.ts";

const abis: Record<string, Abi> = {
  ENSv1RegistryOld: registryAbi,
  ENSv1Registry: registryAbi,
  Resolver: resolverAbi,
  BaseRegistrar: baseRegistrarAbi,
  LegacyEthRegistrarController: legacyControllerAbi,
  WrappedEthRegistrarController: wrappedControllerAbi,
  UnwrappedEthRegistrarController: unwrappedControllerAbi,
  NameWrapper: nameWrapperAbi,
};

/** An event as the fixtures write it: big numbers as decimal strings. */
export type GivenEvent = {
  contract: keyof typeof abis & string;
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

/** The rules of the plugin `subgraph` over a store in memory, fed through the plugin's own indexing functions. */
export function createRulesHarness({
  labels = [],
  naming = subgraphNaming,
  chainId = 1,
}: {
  labels?: readonly string[];
  naming?: Naming;
  chainId?: number;
} = {}) {
  const store = createMemoryStore();
  const anomalies: Anomaly[] = [];
  let trace: unknown;
  const known = new Map(labels.map((label) => [labelhash(label), label]));
  handlers.clear();
  const settings: Settings = {
    naming,
    rootChainId: chainId,
    heal: (labelhash) => known.get(labelhash),
    report: (anomaly) => anomalies.push(anomaly),
    nodes: async (_, { method }) => (method === "debug_traceTransaction" ? trace : undefined),
    isConfigured: () => false,
  };
  registerSubgraph(
    registerHandlers(settings, () => true),
    namespaces.mainnet,
  );
  const registered = new Map(handlers);

  async function play(given: GivenEvent): Promise<void> {
    const { item, name } = abiEventOf(given);
    trace = given.trace;
    const handler = registered.get(`subgraph/${given.contract}:${name}`);
    if (!handler) throw new Error(`no handler for ${given.contract}:${name}`);
    const args = Object.fromEntries(item.inputs.map((input) => [input.name, toArgument(input, given.args)]));
    await handler({
      event: {
        id: "0".repeat(75),
        args,
        block: { number: BigInt(given.block ?? 1), timestamp: BigInt(given.timestamp ?? 1) },
        transaction: {
          hash: given.transactionHash ?? `0x${"a1".repeat(32)}`,
          from: given.sender ?? `0x${"b2".repeat(20)}`,
        },
        log: {
          address: given.address ?? `0x${"c3".repeat(20)}`,
          logIndex: given.logIndex ?? 1,
          topics: encodeEventTopics({ abi: [item] }).concat(
            item.inputs.filter(({ indexed }) => indexed).map(() => "0x00"),
          ),
          data: given.data ?? "0x",
        },
      },
      context: { db: store.db, chain: { id: chainId } },
    });
  }

  return { play, entities: () => entitiesOf(store), store, anomalies };
}

function abiEventOf({ contract, event }: GivenEvent): { item: AbiEvent; name: string } {
  const isWithValue = event === "TextChanged(value)" || event === "TextChangedWithValue";
  const plainName = isWithValue ? "TextChanged" : event;
  const events = (abis[contract] ?? []).filter(
    (item) => item.type === "event" && item.name === plainName,
  ) as AbiEvent[];
  const item = events.find(({ inputs }) => events.length === 1 || inputs.length === (isWithValue ? 4 : 3));
  if (!item) throw new Error(`no event ${contract}.${event}`);
  if (events.length === 1) return { item, name: plainName };
  const inputs = item.inputs.map(({ type, indexed, name }) => `${type}${indexed ? " indexed" : ""} ${name}`);
  return { item, name: `${plainName}(${inputs.join(", ")})` };
}

function toArgument({ name, type }: AbiParameter, args: Record<string, unknown>): unknown {
  const value = args[name ?? ""];
  if (type.endsWith("[]")) return (value as string[]).map((item) => BigInt(item));
  const bits = /^uint(\d+)$/.exec(type)?.[1];
  if (bits === undefined) return value;
  return Number(bits) <= 48 ? Number(value) : BigInt(value as string);
}

function entitiesOf({ rows }: ReturnType<typeof createMemoryStore>): Record<string, Record<string, Entity>> {
  const result: Record<string, Record<string, Entity>> = {};
  const add = (type: string, row: Entity) => {
    result[type] = { ...result[type], [String(row["id"])]: entityOf(type, row) };
  };
  for (const row of rows(tables.domain)) add("Domain", row);
  for (const row of rows(tables.account)) add("Account", row);
  for (const row of rows(tables.registration)) add("Registration", row);
  for (const row of rows(tables.wrappedDomain)) add("WrappedDomain", row);
  for (const row of rows(tables.resolver)) add("Resolver", row);
  for (const table of [tables.domainEvent, tables.registrationEvent, tables.resolverEvent]) {
    for (const row of rows(table)) add(String(row["type"]), row);
  }
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
