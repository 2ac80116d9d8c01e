import {
  type Abi,
  type AbiEvent,
  type AbiFunction,
  concatHex,
  decodeEventLog,
  decodeFunctionData,
  decodeFunctionResult,
  encodeFunctionData,
  encodeFunctionResult,
  getAbiItem,
  type Hex,
  keccak256,
  namehash,
  toEventSelector,
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
} from "../abis/resolver.ts";
import type { BlockLog } from "./chain/block.ts";
import type { Chain } from "./chain/chain.ts";
import { bridges } from "./demo/datasources.ts";
import { setDataAbi } from "./life.ts";
import type { Recording } from "./recording.ts";

/** What a contract returns for a call at the head; undefined: it reverts. */
type ContractCall = (data: Hex) => Hex | undefined;

/** Contracts of a chain by address, lower case. */
export type ContractCalls = ReadonlyMap<string, ContractCall>;

const eventList: readonly AbiEvent[] = [
  ...[...resolverRecordsAbi, ...resolverAbi],
  ...[...reverseRegistrarAbi, ...registryAbi],
].filter((item) => item.type === "event");
const buildKey = (selector: unknown, topics: number) => `${selector} ${topics}`;
const events = new Map(
  eventList.map((event) => [
    buildKey(toEventSelector(event), 1 + event.inputs.filter(({ indexed }) => indexed).length),
    event,
  ]),
);

type Args = Readonly<Record<string, Hex>>;

// What an event sets of its node, unless it names another node or account: as the function that reads it with its
// argument.
const changes: Record<string, (args: Args) => [field: string, value: unknown, of?: Hex | undefined]> = {
  NewOwner: ({ node, label, owner }) => ["owner", owner, keccak256(concatHex([node!, label!]))],
  Transfer: ({ owner }) => ["owner", owner],
  NewResolver: ({ resolver }) => ["resolver", resolver?.toLowerCase()],
  NameForAddrChanged: ({ addr, name }) => ["name", name, addr?.toLowerCase() as Hex],
  AddressChanged: ({ coinType, newAddress }) => [`addr ${coinType}`, newAddress],
  // All that resolvers without coin types emit; others emit it after AddressChanged, with the same address.
  AddrChanged: ({ a }) => ["addr 60", a === zeroAddress ? "0x" : a?.toLowerCase()],
  NameChanged: ({ name }) => ["name", name],
  TextChanged: ({ key, value }) => [`text ${key}`, value],
  // The value is in the call data.
  DataChanged: ({ key }) => [`data ${key}`, undefined],
  ContenthashChanged: ({ hash }) => ["contenthash", hash],
  DNSZonehashChanged: ({ zonehash }) => ["zonehash", zonehash],
  PubkeyChanged: ({ x, y }) => ["pubkey", [x, y]],
  InterfaceChanged: ({ interfaceID, implementer }) => [`interfaceImplementer ${interfaceID}`, implementer],
  VersionChanged: ({ newVersion }) => ["recordVersions", newVersion],
};

// What is returned before the first event. No event has the text of an ABI: it is refused.
const unset: Record<string, unknown> = {
  ...{ name: "", text: "", data: "0x", contenthash: "0x", zonehash: "0x", recordVersions: 0n },
  ...{ pubkey: [zeroHash, zeroHash], interfaceImplementer: zeroAddress },
};

type Fields = ReadonlyMap<string, unknown>;

/** What contracts of a chain hold at the head of a node or account, by what they emitted. */
type Storage = (contract: string, key: string) => Fields;

function createStorage(chain: Chain, { calls }: Pick<Recording, "calls">): Storage {
  const stored = new Map<string, Map<string, unknown>>();
  // The events of older resolvers lack the text: the chain was asked for it when it was recorded.
  const texts = new Map(calls.map((call) => [`${call.to} ${call.data} ${call.block}`, call.result]));
  let read = -1;

  function textOf({ address, blockNumber }: BlockLog, { node = "0x", key }: Args): unknown {
    const call = { abi: textRecordAbi, args: [node, String(key)] } as const;
    const data = texts.get(`${address} ${encodeFunctionData(call)} ${blockNumber}`);
    return data && decodeFunctionResult({ ...call, data });
  }

  const dataOf = ({ transactionHash }: BlockLog) => {
    const data = chain.transaction(transactionHash as string)?.transaction["input"] as Hex;
    return decodeFunctionData({ abi: setDataAbi, data }).args[2];
  };

  const withoutValue: Readonly<Record<string, (log: BlockLog, args: Args) => unknown>> = {
    TextChanged: textOf,
    DataChanged: dataOf,
  };

  function readLog(log: BlockLog) {
    const { address, topics, data } = log;
    const event = events.get(buildKey(topics[0], topics.length));
    const change = changes[event?.name ?? ""];
    if (event === undefined || change === undefined) return;
    const given = { abi: [event] as Abi, topics: topics as [Hex, ...Hex[]], data, strict: false } as const;
    const args = decodeEventLog(given).args as unknown as Args;
    const [field, value, of = args["node"]] = change(args);
    const key = `${address} ${of}`;
    // A new version ends all records before it.
    if (event.name === "VersionChanged") stored.delete(key);
    const held = value ?? withoutValue[event.name]?.(log, args);
    const fields = stored.get(key) ?? new Map<string, unknown>();
    stored.set(key, fields.set(field, held));
  }

  return (contract, key) => {
    const head = chain.head();
    for (const { logs } of read < head ? chain.range(read + 1, head) : [])
      for (const log of logs) readLog(log);
    read = head;
    return stored.get(`${contract} ${key}`) ?? new Map();
  };
}

/** A contract with the functions of an ABI; where `answer` returns undefined, it reverts. */
function contractCall(
  abi: Abi,
  answer: (functionName: string, args: readonly unknown[]) => unknown,
): ContractCall {
  return (data) => {
    // By selector: `addr` has two forms with different results.
    const item = getAbiItem({ abi, name: data.slice(0, 10).toLowerCase() }) as AbiFunction | undefined;
    if (item === undefined) return undefined;
    const { functionName, args } = decodeFunctionData({ abi: [item], data });
    const result = answer(functionName, args as readonly unknown[]);
    return result === undefined ? undefined : encodeFunctionResult({ abi: [item] as Abi, result });
  };
}

/** A chain's registry; a name that it does not have is read from the `older` one. */
type Registry = { storage: Storage; address: string; older?: string | undefined };

function findResolver({ storage, address, older }: Registry, node: Hex): string {
  const own = storage(address, node);
  const isOlder = older && node !== zeroHash && (own.get("owner") ?? zeroAddress) === zeroAddress;
  return String((isOlder ? storage(older, node) : own).get("resolver") ?? zeroAddress);
}

/** A resolver's kind: whether it is extended (ENSIP-10), and falls back to the default address (ENSIP-19). */
type ResolverKind = { isExtended?: boolean; hasDefaultAddress?: boolean };

/** A resolver whose records follow from its events. */
function resolverCall(storage: Storage, address: string, kind: ResolverKind): ContractCall {
  const ask = contractCall(resolverReadAbi, (functionName, args) => {
    if (functionName === "resolve") return ask(args[1] as Hex);
    if (functionName === "supportsInterface")
      return interfaces.has(args[0]) || (args[0] === extended && kind.isExtended === true);
    const [node, key] = args as [string, unknown?];
    const own = storage(address, node);
    if (functionName === "addr") {
      const found = findAddress(own, (key ?? 60n) as bigint, kind.hasDefaultAddress);
      return key !== undefined || found.length === 42 ? found : zeroAddress;
    }
    const field = key === undefined ? functionName : `${functionName} ${key}`;
    return own.has(field) ? own.get(field) : unset[functionName];
  });
  return ask;
}

function findAddress(own: Fields, coinType: bigint, hasDefault = false): Hex {
  const stored = (own.get(`addr ${coinType}`) ?? "0x") as Hex;
  const isEvm = coinType === 60n || (coinType > defaultCoinType && coinType < 2n * defaultCoinType);
  return stored === "0x" && isEvm && hasDefault ? findAddress(own, defaultCoinType) : stored;
}

/** A resolver that answers for every name below its own (ENSIP-10): `answer` takes the name's labels, and the call. */
const extendedCall = (answer: (labels: string[], data: Hex) => Hex | undefined): ContractCall =>
  contractCall(resolverReadAbi, (functionName, args) => {
    if (functionName === "supportsInterface") return args[0] === "0x01ffc9a7" || args[0] === extended;
    return functionName === "resolve" ? answer(decodeLabels(args[0] as Hex), args[1] as Hex) : undefined;
  });

/** A resolver of names of accounts: the first name that one of the registrars has for the account (ENSIP-19). */
const primaryNameCall = (registrars: readonly Registry[]): ContractCall =>
  extendedCall(([account], data) => {
    const names = registrars.map(({ storage, address }) => storage(address, `0x${account}`).get("name"));
    return contractCall(resolverReadAbi, (functionName) =>
      functionName === "name" ? (names.find((name) => name) ?? "") : undefined,
    )(data);
  });

/** The labels of a name in DNS form. */
function decodeLabels(dnsName: Hex): string[] {
  const bytes = Buffer.from(dnsName.slice(2), "hex");
  const labels: string[] = [];
  for (let at = 0; bytes[at]; at += 1 + bytes[at]!)
    labels.push(bytes.toString("utf8", at + 1, at + 1 + bytes[at]!));
  return labels;
}

/** ENSIP-19: stands for every EVM chain without an address of its own. */
const defaultCoinType = 0x80000000n;
const extended = "0x9061b923";
// EIP-165, and the functions that all resolvers have: addr, addr by coin type, text, contenthash, name.
const interfaces: ReadonlySet<unknown> = new Set([
  ...["0x01ffc9a7", "0x3b3b57de", "0xf1cb7e06"],
  ...["0x59d1d43c", "0xbc1c58d1", "0x691f3431"],
]);

type Addresses = Readonly<Record<string, Hex>>;

/** A chain of the demo, and what its contracts return. */
export type ChainCalls = { storage: Storage; addresses: Addresses; calls: ContractCalls };

// Those that are not plain, as the deployments of the indexing service have it.
const resolverKinds: Record<string, ResolverKind> = {
  PublicResolverV5: { hasDefaultAddress: true },
  L2Resolver1: { isExtended: true },
  L2Resolver2: { isExtended: true, hasDefaultAddress: true },
};

/** What the resolvers and the registry of a chain return, computed from what they emitted. */
export function ownCalls(chain: Chain, recording: Recording, addresses: Addresses): ChainCalls {
  const storage = createStorage(chain, recording);
  const calls = new Map<string, ContractCall>();
  for (const [name, address] of Object.entries(addresses))
    if (/Resolver/.test(name)) calls.set(address, resolverCall(storage, address, resolverKinds[name] ?? {}));
  const { Registry, ENSv1Registry: address = Registry, ENSv1RegistryOld: older } = addresses;
  if (address)
    calls.set(
      address,
      contractCall(registryReadAbi, (_, [node]) => findResolver({ storage, address, older }, node as Hex)),
    );
  return { storage, addresses, calls };
}

/**
 * The calls of the root chain: its own, and those that lead to the other chains. On the real chains a gateway proves
 * what another chain has; these look there.
 */
export function rootCalls(root: ChainCalls, base: ChainCalls, linea: ChainCalls): ContractCalls {
  const at = ({ storage, addresses }: ChainCalls, name: string) => ({
    storage,
    address: addresses[name] ?? "",
  });
  const byDefault = at(root, "DefaultReverseRegistrar");
  const reverse = (chain: ChainCalls) => primaryNameCall([at(chain, "L2ReverseRegistrar"), byDefault]);
  // The resolver of the nearest name above that has one.
  const bridge = (chain: ChainCalls) =>
    extendedCall((labels, data) => {
      const resolvers = labels.map((_, index) =>
        findResolver(at(chain, "Registry"), namehash(labels.slice(index).join("."))),
      );
      return chain.calls.get(resolvers.find((one) => one !== zeroAddress) ?? "")?.(data);
    });
  return new Map([
    ...root.calls,
    [bridges.reverseResolver, primaryNameCall([byDefault])],
    [bridges.baseReverseResolver, reverse(base)],
    [bridges.lineaReverseResolver, reverse(linea)],
    [bridges.baseResolver, bridge(base)],
    [bridges.lineaResolver, bridge(linea)],
  ]);
}
