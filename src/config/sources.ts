import { type Abi, type Hex, toEventSelector } from "viem";
import { proxyFactoryAbi, registryV2Abi, resolverV2Abi } from "../../abis/ensv2.ts";
import { erc1155TransferAbi } from "../../abis/names.ts";
import { resolverRecordsAbi } from "../../abis/resolver.ts";
import packageJson from "../../package.json" with { type: "json" };
import type { Datasource, Deployment } from "../deployments/deployment.ts";
import { type Deployed, deployedContracts, namesKey } from "../deployments/namespaces.ts";
import { chainName } from "./chains.ts";
import type { Config } from "./environment.ts";
import { abiFor, deploymentOf, type PluginId, pluginIds, rolesOf } from "./plugins.ts";

const normalizationVersion = packageJson.dependencies["@adraffy/ens-normalize"];

/** What a contract entry carries besides its addresses: settings that decide rows, so that Ponder's build id covers them. */
type RowRules = {
  namespace: string;
  plugins: readonly string[];
  isSubgraphCompatible: boolean;
  labelSetId: string;
  labelSetVersion: number;
  normalization: string;
};

/** The contracts that a factory deployed, from the block of their deployment on, as Ponder's configuration names them. */
type Children = { address: Hex; event: (typeof proxyFactoryAbi)[0]; parameter: "proxyAddress" };

/** One of Ponder's contract entries: the logs of one contract, or of many, by the chain's name. */
export type ContractEntry = {
  abi: Abi;
  chain: Record<string, { address?: Hex | Children; startBlock: number; endBlock?: number }>;
  rowRules: RowRules;
};

/** A contract entry before the entries of resolvers are fitted to each other. */
export type PlannedEntry = {
  key: string;
  entry: ContractEntry;
  /**
   * For resolvers: which of their events a names plugin reads; `every` for those of `protocol-acceleration`. `registries`
   * for the registries of the second generation.
   */
  resolver?: "records" | "dns" | "registries" | "every";
};

/** The entry of a datasource's contract; undefined where the namespace or the block range lacks it. */
function entryOf(
  config: Config,
  { datasourceId, contract, abi }: { datasourceId: string; contract: string; abi: Abi },
): ContractEntry | undefined {
  const datasource = config.datasources[datasourceId];
  const range = datasource && rangeOf(config, datasource, contract);
  if (datasource === undefined || range === undefined) return undefined;
  return { abi, chain: { [chainName(datasource.chainId)]: range }, rowRules: rowRulesOf(config) };
}

/** The settings that decide rows besides contracts and code. Their change changes the build id (ponder: only contract entries are hashed). */
function rowRulesOf({ namespace, plugins, isSubgraphCompatible, labelSet }: Config): RowRules {
  // Handlers run in the fixed order, whatever the configured order of plugins.
  const active = pluginIds.filter((id) => plugins.includes(id));
  return {
    namespace,
    plugins: active,
    isSubgraphCompatible,
    ...labelSet,
    normalization: normalizationVersion,
  };
}

// START_BLOCK and END_BLOCK cut a contract's own range; a contract entirely outside has nothing to index.
function rangeOf({ blockRange }: Config, datasource: Datasource, contract: string) {
  const source = datasource.contracts[contract];
  if (source === undefined) return undefined;
  const startBlock = Math.max(source.startBlock, blockRange.startBlock ?? 0);
  const endBlock = Math.min(
    source.endBlock ?? Number.POSITIVE_INFINITY,
    blockRange.endBlock ?? Number.POSITIVE_INFINITY,
  );
  if (startBlock > endBlock) return undefined;
  return {
    ...(source.address === undefined ? {} : { address: source.address }),
    startBlock,
    ...(endBlock === Number.POSITIVE_INFINITY ? {} : { endBlock }),
  };
}

/** Ponder's contract entries by key. */
export type ContractSources = Record<string, ContractEntry>;

/**
 * Ponder's contract entries of the active plugins, keyed `<plugin>/<Contract>`, or `<plugin>/<datasource>/<Contract>`
 * where a plugin has several datasources. For one log, handlers run in key order: that of `pluginIds`. Contracts that
 * the namespace does not have are omitted.
 */
export function contractSources(config: Config): ContractSources {
  const planned = pluginIds
    .filter((id) => config.plugins.includes(id))
    .flatMap((id) => {
      const deployment = deploymentOf(id);
      return deployment ? namesEntries(config, deployment, id) : crossingEntries(config, id);
    });
  const fitted = withSharedFilters(withoutRepeatedResolvers(planned));
  return Object.fromEntries(fitted.map(({ key, entry }) => [key, entry]));
}

/** Whether a log on the chain of this name may be of one of the entries, by contract and event. */
export function ownLogs(sources: ContractSources, chain: string) {
  const ofAny = new Set<string>();
  const byAddress = new Map<string, Set<string>>();
  for (const { abi, chain: places } of Object.values(sources)) {
    const place = places[chain];
    if (place === undefined) continue;
    const address = typeof place.address === "string" ? place.address.toLowerCase() : undefined;
    const events = address === undefined ? ofAny : (byAddress.get(address) ?? new Set());
    if (address !== undefined) byAddress.set(address, events);
    for (const item of abi) if (item.type === "event") events.add(toEventSelector(item));
  }
  return ({ address, topics: [event = ""] }: { address: string; topics: readonly string[] }): boolean =>
    ofAny.has(event) || (byAddress.get(address.toLowerCase())?.has(event) ?? false);
}

/** The blocks of a chain that are indexed, the filters by which their logs can be read, and which of those logs count. */
export function logFilters(sources: ContractSources, chain: string) {
  const places = Object.values(sources).flatMap(({ abi, chain: { [chain]: place } }) => {
    const topics = abi.flatMap((item) => (item.type === "event" ? [toEventSelector(item)] : []));
    return place === undefined ? [] : [{ ...place, topics }];
  });
  const filter = (of: typeof places, more: object) =>
    of.length === 0 ? [] : [{ ...more, topics: [[...new Set(of.flatMap(({ topics }) => topics))]] }];
  const known = places.filter(({ address }) => typeof address === "string");
  return {
    first: Math.min(...places.map(({ startBlock }) => startBlock)),
    last: Math.max(...places.map(({ endBlock }) => endBlock ?? Number.POSITIVE_INFINITY)),
    filters: [
      ...filter(known, { address: [...new Set(known.map(({ address }) => address))] }),
      ...filter(
        places.filter(({ address }) => address === undefined),
        {},
      ),
    ],
    isOurs: ownLogs(sources, chain),
  };
}

// A deployment's own plugin: contract by contract.
function namesEntries(config: Config, deployment: Deployment, plugin: PluginId): PlannedEntry[] {
  return deployedContracts(config.datasources, rolesOf(plugin), [deployment]).flatMap((deployed) => {
    const { datasourceId, name, contract } = deployed;
    const key = namesKey(deployment, datasourceId, name);
    if (contract.role === "v2Registry") return registryEntries(config, deployment, deployed);
    if (contract.role === "v2Factory") return factoryEntries(config, deployment, deployed);
    if (contract.role !== "resolver")
      return plannedEntry(config, deployed, { key, abi: abiFor(plugin, contract) });
    const records = plannedEntry(config, deployed, {
      key,
      abi: abiFor(plugin, contract),
      resolver: "records",
    });
    // Text records of DNS resolvers are an addition that the original subgraph does not have.
    if (config.isSubgraphCompatible) return records;
    const dnsKey = namesKey(deployment, datasourceId, `DNS${name}`);
    return [
      ...records,
      ...plannedEntry(config, deployed, { key: dnsKey, abi: contract.dnsAbi, resolver: "dns" }),
    ];
  });
}

// A registry may be put into the tree long after its first logs, and any contract can be one: their events are read of every
// contract. ERC-1155 transfers are read of the deployment's own registries and of those that its factory deployed.
function registryEntries(config: Config, deployment: Deployment, deployed: Deployed): PlannedEntry[] {
  const { datasourceId, name, contract } = deployed;
  const key = namesKey(deployment, datasourceId, name);
  const own = plannedEntry(config, deployed, { key, abi: erc1155TransferAbi });
  if (contract.role !== "v2Registry" || !contract.isRoot) return own;
  const every = plannedEntry(config, deployed, {
    key: namesKey(deployment, datasourceId, "Registries"),
    abi: registryV2Abi,
    resolver: "registries",
  });
  return [...every.map((plan) => withAddress(plan, undefined)), ...own];
}

function factoryEntries(config: Config, deployment: Deployment, deployed: Deployed): PlannedEntry[] {
  const { datasourceId, name, address } = deployed;
  if (address === undefined) return [];
  const [event] = proxyFactoryAbi;
  const entry = (contract: string, abi: Abi) =>
    plannedEntry(config, deployed, { key: namesKey(deployment, datasourceId, contract), abi });
  const children = (contract: string, abi: Abi) =>
    entry(contract, abi).map((plan) => withAddress(plan, { address, event, parameter: "proxyAddress" }));
  return [
    ...entry(name, proxyFactoryAbi),
    ...children("ProxyTokens", erc1155TransferAbi),
    ...children("ProxyRecords", resolverV2Abi),
  ];
}

function withAddress(plan: PlannedEntry, address: Children | undefined): PlannedEntry {
  const chain = Object.entries(plan.entry.chain).map(([name, { address: _, ...range }]) => {
    return [name, address === undefined ? range : { address, ...range }] as const;
  });
  return { ...plan, entry: { ...plan.entry, chain: Object.fromEntries(chain) } };
}

// `registrars` goes deployment by deployment, so that a registrar stands before its controllers; the others role by role.
function crossingEntries(config: Config, plugin: PluginId): PlannedEntry[] {
  // What is sold in ENSv2 counts where its registries are indexed.
  const roles = rolesOf(plugin).filter((role) => role !== "v2Registrar" || config.plugins.includes("ensv2"));
  return (plugin === "registrars" ? [roles] : roles.map((role) => [role])).flatMap((together) => {
    if (together.includes("resolver")) return everyResolver(config);
    return deployedContracts(config.datasources, together).flatMap((deployed) => {
      const key = `${plugin}/${deployed.datasourceId}/${deployed.name}`;
      return plannedEntry(config, deployed, { key, abi: abiFor(plugin, deployed.contract) });
    });
  });
}

function plannedEntry(
  config: Config,
  { datasourceId, name }: Deployed,
  { key, abi, resolver }: { key: string; abi: Abi | undefined; resolver?: PlannedEntry["resolver"] & string },
): PlannedEntry[] {
  const entry = abi && entryOf(config, { datasourceId, contract: name, abi });
  return entry ? [{ key, entry, ...(resolver ? { resolver } : {}) }] : [];
}

// Every contract of a chain, from the first block in which one of its datasources has a resolver: one entry for all
// chains, so that a chain of several datasources is not read twice. If these start at different blocks, the range
// before the last of them has its own entry: the other plugins' entries switch there too, and Ponder fetches equal
// ranges only once.
function everyResolver(config: Config): PlannedEntry[] {
  const entries = deployedContracts(config.datasources, ["resolver"]).flatMap(
    ({ datasourceId, name }) =>
      entryOf(config, { datasourceId, contract: name, abi: resolverRecordsAbi }) ?? [],
  );
  const [first] = entries;
  if (first === undefined) return [];
  const early: ContractEntry["chain"] = {};
  const every: ContractEntry["chain"] = {};
  for (const [name, { startBlock, endBlock }] of entries.flatMap((entry) => Object.entries(entry.chain))) {
    const [before, since] = [early[name]?.startBlock, every[name]?.startBlock ?? startBlock];
    const last = Math.max(startBlock, since);
    const begin = Math.min(startBlock, before ?? since);
    every[name] = { startBlock: last, ...(endBlock === undefined ? {} : { endBlock }) };
    if (begin < last) early[name] = { startBlock: begin, endBlock: last - 1 };
  }
  const planned = (name: string, chain: ContractEntry["chain"]): PlannedEntry => ({
    key: `protocol-acceleration/${name}`,
    entry: { ...first, chain },
    resolver: "every",
  });
  const hasEarly = Object.keys(early).length > 0;
  return [...(hasEarly ? [planned("EarlyResolver", early)] : []), planned("Resolver", every)];
}

/**
 * The entries with every resolver event in only one of them: if one matches all contracts of a chain from some block
 * on, those after it end before that block, or are dropped (an end of the first is not compensated). On Base the 3DNS
 * resolver is such a contract. Entries of `protocol-acceleration` are unchanged.
 */
export function withoutRepeatedResolvers(planned: readonly PlannedEntry[]): PlannedEntry[] {
  const coveredFrom = new Map<string, number>();
  return planned.flatMap((plan) => {
    const { entry, resolver } = plan;
    if (resolver === undefined || resolver === "every") return [plan];
    const chain = Object.entries(entry.chain).flatMap(([name, range]) => {
      const covered = coveredFrom.get(`${resolver} ${name}`) ?? Number.POSITIVE_INFINITY;
      if (range.address === undefined)
        coveredFrom.set(`${resolver} ${name}`, Math.min(covered, range.startBlock));
      const endBlock = Math.min(range.endBlock ?? Number.POSITIVE_INFINITY, covered - 1);
      if (endBlock < range.startBlock) return [];
      return [[name, endBlock === Number.POSITIVE_INFINITY ? range : { ...range, endBlock }] as const];
    });
    return chain.length === 0 ? [] : [{ ...plan, entry: { ...entry, chain: Object.fromEntries(chain) } }];
  });
}

/**
 * The entries of resolvers without their address on chains where `protocol-acceleration` reads every resolver anyway: Ponder
 * sends equal filters once, but would fetch the same logs again for a narrower one. Their handlers must check the emitter.
 */
export function withSharedFilters(planned: readonly PlannedEntry[]): PlannedEntry[] {
  const every = planned.filter(({ resolver }) => resolver === "every");
  const shared = new Set(every.flatMap(({ entry }) => Object.keys(entry.chain)));
  return planned.map((plan) => {
    const { entry, resolver } = plan;
    if (resolver === undefined || resolver === "every") return plan;
    const chain = Object.entries(entry.chain).map(([name, { address, ...range }]) => {
      const isOpen = address === undefined || shared.has(name);
      return [name, isOpen ? range : { address, ...range }] as const;
    });
    return { ...plan, entry: { ...entry, chain: Object.fromEntries(chain) } };
  });
}
