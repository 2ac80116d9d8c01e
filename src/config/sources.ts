import type { Abi } from "viem";
import { resolverRecordsAbi } from "../../abis/resolver.ts";
import type { Deployment } from "../deployments/deployment.ts";
import { type Deployed, deployedContracts, namesKey } from "../deployments/namespaces.ts";
import { type ContractEntry, entryOf, type PlannedEntry } from "./contract-entry.ts";
import type { Config } from "./environment.ts";
import { abiFor, deploymentOf, type PluginId, pluginIds, rolesOf } from "./plugins.ts";
import { withoutRepeatedResolvers, withSharedFilters } from "./resolver-ranges.ts";

/** Ponder's contract entries by key. */
export type ContractSources = Record<string, ContractEntry>;

/**
 * Ponder's contract entries of the active plugins, keyed `<plugin>/<Contract>`, or `<plugin>/<datasource>/<Contract>` where
 * a plugin has several datasources. For one log, handlers run in key order: that of `pluginIds`.
 * Contracts that the namespace does not have are left out.
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

// A deployment's own plugin: contract by contract.
function namesEntries(config: Config, deployment: Deployment, plugin: PluginId): PlannedEntry[] {
  return deployedContracts(config.datasources, rolesOf(plugin), [deployment]).flatMap((deployed) => {
    const { datasourceId, name, contract } = deployed;
    const key = namesKey(deployment, datasourceId, name);
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

// `registrars` goes deployment by deployment, so that a registrar stands before its controllers; the others role by role.
function crossingEntries(config: Config, plugin: PluginId): PlannedEntry[] {
  const roles = rolesOf(plugin);
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

// Every contract of a chain, from the first block in which one of its datasources has a resolver: one entry for all chains,
// so that a chain of several datasources is not read twice. Where these begin at different blocks, what comes before the
// last of them has an entry of its own: the other plugins' entries change over there too, and Ponder fetches once what has
// equal ranges.
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
