import { type Abi, type Hex, toEventSelector } from "viem";
import { proxyFactoryAbi, registryV2Abi, resolverV2Abi } from "../../abis/ensv2.ts";
import { erc1155TransferAbi } from "../../abis/names.ts";
import { dnsResolverAbi, resolverRecordsAbi } from "../../abis/resolver.ts";
import packageJson from "../../package.json" with { type: "json" };
import type { Deployment } from "../deployments/deployment.ts";
import { type Deployed, deployedContracts, namesKey } from "../deployments/namespaces.ts";
import { chainName } from "./chains.ts";
import type { Config } from "./environment.ts";
import { findAbi, findDeployment, listRoles, type PluginId, pluginIds } from "./plugins.ts";

/** Contracts that a factory deployed, from their deployment on, in the form of Ponder's configuration. */
type Children = { address: Hex; event: (typeof proxyFactoryAbi)[0]; parameter: "proxyAddress" };

/**
 * One of Ponder's contract entries: logs of one or many contracts, by chain name, and the settings that decide rows.
 */
export type ContractEntry = {
  abi: Abi;
  chain: Record<string, { address?: Hex | Children; startBlock: number; endBlock?: number }>;
  rowRules: ReturnType<typeof pickRowRules>;
};

/** A contract entry before resolver entries are fitted to each other. */
type PlannedEntry = {
  key: string;
  entry: ContractEntry;
  /**
   * The resolver events that a names plugin reads; `every` for those of `protocol-acceleration`, `registries` for
   * registries of ENSv2.
   */
  resolver?: "records" | "dns" | "registries" | "every";
};

/**
 * The settings that decide rows besides contracts and code. A change changes the build id (ponder: only contract
 * entries are hashed).
 */
function pickRowRules({ namespace, plugins, isSubgraphCompatible, ...config }: Config) {
  const { labelSetId, labelSetVersion } = config.labelSet;
  return {
    namespace,
    // Handlers run in the fixed order, whatever the order in PLUGINS.
    plugins: pluginIds.filter((id) => plugins.includes(id)),
    isSubgraphCompatible,
    labelSetId,
    // A healed index stays the same one.
    labelSetVersion: config.firstLabelSetVersion ?? labelSetVersion,
    normalization: packageJson.dependencies["@adraffy/ens-normalize"],
  };
}

const never = Number.POSITIVE_INFINITY;
const pickEnd = (endBlock: number) => (endBlock === never ? {} : { endBlock });

/**
 * A contract's entry between START_BLOCK and END_BLOCK, if anything of it is read. `address` replaces its own; null:
 * any.
 */
function planEntry(
  { blockRange, datasources, ...config }: Config,
  { datasourceId, name, chainId, ...deployed }: Omit<Deployed, "contract" | "group">,
  { key, abi, resolver }: { key: string; abi: Abi | undefined; resolver?: PlannedEntry["resolver"] & string },
  address: Hex | Children | null | undefined = deployed.address,
): PlannedEntry[] {
  const source = datasources[datasourceId]?.contracts[name];
  if (source === undefined || abi === undefined) return [];
  const startBlock = Math.max(source.startBlock, blockRange.startBlock ?? 0);
  const endBlock = Math.min(source.endBlock ?? never, blockRange.endBlock ?? never);
  if (startBlock > endBlock) return [];
  const range = { ...(address ? { address } : {}), startBlock, ...pickEnd(endBlock) };
  const rowRules = pickRowRules({ blockRange, datasources, ...config });
  const entry = { abi, chain: { [chainName(chainId)]: range }, rowRules };
  return [{ key, entry, ...(resolver ? { resolver } : {}) }];
}

/** Ponder's contract entries by key. */
export type ContractSources = Record<string, ContractEntry>;

/**
 * Ponder's contract entries of the active plugins, keyed `<plugin>/<Contract>`, or `<plugin>/<datasource>/<Contract>`
 * if a plugin has several datasources. Handlers of one log run in key order, that of `pluginIds`. Contracts that the
 * namespace lacks are omitted.
 */
export function contractSources(config: Config): ContractSources {
  const entries = pluginIds
    .filter((id) => config.plugins.includes(id))
    .flatMap((id) => {
      const deployment = findDeployment(id);
      return deployment ? planNamesEntries(config, deployment, id) : planCrossingEntries(config, id);
    });
  return Object.fromEntries(fitted(entries).map(({ key, entry }) => [key, entry]));
}

/** The blocks of a chain that entries read, and their logs by events: of some contracts, or of all (`null`). */
export function logFilters(sources: readonly ContractEntry[], chain: string) {
  const ranges = sources.flatMap(({ abi, chain: { [chain]: range } }) => (range ? [{ ...range, abi }] : []));
  const known = ranges.filter(({ address }) => typeof address === "string");
  const open = ranges.filter(({ address }) => address === undefined);
  const addresses = [...new Set(known.map(({ address }) => String(address).toLowerCase()))];
  return {
    first: Math.min(...ranges.map(({ startBlock }) => startBlock)),
    last: Math.max(...ranges.map(({ endBlock }) => endBlock ?? Number.POSITIVE_INFINITY)),
    filters: [
      { addresses, topics: listTopics(known) },
      { addresses: null, topics: listTopics(open) },
    ].filter(({ topics }) => topics.length > 0),
  };
}

const listTopics = (of: readonly { abi: Abi }[]): Hex[] => [
  ...new Set(
    of.flatMap(({ abi }) => abi.flatMap((item) => (item.type === "event" ? [toEventSelector(item)] : []))),
  ),
];

function planNamesEntries(config: Config, deployment: Deployment, plugin: PluginId): PlannedEntry[] {
  return deployedContracts(config.datasources, listRoles(plugin), [deployment]).flatMap((deployed) => {
    const { contract, name } = deployed;
    const keyOf = (named: string) => namesKey(deployment, deployed.datasourceId, named);
    const own = { key: keyOf(name), abi: findAbi(contract) };
    if (contract.role === "v2Registry") return planRegistryEntries(config, deployed, keyOf);
    if (contract.role === "v2Factory") return planFactoryEntries(config, deployed, keyOf);
    if (contract.role !== "resolver") return planEntry(config, deployed, own);
    const records = planEntry(config, deployed, { ...own, resolver: "records" });
    // The original subgraph has no text records of DNS resolvers.
    if (config.isSubgraphCompatible) return records;
    const dns = { key: keyOf(`DNS${name}`), abi: dnsResolverAbi, resolver: "dns" } as const;
    return [...records, ...planEntry(config, deployed, dns)];
  });
}

type KeyOf = (contract: string) => string;

// Any contract can be a registry, and may be put into the tree long after its first logs: registry events are read of
// every contract. ERC-1155 transfers are read of the deployment's own registries and of those that its factory
// deployed.
function planRegistryEntries(config: Config, deployed: Deployed, keyOf: KeyOf): PlannedEntry[] {
  const { name, contract } = deployed;
  const own = planEntry(config, deployed, { key: keyOf(name), abi: erc1155TransferAbi });
  if (contract.role !== "v2Registry" || !contract.isRoot) return own;
  const every = { key: keyOf("Registries"), abi: registryV2Abi, resolver: "registries" } as const;
  return [...planEntry(config, deployed, every, null), ...own];
}

function planFactoryEntries(config: Config, deployed: Deployed, keyOf: KeyOf): PlannedEntry[] {
  const { name, address } = deployed;
  if (address === undefined) return [];
  const [event] = proxyFactoryAbi;
  const children = { address, event, parameter: "proxyAddress" } as const;
  return [
    ...planEntry(config, deployed, { key: keyOf(name), abi: proxyFactoryAbi }),
    ...planEntry(config, deployed, { key: keyOf("ProxyTokens"), abi: erc1155TransferAbi }, children),
    ...planEntry(config, deployed, { key: keyOf("ProxyRecords"), abi: resolverV2Abi }, children),
  ];
}

// `registrars` goes deployment by deployment, so that a registrar precedes its controllers; the others go role by role.
function planCrossingEntries(config: Config, plugin: PluginId): PlannedEntry[] {
  // Sales of ENSv2 count if its registries are indexed.
  const roles = listRoles(plugin).filter(
    (role) => role !== "v2Registrar" || config.plugins.includes("ensv2"),
  );
  return (plugin === "registrars" ? [roles] : roles.map((role) => [role])).flatMap((together) => {
    if (together.includes("resolver")) return planEveryResolver(config);
    return deployedContracts(config.datasources, together).flatMap((deployed) => {
      const key = `${plugin}/${deployed.datasourceId}/${deployed.name}`;
      return planEntry(config, deployed, { key, abi: findAbi(deployed.contract) });
    });
  });
}

// Every contract of a chain, from the first block at which a datasource has a resolver. One entry covers all chains, so
// that a chain with several datasources is read once.
function planEveryResolver(config: Config): PlannedEntry[] {
  const plan = { key: "protocol-acceleration/Resolver", abi: resolverRecordsAbi, resolver: "every" } as const;
  const entries = deployedContracts(config.datasources, ["resolver"]).flatMap((deployed) =>
    planEntry(config, deployed, plan, null),
  );
  const [first] = entries;
  if (first === undefined) return [];
  const every: ContractEntry["chain"] = {};
  for (const [name, range] of entries.flatMap(({ entry }) => Object.entries(entry.chain))) {
    const { startBlock, endBlock = never } = every[name] ?? range;
    every[name] = {
      startBlock: Math.min(startBlock, range.startBlock),
      ...pickEnd(Math.max(endBlock, range.endBlock ?? never)),
    };
  }
  return [{ ...first, entry: { ...first.entry, chain: every } }];
}

/**
 * Fits the entries so that each resolver event is in only one of them. If one matches all contracts of a chain from
 * some block on, those after it end before that block or are dropped (an end of the first is not compensated); on Base
 * the 3DNS resolver is such a contract. Where `protocol-acceleration` reads every resolver of a chain anyway, its entry
 * stays and the others lose their address: Ponder sends equal filters once, but would fetch the same logs again for a
 * narrower one. The handlers must check the emitter.
 */
function fitted(entries: readonly PlannedEntry[]): PlannedEntry[] {
  const every = entries.filter(({ resolver }) => resolver === "every");
  const shared = new Set(every.flatMap(({ entry }) => Object.keys(entry.chain)));
  const coveredFrom = new Map<string, number>();
  return entries.flatMap((plan) => {
    const { resolver, entry } = plan;
    if (resolver === undefined || resolver === "every") return [plan];
    const chain: ContractEntry["chain"] = {};
    for (const [name, { address, ...range }] of Object.entries(entry.chain)) {
      const key = `${resolver} ${name}`;
      const covered = coveredFrom.get(key) ?? never;
      if (address === undefined) coveredFrom.set(key, Math.min(covered, range.startBlock));
      const endBlock = Math.min(range.endBlock ?? never, covered - 1);
      const own = address === undefined || shared.has(name) ? {} : { address };
      if (endBlock >= range.startBlock) chain[name] = { ...own, ...range, ...pickEnd(endBlock) };
    }
    return Object.keys(chain).length === 0 ? [] : [{ ...plan, entry: { ...entry, chain } }];
  });
}
