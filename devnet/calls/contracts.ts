import {
  type Abi,
  decodeEventLog,
  decodeFunctionData,
  encodeFunctionResult,
  type Hex,
  parseAbi,
  toFunctionSelector,
  zeroAddress,
  zeroHash,
} from "viem";
import { reverseRegistrarAbi } from "../../abis/registrars.ts";
import { registryReadAbi, resolverReadAbi, universalResolverAbi } from "../../abis/resolver.ts";
import type { Chain } from "../chain/chain.ts";
import { firstLabel, newestLog, resolverOf, suffixesOf } from "./registry.ts";
import { askResolver, type KnownResolver } from "./resolver.ts";

/** What a contract returns for a call at a block; undefined: it reverts. */
export type ContractCall = (data: Hex, block: number) => Hex | undefined;

/** Contracts of a chain by address, lower case. */
export type ContractCalls = ReadonlyMap<string, ContractCall>;

/** A registry; a name that it does not know is read from the `older` one. */
export type RegistryPlace = { chain: Chain; address: Hex; older?: Hex | undefined };

/** The registry's own look-up of a node's resolver. */
export function registryCall({ older, ...registry }: RegistryPlace): ContractCall {
  return (data, block) => {
    if (!isCallOf(registryReadAbi, data)) return undefined;
    const [node] = decodeFunctionData({ abi: registryReadAbi, data }).args;
    const result = resolverOf({ ...registry, block }, node, older);
    return encodeFunctionResult({ abi: registryReadAbi, functionName: "resolver", result });
  };
}

/** The universal resolver's look-up of the resolver that answers for a name (ENSIP-10). */
export function universalResolverCall(registry: RegistryPlace): ContractCall {
  return (data, block) => {
    if (!isCallOf(universalResolverAbi, data)) return undefined;
    const [name] = decodeFunctionData({ abi: universalResolverAbi, data }).args;
    const { resolver = zeroAddress, node = zeroHash, offset = 0 } = foundFor(registry, name, block) ?? {};
    const result = [resolver, node, BigInt(offset)] as const;
    return encodeFunctionResult({ abi: universalResolverAbi, functionName: "findResolver", result });
  };
}

function foundFor({ older, ...registry }: RegistryPlace, name: Hex, block: number) {
  for (const suffix of suffixesOf(name)) {
    const resolver = resolverOf({ ...registry, block }, suffix.node, older);
    if (resolver !== zeroAddress) return { resolver, ...suffix };
  }
  return undefined;
}

/** A resolver whose records follow from its events. */
export function resolverCall(resolver: Omit<KnownResolver, "block">): ContractCall {
  return (data, block) =>
    isCallOf(resolverReadAbi, data) ? askResolver({ ...resolver, block }, data) : undefined;
}

/** A resolver that answers for every name below its own (ENSIP-10): `answer` takes the name in DNS form, and the call. */
function extendedCall(answer: (name: Hex, data: Hex) => Hex | undefined): ContractCall {
  return (data) => {
    if (!isCallOf(extendedAbi, data)) return undefined;
    const { functionName, args } = decodeFunctionData({ abi: extendedAbi, data });
    if (functionName === "supportsInterface") {
      const result = args[0] === "0x01ffc9a7" || args[0] === "0x9061b923";
      return encodeFunctionResult({ abi: extendedAbi, functionName, result });
    }
    const result = answer(...args);
    return result && encodeFunctionResult({ abi: extendedAbi, functionName, result });
  };
}

const extendedAbi = parseAbi([
  "function supportsInterface(bytes4 interfaceId) view returns (bool)",
  "function resolve(bytes name, bytes data) view returns (bytes)",
]);
const nameAbi = parseAbi(["function name(bytes32 node) view returns (string)"]);

type Registrar = { chain: Chain; address: Hex };

/**
 * A resolver of names of accounts: the name that the first of the registrars has for the account (ENSIP-19). On the real chains
 * a gateway proves what another chain has; this one looks there.
 */
export function reverseResolverCall(registrars: readonly Registrar[]): ContractCall {
  return extendedCall((dnsName, data) => {
    if (!isCallOf(nameAbi, data)) return undefined;
    const account = `0x${firstLabel(dnsName)}`;
    const names = registrars.map((registrar) => nameOfAccount(registrar, account));
    const result = names.find((name) => name !== "") ?? "";
    return encodeFunctionResult({ abi: nameAbi, functionName: "name", result });
  });
}

function nameOfAccount({ chain, address }: Registrar, account: string): string {
  const topic = `0x${account.slice(2).padStart(64, "0")}`;
  const found = newestLog({ chain, address, block: chain.head() }, ({ topics }) => topics[1] === topic);
  if (found === undefined) return "";
  const { data, topics } = found.log;
  return decodeEventLog({ abi: reverseRegistrarAbi, data, topics: topics as [Hex, ...Hex[]] }).args.name;
}

/**
 * A resolver on the root chain for the names of another chain's registry: what their resolvers there return. On the real chains
 * a gateway proves that; this one looks there.
 */
export function bridgeCall(registry: RegistryPlace, contracts: ContractCalls): ContractCall {
  return extendedCall((dnsName, data) => {
    const block = registry.chain.head();
    const found = foundFor(registry, dnsName, block);
    return found && contracts.get(found.resolver)?.(data, block);
  });
}

function isCallOf(abi: Abi, data: Hex): boolean {
  const selector = data.slice(0, 10).toLowerCase();
  return abi.some((item) => item.type === "function" && toFunctionSelector(item) === selector);
}
