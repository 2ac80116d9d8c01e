import {
  type AbiParameter,
  concat,
  encodeAbiParameters,
  type Hex,
  keccak256,
  numberToHex,
  padHex,
  size,
  toEventSelector,
} from "viem";
import type { Recording } from "../../../devnet/recording.ts";

// A chain of emitted logs: what the models of the contracts in this folder write to. Blocks have a time; there is no gas.

/** 32 bytes of an address, a number or a hash, as a topic. */
function topic(value: Hex | bigint): Hex {
  return typeof value === "bigint" ? numberToHex(value, { size: 32 }) : padHex(value, { size: 32 });
}

/** A name of labels as bytes in DNS wire form. */
export function wireName(labels: readonly Hex[]): Hex {
  return concat([
    ...labels.flatMap((label): Hex[] => [numberToHex(size(label), { size: 1 }), label]),
    "0x00",
  ]);
}

/** Node of a name of labels as bytes. */
export function nodeOf(labels: readonly Hex[]): Hex {
  return labels.reduceRight<Hex>(
    (parent, label) => keccak256(concat([parent, keccak256(label)])),
    padHex("0x", { size: 32 }),
  );
}

// What the contracts of both generations declare.
const declarations = [
  "NewOwner(bytes32 indexed, bytes32 indexed, address)",
  "TransferSingle(address indexed, address indexed, address indexed, uint256, uint256)",
  "NameWrapped(bytes32 indexed, bytes, address, uint32, uint64)",
  "Transfer(address indexed, address indexed, uint256 indexed)",
  "NameRegistered(uint256 indexed, address indexed, uint256)",
  "NameRenewed(uint256 indexed, uint256)",
  "Transfer(bytes32 indexed, address)",
  "NewResolver(bytes32 indexed, address)",
  "NameUnwrapped(bytes32 indexed, address)",
  "FusesSet(bytes32 indexed, uint32)",
  "ExpiryExtended(bytes32 indexed, uint64)",
  "EACRolesChanged(uint256 indexed, address indexed, uint256, uint256)",
  "TransferBatch(address indexed, address indexed, address indexed, uint256[], uint256[])",
  "TokenRegenerated(uint256 indexed, uint256 indexed)",
  "LabelReserved(uint256 indexed, bytes32 indexed, string, uint64, address indexed)",
  "LabelRegistered(uint256 indexed, bytes32 indexed, string, address, uint64, address indexed)",
  "TokenResource(uint256 indexed, uint256 indexed)",
  "SubregistryUpdated(uint256 indexed, address indexed, address indexed)",
  "ResolverUpdated(uint256 indexed, address indexed, address indexed)",
  "LabelUnregistered(uint256 indexed, address indexed)",
  "ExpiryUpdated(uint256 indexed, uint64 indexed, address indexed)",
  "ParentUpdated(address indexed, string, address indexed)",
  "AddressChanged(bytes32 indexed, uint256, bytes)",
  "AddrChanged(bytes32 indexed, address)",
  "TextChanged(bytes32 indexed, string indexed, string, string)",
  "ContenthashChanged(bytes32 indexed, bytes)",
  "VersionChanged(bytes32 indexed, uint64)",
  "AliasChanged(bytes indexed, bytes indexed, bytes, bytes)",
  "Linked(uint256 indexed, bytes32 indexed, bytes)",
  "AddressUpdated(uint256 indexed, uint256, bytes)",
  "TextUpdated(uint256 indexed, string indexed, string, string)",
  "ContenthashUpdated(uint256 indexed, bytes)",
  "Cleared(uint256 indexed)",
  "Label(bytes32 indexed, string)",
  "Upgraded(address indexed)",
  "Initialized(uint64)",
  "ProxyDeployed(address indexed, address indexed, uint256, address)",
  "RegistryCreated()",
  "ResolverCreated()",
];

type Event = { name: string; selector: Hex; parameters: (AbiParameter & { indexed: boolean })[] };

// Strings are given as bytes.
function parse(declaration: string): Event {
  const [name = "", list = ""] = declaration.slice(0, -1).split("(");
  return {
    name,
    selector: toEventSelector(declaration.replaceAll(/ indexed|\s/g, "")),
    parameters: list.split(", ").flatMap((one) => {
      const [type = "", indexed] = one.replace("string", "bytes").split(" ");
      return type === "" ? [] : [{ type, indexed: indexed !== undefined }];
    }),
  };
}
const events = declarations.map(parse);

const account: Hex = `0x${"b2".repeat(20)}`;

/** An empty chain. */
export function createPlayedChain({ chainId, start }: { chainId: number; start: number }) {
  const blocks: { number: number; timestamp: number; logs: Record<string, unknown>[] }[] = [];
  let time = start;
  blocks.push({ number: 0, timestamp: time, logs: [] });
  const current = () => blocks.at(-1) as (typeof blocks)[number];

  return {
    time: () => BigInt(time),
    block: () => current().number,

    /** Begins the next block. */
    mine(seconds: number) {
      time += seconds;
      blocks.push({ number: blocks.length, timestamp: time, logs: [] });
    },

    /** A log of an event by its name, or by a declaration of its own; of what is indexed and dynamic its hash. */
    emit(address: Hex, name: string, ...values: readonly unknown[]) {
      const event = name.includes("(")
        ? parse(name)
        : events.find((one) => one.name === name && one.parameters.length === values.length);
      if (event === undefined) throw new Error(`no event ${name} of ${values.length} values`);
      const { selector, parameters } = event;
      const pick = <T>(all: readonly T[], indexed: boolean) =>
        all.filter((_, place) => parameters[place]?.indexed === indexed);
      current().logs.push({
        address,
        topics: [selector, ...(pick(values, true) as (Hex | bigint)[]).map(topic)],
        data: encodeAbiParameters(pick(parameters, false), pick(values, false)),
      });
    },

    /** What was emitted so far, as a recording. */
    recording(): Pick<Recording, "chainId" | "blocks" | "receipts"> {
      const hex = (value: number) => numberToHex(value);
      return {
        chainId,
        blocks: blocks.map(({ number, timestamp }) => ({ number: hex(number), timestamp: hex(timestamp) })),
        receipts: blocks.map(({ number, logs }) => ({
          from: account,
          logs: logs.map((log, place) => ({
            ...log,
            blockNumber: hex(number),
            transactionHash: numberToHex(number, { size: 32 }),
            logIndex: hex(place),
          })),
        })),
      } as Pick<Recording, "chainId" | "blocks" | "receipts">;
    },
  };
}

/** A chain of emitted logs. */
export type PlayedChain = ReturnType<typeof createPlayedChain>;
