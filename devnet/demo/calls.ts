import type { Hex } from "viem";
import {
  type ContractCalls,
  type Contracts,
  createContracts,
  extendedCall,
  findResolver,
  primaryNameCall,
  registryCall,
  resolverCall,
  universalResolverCall,
} from "../calls.ts";
import type { Chain } from "../chain/chain.ts";
import type { Recording } from "../recording.ts";
import { bridges } from "./datasources.ts";

type Addresses = Readonly<Record<string, Hex>>;

/** A chain of the demo, and what its contracts return. */
export type ChainCalls = { contracts: Contracts; addresses: Addresses; calls: ContractCalls };

// Whether they are extended, and fall back to the default address: as the deployments of the indexing service have it.
const plain = { isExtended: false, hasDefaultAddress: false };
const resolvers: Record<string, typeof plain> = {
  OldPublicResolver: plain,
  DefaultReverseResolverOld: plain,
  DefaultReverseResolver2: plain,
  LegacyPublicResolver: plain,
  PublicResolverV4: plain,
  PublicResolverV5: { ...plain, hasDefaultAddress: true },
  L2Resolver1: { ...plain, isExtended: true },
  L2Resolver2: { isExtended: true, hasDefaultAddress: true },
  DefaultPublicResolver: plain,
  ThreeDNSResolver: plain,
};

/** What the resolvers and the registry of a chain return, computed from what they emitted. */
export function ownCalls(chain: Chain, recording: Recording, addresses: Addresses): ChainCalls {
  const contracts = createContracts(chain, recording);
  const calls = new Map(
    Object.entries(resolvers).flatMap(([name, kind]) => {
      const address = addresses[name];
      return address ? [[address, resolverCall(contracts, address, kind)]] : [];
    }),
  );
  const { Registry, ENSv1Registry = Registry, ENSv1RegistryOld: older } = addresses;
  if (ENSv1Registry) calls.set(ENSv1Registry, registryCall({ contracts, address: ENSv1Registry, older }));
  return { contracts, addresses, calls };
}

/**
 * The calls of the root chain: its own, the universal resolver's, and those that lead to the other chains. On the real chains a gateway
 * proves what another chain has; these look there.
 */
export function rootCalls(root: ChainCalls, base: ChainCalls, linea: ChainCalls): ContractCalls {
  const at = ({ contracts, addresses }: ChainCalls, name: string) => ({
    contracts,
    address: addresses[name] ?? "",
  });
  const registry = { ...at(root, "ENSv1Registry"), older: root.addresses["ENSv1RegistryOld"] };
  const byDefault = at(root, "DefaultReverseRegistrar");
  const reverse = (chain: ChainCalls) => primaryNameCall([at(chain, "L2ReverseRegistrar"), byDefault]);
  const bridge = (chain: ChainCalls) =>
    extendedCall((dnsName, data) => {
      const found = findResolver(at(chain, "Registry"), dnsName);
      return found && chain.calls.get(found.resolver)?.(data);
    });
  return new Map([
    ...root.calls,
    [bridges.universalResolver, universalResolverCall(registry)],
    [bridges.reverseResolver, primaryNameCall([byDefault])],
    [bridges.baseReverseResolver, reverse(base)],
    [bridges.lineaReverseResolver, reverse(linea)],
    [bridges.baseResolver, bridge(base)],
    [bridges.lineaResolver, bridge(linea)],
  ]);
}
