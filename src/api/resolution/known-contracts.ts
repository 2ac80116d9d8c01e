import type { Hex } from "viem";
import type { Namespace } from "../../datasources/datasources.ts";

/** A registry: the root one, or that of a name whose subnames live on another chain. */
export type Registry = { chainId: number; address: Hex };

/** A resolver whose answers follow from its events alone. */
export type StaticResolver = {
  /** Whether it answers for subnames of the node that it is set for (ENSIP-10). */
  isExtended: boolean;
  /** Whether a missing address of an EVM chain falls back to the default one (ENSIP-19). */
  hasDefaultAddress: boolean;
};

/** The contracts of a namespace that a resolution may meet and need not ask. */
export type KnownContracts = {
  root: Registry;
  universalResolver: Hex | undefined;
  /** Chains whose resolvers' records are indexed. */
  indexedChains: ReadonlySet<number>;
  isReverseResolver(chainId: number, address: Hex): boolean;
  bridgeOf(chainId: number, address: Hex): Registry | undefined;
  staticResolverOf(chainId: number, address: Hex): StaticResolver | undefined;
  /** Chains that an account can have a primary name for, the root chain first. */
  primaryNameChains: readonly number[];
};

const reverseResolvers = [
  "DefaultReverseResolver3",
  "BaseReverseResolver",
  "LineaReverseResolver",
  "OptimismReverseResolver",
  "ArbitrumReverseResolver",
  "ScrollReverseResolver",
];

// Linea's was replaced in 2026; names may still be set to the former one.
const bridges = {
  BasenamesL1Resolver: "basenames",
  LineanamesL1Resolver: "lineanames",
  LineanamesL1Resolver2: "lineanames",
};

const plain: StaticResolver = { isExtended: false, hasDefaultAddress: false };

// By datasource and contract.
const staticResolvers: [datasource: string, contract: string, kind: StaticResolver][] = [
  ["rrRoot", "DefaultPublicResolver0", plain],
  ["rrRoot", "DefaultPublicResolver1", plain],
  ["rrRoot", "DefaultPublicResolver2", plain],
  ["rrRoot", "DefaultPublicResolver3", plain],
  ["rrRoot", "DefaultPublicResolver4", plain],
  ["rrRoot", "DefaultPublicResolver5", { isExtended: false, hasDefaultAddress: true }],
  ["ensroot", "ArgentResolver", plain],
  ["ensroot", "LoopringResolver", plain],
  ["basenames", "L2Resolver1", { isExtended: true, hasDefaultAddress: false }],
  ["basenames", "L2Resolver2", { isExtended: true, hasDefaultAddress: true }],
  ["lineanames", "DefaultPublicResolver", plain],
  ["threednsOptimism", "Resolver", plain],
  ["threednsBase", "Resolver", plain],
];

const datasourcesOfPrimaryNames = ["rrRoot", "rrBase", "rrLinea", "rrOptimism", "rrArbitrum", "rrScroll"];
const datasourcesWithResolvers = ["ensroot", "basenames", "lineanames", "threednsOptimism", "threednsBase"];

/** The known contracts of a namespace. Throws if it has no registry. */
export function knownContracts(namespace: Namespace): KnownContracts {
  const addressOf = (datasource: string, contract: string) =>
    namespace[datasource]?.contracts[contract]?.address;
  const keyOf = (chainId: number, address: Hex) => `${chainId}:${address.toLowerCase()}`;
  const rootRegistry = addressOf("ensroot", "ENSv1Registry");
  const rootChainId = namespace["ensroot"]?.chainId;
  if (rootRegistry === undefined || rootChainId === undefined)
    throw new Error("The namespace has no registry.");

  const reverse = new Set(
    reverseResolvers.flatMap((contract) => {
      const address = addressOf("rrRoot", contract);
      return address === undefined ? [] : [keyOf(rootChainId, address)];
    }),
  );
  const statics = new Map(
    staticResolvers.flatMap(([datasource, contract, kind]) => {
      const address = addressOf(datasource, contract);
      const chainId = namespace[datasource]?.chainId;
      return address === undefined || chainId === undefined ? [] : [[keyOf(chainId, address), kind] as const];
    }),
  );
  const bridged = new Map(
    Object.entries(bridges).flatMap(([contract, datasource]) => {
      const from = addressOf("ensroot", contract);
      const address = addressOf(datasource, "Registry");
      const chainId = namespace[datasource]?.chainId;
      if (from === undefined || address === undefined || chainId === undefined) return [];
      return [[keyOf(rootChainId, from), { chainId, address }] as const];
    }),
  );
  const chainsOf = (datasources: readonly string[]) =>
    datasources.flatMap((id) => namespace[id]?.chainId ?? []);

  return {
    root: { chainId: rootChainId, address: rootRegistry },
    universalResolver: addressOf("ensroot", "UniversalResolver"),
    indexedChains: new Set(chainsOf(datasourcesWithResolvers)),
    isReverseResolver: (chainId, address) => reverse.has(keyOf(chainId, address)),
    bridgeOf: (chainId, address) => bridged.get(keyOf(chainId, address)),
    staticResolverOf: (chainId, address) => statics.get(keyOf(chainId, address)),
    primaryNameChains: [...new Set([rootChainId, ...chainsOf(datasourcesOfPrimaryNames)])],
  };
}
