import {
  type Abi,
  type AbiEvent,
  concatHex,
  decodeEventLog,
  decodeFunctionData,
  decodeFunctionResult,
  encodeFunctionData,
  encodeFunctionResult,
  type Hex,
  hexToBytes,
  keccak256,
  toEventSelector,
  toFunctionSelector,
  zeroAddress,
  zeroHash,
} from "viem";
import { registryAbi } from "../abis/names.ts";
import { reverseRegistrarAbi } from "../abis/registrars.ts";
import {
  registryReadAbi,
  resolverAbi,
  resolverReadAbi,
  resolverRecordsAbi,
  textRecordAbi,
  universalResolverAbi,
} from "../abis/resolver.ts";
import type { BlockLog } from "./chain/block.ts";
import type { Chain } from "./chain/chain.ts";
import { bridges } from "./demo/datasources.ts";
import type { Recording } from "./recording.ts";

/** What a contract returns for a call at the head; undefined: it reverts. */
type ContractCall = (data: Hex) => Hex | undefined;

/** Contracts of a chain by address, lower case. */
export type ContractCalls = ReadonlyMap<string, ContractCall>;

/** A resolver's kind: whether it is extended (ENSIP-10), and falls back to the default address (ENSIP-19). */
type ResolverKind = { isExtended: boolean; hasDefaultAddress: boolean };

const eventList: readonly AbiEvent[] = [
  ...[...resolverRecordsAbi, ...resolverAbi],
  ...[...reverseRegistrarAbi, ...registryAbi],
].filter((item) => item.type === "event");
const keyOf = (selector: unknown, topics: number) => `${selector} ${topics}`;
const events = new Map(
  eventList.map((event) => [
    keyOf(toEventSelector(event), 1 + event.inputs.filter(({ indexed }) => indexed).length),
    event,
  ]),
);

// The record that an event changes, as the function that reads it with its argument, and the value.
const changes: Record<string, (args: Record<string, unknown>) => [record: string, value: unknown]> = {
  AddressChanged: ({ coinType, newAddress }) => [`addr ${coinType}`, newAddress],
  // All that resolvers without coin types emit; others emit it after AddressChanged, with the same address.
  AddrChanged: ({ a }) => ["addr 60", a === zeroAddress ? "0x" : String(a).toLowerCase()],
  NameChanged: ({ name }) => ["name", name],
  TextChanged: ({ key, value }) => [`text ${key}`, value],
  ContenthashChanged: ({ hash }) => ["contenthash", hash],
  DNSZonehashChanged: ({ zonehash }) => ["zonehash", zonehash],
  PubkeyChanged: ({ x, y }) => ["pubkey", [x, y]],
  InterfaceChanged: ({ interfaceID, implementer }) => [`interfaceImplementer ${interfaceID}`, implementer],
};

// What is returned before the first event. No event has the text of an ABI: it is refused.
const unset: Record<string, unknown> = {
  ...{ name: "", text: "", contenthash: "0x", zonehash: "0x", recordVersions: 0n },
  ...{ pubkey: [zeroHash, zeroHash], interfaceImplementer: zeroAddress },
};

/** What registries, resolvers and registrars of primary names of a chain hold at the head, by what they emitted. */
function createContracts(chain: Chain, recorded: Pick<Recording, "calls">) {
  const owners = new Map<string, Hex>();
  const resolvers = new Map<string, Hex>();
  const records = new Map<string, Map<string, unknown>>();
  const primaryNames = new Map<string, string>();
  // The events of older resolvers lack the text: the chain was asked for it when it was recorded.
  const texts = new Map(recorded.calls.map((call) => [`${call.to} ${call.data} ${call.block}`, call.result]));
  let read = -1;

  function readLog({ address, topics, data, blockNumber }: BlockLog) {
    const event = events.get(keyOf(topics[0], topics.length));
    if (event === undefined) return;
    const given = { abi: [event] as Abi, topics: topics as [Hex, ...Hex[]], data, strict: false } as const;
    const args = decodeEventLog(given).args as unknown as Record<string, Hex>;
    const { node = "0x", label = "0x", owner = zeroAddress, resolver = zeroAddress } = args;
    const at = `${address} ${node}`;
    if (event.name === "NewOwner") owners.set(`${address} ${keccak256(concatHex([node, label]))}`, owner);
    else if (event.name === "Transfer") owners.set(at, owner);
    else if (event.name === "NewResolver") resolvers.set(at, resolver.toLowerCase() as Hex);
    else if (event.name === "NameForAddrChanged")
      primaryNames.set(`${address} ${args["addr"]?.toLowerCase()}`, String(args["name"]));
    // A new version ends all records before it.
    else if (event.name === "VersionChanged")
      records.set(at, new Map([["recordVersions", args["newVersion"]]]));
    else if (event.name in changes) {
      const [record, value] = changes[event.name]!(args);
      const call = { abi: textRecordAbi, args: [node, String(args["key"])] } as const;
      const isWithout = event.name === "TextChanged" && value === undefined;
      const answer = isWithout && texts.get(`${address} ${encodeFunctionData(call)} ${blockNumber}`);
      const stored = answer ? decodeFunctionResult({ ...call, data: answer }) : value;
      records.set(at, (records.get(at) ?? new Map<string, unknown>()).set(record, stored));
    }
  }

  function readNew() {
    const head = chain.head();
    for (const { logs } of read < head ? chain.range(read + 1, head) : [])
      for (const log of logs) readLog(log);
    read = head;
  }

  /** Resolver that a registry returns for a node; a name that it does not have is read from the `older` one. */
  function resolverOf(registry: string, node: Hex, older?: string): Hex {
    readNew();
    const isOlder =
      older && node !== zeroHash && (owners.get(`${registry} ${node}`) ?? zeroAddress) === zeroAddress;
    return resolvers.get(`${isOlder ? older : registry} ${node}`) ?? zeroAddress;
  }

  return {
    resolverOf,
    recordsOf(resolver: string, node: Hex): ReadonlyMap<string, unknown> | undefined {
      readNew();
      return records.get(`${resolver} ${node}`);
    },
    primaryNameOf(registrar: string, account: string): string {
      readNew();
      return primaryNames.get(`${registrar} ${account}`) ?? "";
    },
  };
}

/** What is read of a chain's contracts. */
type Contracts = ReturnType<typeof createContracts>;

/** A chain's registry; a name that it does not have is read from the `older` one. */
type Registry = { contracts: Contracts; address: string; older?: string | undefined };

/** A resolver whose records follow from its events. */
function resolverCall(contracts: Contracts, address: string, kind: ResolverKind): ContractCall {
  return function ask(data): Hex | undefined {
    if (!isCallOf(resolverReadAbi, data)) return undefined;
    const { functionName, args } = decodeFunctionData({ abi: resolverReadAbi, data });
    if (functionName === "resolve") return encoded("resolve", 2, ask(args[1]));
    if (functionName === "supportsInterface")
      return encoded(functionName, 1, interfaces.has(args[0]) || (args[0] === extended && kind.isExtended));
    const [node, key] = args as readonly [Hex, unknown?];
    const own = contracts.recordsOf(address, node);
    const record = key === undefined ? functionName : `${functionName} ${key}`;
    if (functionName !== "addr")
      return encoded(functionName, args.length, own?.has(record) ? own.get(record) : unset[functionName]);
    const found = addressOf(own, (key ?? 60n) as bigint, kind.hasDefaultAddress);
    return encoded("addr", args.length, key !== undefined || found.length === 42 ? found : zeroAddress);
  };
}

function addressOf(
  own: ReadonlyMap<string, unknown> | undefined,
  coinType: bigint,
  hasDefault: boolean,
): Hex {
  const stored = (own?.get(`addr ${coinType}`) ?? "0x") as Hex;
  const isEvm = coinType === 60n || (coinType > defaultCoinType && coinType < 2n * defaultCoinType);
  return stored === "0x" && isEvm && hasDefault ? addressOf(own, defaultCoinType, false) : stored;
}

/** The registry's own look-up of a node's resolver. */
export function registryCall({ contracts, address, older }: Registry): ContractCall {
  return (data) => {
    if (!isCallOf(registryReadAbi, data)) return undefined;
    const [node] = decodeFunctionData({ abi: registryReadAbi, data }).args;
    return encodeFunctionResult({ abi: registryReadAbi, result: contracts.resolverOf(address, node, older) });
  };
}

/** The universal resolver's look-up of the resolver that answers for a name (ENSIP-10). */
export function universalResolverCall(registry: Registry): ContractCall {
  return (data) => {
    if (!isCallOf(universalResolverAbi, data)) return undefined;
    const [name] = decodeFunctionData({ abi: universalResolverAbi, data }).args;
    const { resolver = zeroAddress, node = zeroHash, offset = 0 } = findResolver(registry, name) ?? {};
    return encodeFunctionResult({ abi: universalResolverAbi, result: [resolver, node, BigInt(offset)] });
  };
}

/** The resolver of the nearest name above that has one. */
export function findResolver({ contracts, address, older }: Registry, dnsName: Hex) {
  return suffixesOf(dnsName)
    .map((suffix) => ({ ...suffix, resolver: contracts.resolverOf(address, suffix.node, older) }))
    .find(({ resolver }) => resolver !== zeroAddress);
}

/** A resolver that answers for every name below its own (ENSIP-10): `answer` takes the name in DNS form, and the call. */
function extendedCall(answer: (name: Hex, data: Hex) => Hex | undefined): ContractCall {
  return (data) => {
    if (!isCallOf(resolverReadAbi, data)) return undefined;
    const { functionName, args } = decodeFunctionData({ abi: resolverReadAbi, data });
    if (functionName === "supportsInterface")
      return encoded(functionName, 1, args[0] === "0x01ffc9a7" || args[0] === extended);
    return functionName === "resolve" ? encoded("resolve", 2, answer(...args)) : undefined;
  };
}

/** A resolver of names of accounts: the first name that one of the registrars has for the account (ENSIP-19). */
function primaryNameCall(registrars: readonly Omit<Registry, "older">[]): ContractCall {
  return extendedCall((dnsName, data) => {
    if (!data.startsWith(nameSelector)) return undefined;
    const [length = 0, ...bytes] = hexToBytes(dnsName);
    const account = `0x${Buffer.from(bytes.slice(0, length)).toString()}`;
    const names = registrars.map(({ contracts, address }) => contracts.primaryNameOf(address, account));
    return encoded("name", 1, names.find((name) => name !== "") ?? "");
  });
}

/** A name in DNS form: the node of each of its suffixes, from the whole name to the root, and where it begins. */
function suffixesOf(dnsName: Hex): { node: Hex; offset: number }[] {
  const bytes = hexToBytes(dnsName);
  const offsets = [0];
  while ((bytes[offsets[0]!] ?? 0) > 0) offsets.unshift(offsets[0]! + 1 + bytes[offsets[0]!]!);
  let node: Hex = zeroHash;
  return offsets
    .map((offset, index) => {
      // ENSIP-10's resolvers read `[<64 hex digits>]` as the hash of a label that is too long for the DNS form.
      const label = Buffer.from(bytes.subarray(offset + 1, offset + 1 + bytes[offset]!));
      const [, digits] = /^\[([0-9a-f]{64})\]$/.exec(label.toString("latin1")) ?? [];
      if (index > 0) node = keccak256(concatHex([node, digits ? `0x${digits}` : keccak256(label)]));
      return { node, offset };
    })
    .reverse();
}

function encoded(functionName: string, inputs: number, result: unknown): Hex | undefined {
  if (result === undefined) return undefined;
  // `addr` has two forms with different results.
  const abi = resolverReadAbi.filter((item) => item.name === functionName && item.inputs.length === inputs);
  return encodeFunctionResult({ abi: abi as Abi, functionName, result });
}

const isCallOf = (abi: Abi, data: Hex): boolean =>
  abi.some(
    (item) => item.type === "function" && toFunctionSelector(item) === data.slice(0, 10).toLowerCase(),
  );

/** ENSIP-19: stands for every EVM chain without an address of its own. */
const defaultCoinType = 0x80000000n;
const extended = "0x9061b923";
const nameSelector = "0x691f3431";
// EIP-165, and the functions that all resolvers have: addr, addr by coin type, text, contenthash, name.
const interfaces: ReadonlySet<string> = new Set([
  ...["0x01ffc9a7", "0x3b3b57de", "0xf1cb7e06"],
  ...["0x59d1d43c", "0xbc1c58d1", nameSelector],
]);

type Addresses = Readonly<Record<string, Hex>>;

/** A chain of the demo, and what its contracts return. */
export type ChainCalls = { contracts: Contracts; addresses: Addresses; calls: ContractCalls };

// Whether they are extended, and fall back to the default address: as the deployments of the indexing service have it.
const plain = { isExtended: false, hasDefaultAddress: false };
const resolverKinds: Record<string, ResolverKind> = {
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
    Object.entries(resolverKinds).flatMap(([name, kind]) => {
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
