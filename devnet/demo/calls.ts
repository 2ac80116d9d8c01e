import type { Hex } from "viem";
import {
  bridgeCall,
  type ContractCall,
  type ContractCalls,
  registryCall,
  resolverCall,
  reverseResolverCall,
  universalResolverCall,
} from "../calls/contracts.ts";
import type { Chain } from "../chain/chain.ts";
import type { Recording } from "../recording.ts";
import { bridges } from "./datasources.ts";

type Addresses = Readonly<Record<string, Hex>>;

/** A chain of the demo: its recording and the addresses of its contracts. */
export type DemoChain = { recording: Recording; addresses: Addresses };

// Whether they are extended, and fall back to the default address: as the deployments of the indexing service have it.
const plain = { isExtended: false, hasDefaultAddress: false };
const withDefault = { isExtended: false, hasDefaultAddress: true };
const resolvers: Record<string, typeof plain> = {
  OldPublicResolver: plain,
  DefaultReverseResolverOld: plain,
  DefaultReverseResolver2: plain,
  LegacyPublicResolver: plain,
  PublicResolverV4: plain,
  PublicResolverV5: withDefault,
  L2Resolver1: { isExtended: true, hasDefaultAddress: false },
  L2Resolver2: { isExtended: true, hasDefaultAddress: true },
  DefaultPublicResolver: plain,
  ThreeDNSResolver: plain,
};

/** What the resolvers and the registry of a chain return, computed from what they emitted. */
export function ownCalls({ recording, addresses }: DemoChain, chain: Chain): Map<string, ContractCall> {
  const recordedCalls = new Map(recording.calls.map((call) => [keyOf(call), call]));
  const recorded = (call: CallPlace) => recordedCalls.get(keyOf(call));
  const contracts = new Map<string, ContractCall>();
  for (const [name, kind] of Object.entries(resolvers)) {
    const address = addresses[name];
    if (address !== undefined) contracts.set(address, resolverCall({ chain, address, recorded, ...kind }));
  }
  const { Registry, ENSv1Registry, ENSv1RegistryOld } = addresses;
  if (Registry !== undefined) contracts.set(Registry, registryCall({ chain, address: Registry }));
  if (ENSv1Registry !== undefined)
    contracts.set(ENSv1Registry, registryCall({ chain, address: ENSv1Registry, older: ENSv1RegistryOld }));
  return contracts;
}

type CallPlace = { to: string; data: string; block: string };
const keyOf = ({ to, data, block }: CallPlace) => `${to} ${data} ${block}`.toLowerCase();

type SecondChain = { chain: Chain; addresses: Addresses; contracts: ContractCalls };

/** The calls of the root chain: its own, the universal resolver's, and those that lead to the other chains. */
export function rootCalls(
  root: DemoChain,
  chain: Chain,
  { base, linea }: { base: SecondChain; linea: SecondChain },
): ContractCalls {
  const { ENSv1Registry, ENSv1RegistryOld, DefaultReverseRegistrar } = root.addresses;
  const place = (address: Hex | undefined, on = chain) => ({ chain: on, address: required(address) });
  const registry = { ...place(ENSv1Registry), older: ENSv1RegistryOld };
  const byDefault = place(DefaultReverseRegistrar);
  const reverse = ({ chain: on, addresses }: SecondChain) =>
    reverseResolverCall([place(addresses["L2ReverseRegistrar"], on), byDefault]);
  const bridge = ({ chain: on, addresses, contracts }: SecondChain) =>
    bridgeCall(place(addresses["Registry"], on), contracts);
  return new Map([
    ...ownCalls(root, chain),
    [bridges.universalResolver, universalResolverCall(registry)],
    [bridges.reverseResolver, reverseResolverCall([byDefault])],
    [bridges.baseReverseResolver, reverse(base)],
    [bridges.lineaReverseResolver, reverse(linea)],
    [bridges.baseResolver, bridge(base)],
    [bridges.lineaResolver, bridge(linea)],
  ]);
}

function required(address: Hex | undefined): Hex {
  if (address === undefined) throw new Error("A recording lacks the address of a contract.");
  return address;
}
