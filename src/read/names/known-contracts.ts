import type { Hex } from "viem";
import type { Deployment, Namespace, StaticResolver } from "../../deployments/deployment.ts";
import { deployments } from "../../deployments/deployments.ts";
import { rootDatasource, rootRegistry } from "../../deployments/ens.ts";
import { deployedContracts, listBridges } from "../../deployments/namespaces.ts";
import { reverseRegistrars } from "../../deployments/other-contracts.ts";

/** The root registry, or the registry of a name whose subnames live on another chain. */
export type Registry = { chainId: number; address: Hex };

/** A namespace's contracts that resolution recognizes. */
export type KnownContracts = ReturnType<typeof knownContracts>;

/** Reads the known contracts of a namespace. Throws if it has no root registry. */
export function knownContracts(namespace: Namespace) {
  const root = namespace[rootDatasource];
  const registry = root?.contracts[rootRegistry]?.address;
  if (root === undefined || registry === undefined) throw new Error("The namespace has no registry.");

  const reverse = new Set(
    deployedContracts(namespace, ["reverseResolver"]).map(({ chainId, address }) =>
      buildKey(chainId, address),
    ),
  );
  const statics = new Map(
    deployedContracts(namespace, ["staticResolver", "resolver"]).flatMap(({ contract, chainId, address }) => {
      const kind = contract.role === "resolver" ? contract.static : contract;
      return kind ? [[buildKey(chainId, address), kind] as const] : [];
    }),
  );
  const bridged = new Map(
    deployments.flatMap((deployment: Deployment) => {
      const [target] = deployedContracts(namespace, ["registry"], [deployment]);
      return listBridges(deployment).flatMap((name) => {
        const from = root.contracts[name]?.address;
        if (from === undefined || target?.address === undefined) return [];
        return [
          [buildKey(root.chainId, from), { chainId: target.chainId, address: target.address }] as const,
        ];
      });
    }),
  );
  const reverseChains = reverseRegistrars.datasources.flatMap((id) => namespace[id]?.chainId ?? []);

  return {
    root: { chainId: root.chainId, address: registry },
    universalResolver: root.contracts["UniversalResolver"]?.address,
    /** Chains whose resolvers' records are indexed. */
    indexedChains: new Set(deployedContracts(namespace, ["resolver"]).map(({ chainId }) => chainId)),
    isReverseResolver: (chainId: number, address: Hex) => reverse.has(buildKey(chainId, address)),
    bridgeOf: (chainId: number, address: Hex): Registry | undefined =>
      bridged.get(buildKey(chainId, address)),
    staticResolverOf: (chainId: number, address: Hex): StaticResolver | undefined =>
      statics.get(buildKey(chainId, address)),
    /**
     * Resolvers of a chain that return the default address (ENSIP-19) where an EVM coin type has no record; lower case.
     */
    resolversWithDefault: (chainId: number) =>
      [...statics].flatMap(([key, { hasDefaultAddress }]) => {
        const [chain, address] = key.split(":");
        return hasDefaultAddress && chain === String(chainId) ? [address as Hex] : [];
      }),
    /** Chains that an account can have a primary name for, the root chain first. */
    primaryNameChains: [...new Set([root.chainId, ...reverseChains])],
  };
}

const buildKey = (chainId: number, address: Hex | undefined) => `${chainId}:${address?.toLowerCase()}`;
