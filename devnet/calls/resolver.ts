import {
  type Abi,
  type AbiEvent,
  decodeEventLog,
  decodeFunctionData,
  decodeFunctionResult,
  encodeFunctionData,
  encodeFunctionResult,
  type Hex,
  toEventSelector,
  zeroAddress,
  zeroHash,
} from "viem";
import { resolverAbi, resolverReadAbi, resolverRecordsAbi, textRecordAbi } from "../../abis/resolver.ts";
import type { RecordedCall } from "../recording.ts";
import { type Asked, newestLog } from "./registry.ts";

/** A resolver whose records follow from its events; see StaticResolver for the two flags. */
export type KnownResolver = Asked & {
  isExtended: boolean;
  hasDefaultAddress: boolean;
  /** What the chain returned for a call, where it was recorded. */
  recorded: (call: Pick<RecordedCall, "to" | "data" | "block">) => RecordedCall | undefined;
};

type Args = Readonly<Record<string, unknown>>;

/** What the resolver returns for a call of `resolverReadAbi`; undefined where it refuses. */
export function askResolver(resolver: KnownResolver, data: Hex): Hex | undefined {
  const { functionName, args } = decodeFunctionData({ abi: resolverReadAbi, data });
  if (functionName === "resolve") return encoded("resolve", 2, askResolver(resolver, args[1]));
  if (functionName === "supportsInterface") {
    const isKnown = interfaces.has(args[0]) || (args[0] === extendedResolver && resolver.isExtended);
    return encoded(functionName, 1, isKnown);
  }
  const [node, key] = args as readonly [Hex, unknown?];
  return encoded(functionName, args.length, recordOf(resolver, { functionName, node, key }));
}

type Read = { functionName: string; node: Hex; key: unknown };

// Reads of one value: the event that sets it, its member, and what is returned before the first.
const plainRecords: Readonly<Record<string, [event: string, member: string, unset: unknown]>> = {
  name: ["NameChanged", "name", ""],
  contenthash: ["ContenthashChanged", "hash", "0x"],
  zonehash: ["DNSZonehashChanged", "zonehash", "0x"],
  recordVersions: ["VersionChanged", "newVersion", 0n],
};

function recordOf(resolver: KnownResolver, { functionName, node, key }: Read): unknown {
  const plain = plainRecords[functionName];
  if (plain !== undefined) return newest(resolver, node, [plain[0]])?.args[plain[1]] ?? plain[2];
  if (functionName === "text") return textOf(resolver, node, key as string);
  if (functionName === "addr")
    return key === undefined ? accountOf(resolver, node) : addressOf(resolver, node, key as bigint);
  if (functionName === "pubkey") {
    const { x = zeroHash, y = zeroHash } = newest(resolver, node, ["PubkeyChanged"])?.args ?? {};
    return [x, y];
  }
  // No event has the text of an ABI.
  if (functionName !== "interfaceImplementer") return undefined;
  const change = newest(resolver, node, ["InterfaceChanged"], ({ interfaceID }) => interfaceID === key);
  return change?.args["implementer"] ?? zeroAddress;
}

// AddrChanged is all that resolvers without coin types emit; others emit it beside AddressChanged, with the same address.
function addressOf(resolver: KnownResolver, node: Hex, coinType: bigint): Hex {
  const names = coinType === 60n ? ["AddressChanged", "AddrChanged"] : ["AddressChanged"];
  const change = newest(resolver, node, names, (args) => "a" in args || args["coinType"] === coinType);
  const stored = (change?.args["newAddress"] ?? change?.args["a"] ?? "0x") as Hex;
  const own = stored === zeroAddress && change?.name === "AddrChanged" ? "0x" : stored;
  const isFallback =
    own === "0x" && resolver.hasDefaultAddress && isEvm(coinType) && coinType !== defaultCoinType;
  return isFallback ? addressOf(resolver, node, defaultCoinType) : own;
}

function accountOf(resolver: KnownResolver, node: Hex): Hex {
  const stored = addressOf(resolver, node, 60n);
  return stored.length === 42 ? stored : zeroAddress;
}

// The events of older resolvers lack the value: the chain was asked for it when it was recorded.
function textOf(resolver: KnownResolver, node: Hex, key: string): string | undefined {
  const change = newest(resolver, node, ["TextChanged"], (args) => args["key"] === key);
  if (change === undefined) return "";
  if ("value" in change.args) return change.args["value"] as string;
  const to = resolver.address as Hex;
  const call = encodeFunctionData({ abi: textRecordAbi, functionName: "text", args: [node, key] });
  const answer = resolver.recorded({ to, data: call, block: `0x${change.block.toString(16)}` });
  return answer?.result && decodeFunctionResult({ abi: textRecordAbi, data: answer.result });
}

/** The newest change of a node's record; a new version of the node ends all records before it. */
function newest(
  resolver: KnownResolver,
  node: Hex,
  names: readonly string[],
  isWanted: (args: Args) => boolean = () => true,
): { name: string; args: Args; block: number } | undefined {
  let found: { name: string; args: Args } | undefined;
  const placed = newestLog(resolver, (log) => {
    const event = log.topics[1] === node ? events.get(`${log.topics[0]} ${log.topics.length}`) : undefined;
    if (event === undefined || !(names.includes(event.name) || event.name === "VersionChanged")) return false;
    const { args } = decodeEventLog({
      abi: [event] as Abi,
      topics: log.topics as [Hex, ...Hex[]],
      data: log.data,
      strict: false,
    });
    if (event.name !== "VersionChanged" && !isWanted(args as unknown as Args)) return false;
    found = { name: event.name, args: args as unknown as Args };
    return true;
  });
  if (placed === undefined || found === undefined || !names.includes(found.name)) return undefined;
  return { ...found, block: placed.block };
}

function encoded(functionName: string, inputs: number, result: unknown): Hex | undefined {
  if (result === undefined) return undefined;
  // `addr` has two forms with different results.
  const abi = resolverReadAbi.filter((item) => item.name === functionName && item.inputs.length === inputs);
  return encodeFunctionResult({ abi: abi as Abi, functionName, result });
}

const isEvm = (coinType: bigint) =>
  coinType === 60n || (coinType >= defaultCoinType && coinType < 2n * defaultCoinType);

/** ENSIP-19: stands for every EVM chain without an address of its own. */
const defaultCoinType = 0x80000000n;
const extendedResolver = "0x9061b923";
// EIP-165, and the functions that all of them have: addr, addr by coin type, text, contenthash, name.
const interfaces: ReadonlySet<string> = new Set([
  "0x01ffc9a7",
  "0x3b3b57de",
  "0xf1cb7e06",
  "0x59d1d43c",
  "0xbc1c58d1",
  "0x691f3431",
]);

const eventList: readonly AbiEvent[] = [...resolverRecordsAbi, ...resolverAbi];
const events = new Map(
  eventList.map((event) => [
    `${toEventSelector(event)} ${1 + event.inputs.filter(({ indexed }) => indexed).length}`,
    event,
  ]),
);
