import type { Abi, Hex } from "viem";
import { baseRegistrarAbi } from "../../abis/base-registrar.ts";
import { nameWrapperAbi } from "../../abis/name-wrapper.ts";
import {
  legacyControllerAbi,
  unwrappedControllerAbi,
  wrappedControllerAbi,
} from "../../abis/registrar-controllers.ts";
import { registryAbi } from "../../abis/registry.ts";
import { dnsResolverAbi, resolverAbi } from "../../abis/resolver.ts";
import packageJson from "../../package.json" with { type: "json" };
import { chainName, type Datasource } from "../datasources/datasources.ts";
import type { Config } from "./environment.ts";

const normalizationVersion = packageJson.dependencies["@adraffy/ens-normalize"];

/** What a contract entry carries besides its addresses: settings that decide rows, so that Ponder's build id covers them. */
export type RowRules = {
  namespace: string;
  plugins: readonly string[];
  isSubgraphCompatible: boolean;
  labelSetId: string;
  labelSetVersion: number;
  normalization: string;
};

type Entry<A extends Abi> = {
  abi: A;
  chain: Record<string, { address?: Hex; startBlock: number; endBlock?: number }>;
  rowRules: RowRules;
};

/**
 * Ponder's contract entries of the active plugins, keyed `<plugin>/<Contract>`; for one log, handlers run in key order.
 * The type names every entry that there can be.
 */
export function contractSources(config: Config) {
  const sources = config.plugins.includes("subgraph") ? subgraphSources(config) : {};
  return Object.fromEntries(Object.entries(sources).filter(([, source]) => source !== undefined)) as {
    [K in keyof ReturnType<typeof subgraphSources>]: NonNullable<ReturnType<typeof subgraphSources>[K]>;
  };
}

/**
 * Ponder's contract entries of the plugin `subgraph`, keyed `subgraph/<Contract>`; for one log, handlers run in key order.
 * Contracts that the namespace does not have are left out.
 */
export function subgraphSources(config: Config) {
  const source = sourceOf(config, "ensroot");
  return {
    "subgraph/ENSv1RegistryOld": source("ENSv1RegistryOld", registryAbi),
    "subgraph/ENSv1Registry": source("ENSv1Registry", registryAbi),
    "subgraph/Resolver": source("Resolver", resolverAbi),
    // Text records of DNS resolvers: an addition that the original does not have.
    "subgraph/DNSResolver": config.isSubgraphCompatible ? undefined : source("Resolver", dnsResolverAbi),
    "subgraph/BaseRegistrar": source("BaseRegistrar", baseRegistrarAbi),
    "subgraph/LegacyEthRegistrarController": source("LegacyEthRegistrarController", legacyControllerAbi),
    "subgraph/WrappedEthRegistrarController": source("WrappedEthRegistrarController", wrappedControllerAbi),
    "subgraph/UnwrappedEthRegistrarController": source(
      "UnwrappedEthRegistrarController",
      unwrappedControllerAbi,
    ),
    "subgraph/NameWrapper": source("NameWrapper", nameWrapperAbi),
  };
}

/** The settings that decide rows besides contracts and code. Their change changes the build id (ponder: only contract entries are hashed). */
export function rowRulesOf({ namespace, plugins, isSubgraphCompatible, labelSet }: Config): RowRules {
  return { namespace, plugins, isSubgraphCompatible, ...labelSet, normalization: normalizationVersion };
}

function sourceOf(config: Config, datasourceId: string) {
  const datasource = config.datasources[datasourceId];
  return <A extends Abi>(contract: string, abi: A): Entry<A> | undefined => {
    const range = datasource && rangeOf(config, datasource, contract);
    if (datasource === undefined || range === undefined) return undefined;
    return { abi, chain: { [chainName(datasource.chainId)]: range }, rowRules: rowRulesOf(config) };
  };
}

// START_BLOCK and END_BLOCK cut a contract's own range; a contract that lies wholly outside has nothing to index.
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
