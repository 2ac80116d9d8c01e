import type { Abi } from "viem";
import { referralRenewalsAbi, reverseRegistrarAbi } from "../../abis/registrars.ts";
import { registryAbi, registryResolverAbi } from "../../abis/registry.ts";
import { resolverAbi, resolverRecordsAbi } from "../../abis/resolver.ts";
import { threednsNamesAbi, threednsTokenAbi } from "../../abis/threedns.ts";
import { erc721TransferAbi, erc1155TransferAbi, nameWrapperAbi, seaportAbi } from "../../abis/tokens.ts";
import type { Contract, Deployment, Namespace, Role } from "../deployments/deployment.ts";
import { deployments } from "../deployments/deployments.ts";
import { rootDatasource } from "../deployments/ens.ts";
import { contractGroups } from "../deployments/namespaces.ts";

// The ABI by which a plugin reads contracts of a role; "own" is the one that the contract's description has.
type Reads = { readonly [R in Role]?: Abi | "own" };

// What the plugin of a deployment reads of it.
const names: Reads = {
  registry: registryAbi,
  resolver: resolverAbi,
  baseRegistrar: "own",
  controller: "own",
  nameWrapper: nameWrapperAbi,
  threednsToken: threednsTokenAbi,
};

// What the other plugins read of every deployment that there is. They need the root chain only, so that networks without
// the other chains can have them too.
const crossing = {
  "protocol-acceleration": {
    registry: registryResolverAbi,
    threednsToken: threednsNamesAbi,
    resolver: resolverRecordsAbi,
    reverseRegistrar: reverseRegistrarAbi,
  },
  registrars: { baseRegistrar: "own", controller: "own", referrals: referralRenewalsAbi },
  tokenscope: {
    baseRegistrar: erc721TransferAbi,
    nameWrapper: erc1155TransferAbi,
    threednsToken: erc1155TransferAbi,
    marketplace: seaportAbi,
  },
} as const satisfies Record<string, Reads>;

type CrossingId = keyof typeof crossing;
const crossingIds = Object.keys(crossing) as CrossingId[];

export type PluginId = (typeof deployments)[number]["plugin"] | CrossingId;

/** All plugins, in the order in which their handlers see one log. */
export const pluginIds: readonly PluginId[] = [...deployments.map(({ plugin }) => plugin), ...crossingIds];

/** The ABI by which a plugin reads a contract, undefined if it does not. */
export function abiFor(plugin: PluginId, contract: Contract): Abi | undefined {
  const abi = readsOf(plugin)[contract.role];
  if (abi !== "own") return abi;
  return "abi" in contract ? contract.abi : undefined;
}

/** The roles that a plugin reads. */
export function rolesOf(plugin: PluginId): Role[] {
  return Object.keys(readsOf(plugin)) as Role[];
}

/** The deployment whose names a plugin indexes; undefined for plugins of all deployments. */
export function deploymentOf(plugin: PluginId): Deployment | undefined {
  return deployments.find((deployment) => deployment.plugin === plugin);
}

/** Datasources that a plugin indexes in a namespace, in the plugin's order. */
export function datasourcesOf(plugin: PluginId, namespace: Namespace): string[] {
  const groups = contractGroups.filter(({ contracts }) =>
    Object.values(contracts).some((contract) => abiFor(plugin, contract) !== undefined),
  );
  const ids = deploymentOf(plugin)?.datasources ?? groups.flatMap(({ datasources }) => datasources);
  return ids.filter((id) => namespace[id] !== undefined);
}

/** Required datasources that the namespace lacks. */
export function missingDatasources(plugin: PluginId, namespace: Namespace): string[] {
  const required = deploymentOf(plugin)?.datasources ?? [rootDatasource];
  return required.filter((id) => namespace[id] === undefined);
}

/** Ids of all chains that the plugins index: plugin by plugin, datasource by datasource, at first occurrence. */
export function indexedChainIds(active: readonly PluginId[], namespace: Namespace): number[] {
  const chainIds = active.flatMap((plugin) =>
    datasourcesOf(plugin, namespace).flatMap((id) => namespace[id]?.chainId ?? []),
  );
  return [...new Set(chainIds)];
}

function readsOf(plugin: PluginId): Reads {
  return crossingIds.some((id) => id === plugin) ? crossing[plugin as CrossingId] : names;
}
