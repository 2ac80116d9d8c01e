import type { Abi } from "viem";
import { accountFactoryAbi, labelStoreAbi, leaseAbi, proxyFactoryAbi } from "../../abis/ensv2.ts";
import {
  erc1155TransferAbi,
  nameWrapperAbi,
  registryAbi,
  seaportAbi,
  threednsTokenAbi,
} from "../../abis/names.ts";
import { baseRegistrarAbi, referralRenewalsAbi, reverseRegistrarAbi } from "../../abis/registrars.ts";
import { resolverAbi } from "../../abis/resolver.ts";
import type { Contract, Deployment, Namespace, Role } from "../deployments/deployment.ts";
import { deployments } from "../deployments/deployments.ts";
import { rootDatasource } from "../deployments/ens.ts";
import { contractGroups } from "../deployments/namespaces.ts";
import { findNearest } from "../log/nearest.ts";

/** ABIs of contracts by role; a controller has its own. Only events that have a handler are read. */
const abis: { readonly [R in Role]?: Abi } = {
  registry: registryAbi,
  resolver: resolverAbi,
  baseRegistrar: baseRegistrarAbi,
  referrals: referralRenewalsAbi,
  nameWrapper: nameWrapperAbi,
  threednsToken: threednsTokenAbi,
  reverseRegistrar: reverseRegistrarAbi,
  marketplace: seaportAbi,
  v2Registry: erc1155TransferAbi,
  v2Factory: proxyFactoryAbi,
  v2Registrar: leaseAbi,
  v2LabelStore: labelStoreAbi,
  v2AccountFactory: accountFactoryAbi,
};

/** Roles that the plugin of a deployment reads. */
const deploymentRoles: readonly Role[] = [
  "registry",
  "resolver",
  "baseRegistrar",
  "controller",
  "nameWrapper",
  "threednsToken",
  "v2Registry",
  "v2Factory",
  "v2LabelStore",
  "v2AccountFactory",
];

/**
 * Roles that the other plugins read of every deployment. They require only the root chain, so that networks without the
 * others work.
 */
const crossDeploymentRoles = {
  "protocol-acceleration": ["registry", "threednsToken", "resolver", "reverseRegistrar"],
  registrars: ["baseRegistrar", "controller", "referrals", "v2Registrar"],
  tokenscope: ["baseRegistrar", "nameWrapper", "threednsToken", "marketplace"],
} as const satisfies Record<string, readonly Role[]>;

type CrossingId = keyof typeof crossDeploymentRoles;

const crossingIds = Object.keys(crossDeploymentRoles) as CrossingId[];

export type PluginId = (typeof deployments)[number]["plugin"] | CrossingId;

/** All plugins, in the order in which their handlers see a log. */
export const pluginIds: readonly PluginId[] = [...deployments.map(({ plugin }) => plugin), ...crossingIds];

/** The ABI of a contract; undefined if no event of it is read. */
export const findAbi = (contract: Contract): Abi | undefined =>
  contract.role === "controller" ? contract.abi : abis[contract.role];

/** The roles that a plugin reads. */
export function listRoles(plugin: PluginId): readonly Role[] {
  return plugin in crossDeploymentRoles ? crossDeploymentRoles[plugin as CrossingId] : deploymentRoles;
}

/** The deployment whose names a plugin indexes; undefined for plugins of all deployments. */
export function findDeployment(plugin: PluginId): Deployment | undefined {
  return deployments.find((deployment) => deployment.plugin === plugin);
}

/** Datasources that a plugin indexes in a namespace, in the plugin's order. */
export function listDatasources(plugin: PluginId, namespace: Namespace): string[] {
  const groups = contractGroups.filter(({ contracts }) =>
    Object.values(contracts).some(({ role }) => listRoles(plugin).includes(role)),
  );
  const ids = findDeployment(plugin)?.datasources ?? groups.flatMap(({ datasources }) => datasources);
  return ids.filter((id) => namespace[id] !== undefined);
}

/** The required datasources that the namespace lacks. */
export function missingDatasources(plugin: PluginId, namespace: Namespace): string[] {
  const deployment = findDeployment(plugin);
  const required = deployment?.required ?? deployment?.datasources ?? [rootDatasource];
  return required.filter((id) => namespace[id] === undefined);
}

/** Ids of all chains that the plugins index: plugin by plugin, datasource by datasource, at first occurrence. */
export function indexedChainIds(active: readonly PluginId[], namespace: Namespace): number[] {
  const chainIds = active.flatMap((plugin) =>
    listDatasources(plugin, namespace).flatMap((id) => namespace[id]?.chainId ?? []),
  );
  return [...new Set(chainIds)];
}

/**
 * The plugins that PLUGINS names, in its order; if unset, all that the namespace has contracts for. Adds to `faults`.
 */
export function pluginsFrom(
  text: string | undefined,
  isSubgraphCompatible: boolean,
  datasources: Namespace,
  faults: string[],
): PluginId[] {
  if (text === undefined) {
    if (isSubgraphCompatible) return ["subgraph"];
    return pluginIds.filter((id) => missingDatasources(id, datasources).length === 0);
  }
  const ids = text.split(",").map((id) => id.trim());
  const unknown = ids.filter((id) => !pluginIds.some((plugin) => plugin === id));
  if (unknown.length > 0) {
    const described = unknown.map((id) => {
      const near = findNearest(id, pluginIds);
      return near === undefined ? `"${id}"` : `"${id}" (did you mean "${near}"?)`;
    });
    faults.push(`Unknown plugin in PLUGINS: ${described.join(", ")}. Choose from: ${pluginIds.join(", ")}.`);
  }
  const repeated = [...new Set(ids.filter((id, i) => ids.indexOf(id) !== i))];
  if (repeated.length > 0)
    faults.push(`PLUGINS names ${repeated.join(", ")} more than once. Name each plugin once.`);
  return pluginIds.filter((id) => ids.includes(id)).sort((a, b) => ids.indexOf(a) - ids.indexOf(b));
}

/** What plugins need and the namespace lacks, a sentence each. */
export function namespaceFaults(namespace: string, datasources: Namespace, active: PluginId[]): string[] {
  return active.flatMap((plugin) => {
    const missing = missingDatasources(plugin, datasources);
    if (missing.length === 0) return [];
    return [
      `Plugin "${plugin}" needs ${missing.join(", ")}, which namespace "${namespace}" lacks. Take it out of PLUGINS or add the contracts in DATASOURCES_FILE.`,
    ];
  });
}
