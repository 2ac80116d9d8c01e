import {
  concatHex,
  decodeAbiParameters,
  encodeEventTopics,
  type Hex,
  hexToBytes,
  keccak256,
  zeroAddress,
  zeroHash,
} from "viem";
import { registryAbi } from "../../abis/names.ts";
import type { BlockLog } from "../chain/block.ts";
import type { Chain } from "../chain/chain.ts";

/** A contract that is asked at a block: what it returns follows from what it has emitted so far. */
export type Asked = { chain: Chain; address: string; block: number };

/** A log and the block that holds it. */
type Placed = { log: BlockLog; block: number };

/** The newest log of the contract that `isWanted`, up to the block. */
export function newestLog(
  { chain, address, block }: Asked,
  isWanted: (log: BlockLog) => boolean,
): Placed | undefined {
  for (const served of chain.range(0, block).toReversed()) {
    for (const log of served.logs.toReversed()) {
      if (log.address === address && isWanted(log)) return { log, block: served.number };
    }
  }
  return undefined;
}

const [newOwnerTopic] = encodeEventTopics({ abi: registryAbi, eventName: "NewOwner" });
const [transferTopic] = encodeEventTopics({ abi: registryAbi, eventName: "Transfer" });
const [newResolverTopic] = encodeEventTopics({ abi: registryAbi, eventName: "NewResolver" });

/** Resolver that a registry returns for a node. The newer registry of a chain falls back to the `older` one. */
export function resolverOf(registry: Asked, node: Hex, older?: string): Hex {
  const isOlder = older !== undefined && node !== zeroHash && ownerOf(registry, node) === zeroAddress;
  const asked = isOlder ? { ...registry, address: older } : registry;
  const found = newestLog(asked, ({ topics }) => topics[0] === newResolverTopic && topics[1] === node);
  return found === undefined ? zeroAddress : addressIn(found.log);
}

/** Owner that a registry itself has for a node; the zero address where it has none. */
function ownerOf(registry: Asked, node: Hex): Hex {
  const found = newestLog(
    registry,
    (log) =>
      (log.topics[0] === transferTopic && log.topics[1] === node) ||
      (log.topics[0] === newOwnerTopic && createdNode(log) === node),
  );
  return found === undefined ? zeroAddress : addressIn(found.log);
}

// The node of each NewOwner, hashed once.
const nodes = new WeakMap<BlockLog, Hex>();

function createdNode(log: BlockLog): Hex {
  const node = nodes.get(log) ?? keccak256(concatHex(log.topics.slice(1, 3)));
  nodes.set(log, node);
  return node;
}

function addressIn({ data }: BlockLog): Hex {
  return decodeAbiParameters([{ type: "address" }], data)[0].toLowerCase() as Hex;
}

/** A name in DNS form: the node of each of its suffixes, from the whole name to the root, and where it begins. */
export function suffixesOf(dnsName: Hex): { node: Hex; offset: number }[] {
  const bytes = hexToBytes(dnsName);
  const labels: { label: Uint8Array; offset: number }[] = [];
  for (let offset = 0; (bytes[offset] ?? 0) > 0; offset += 1 + (bytes[offset] ?? 0)) {
    labels.push({ label: bytes.subarray(offset + 1, offset + 1 + (bytes[offset] ?? 0)), offset });
  }
  const end = labels.reduce((sum, { label }) => sum + 1 + label.length, 0);
  const suffixes = [{ node: zeroHash as Hex, offset: end }];
  for (const { label, offset } of labels.toReversed()) {
    const [above = { node: zeroHash }] = suffixes;
    suffixes.unshift({ node: keccak256(concatHex([above.node, labelhashOfBytes(label)])), offset });
  }
  return suffixes;
}

// ENSIP-10's resolvers read `[<64 hex digits>]` as the hash of a label that is too long for the DNS form.
function labelhashOfBytes(label: Uint8Array): Hex {
  const [, digits] = /^\[([0-9a-f]{64})\]$/.exec(Buffer.from(label).toString("latin1")) ?? [];
  return digits === undefined ? keccak256(label) : `0x${digits}`;
}

/** The first label of a name in DNS form. */
export function firstLabel(dnsName: Hex): string {
  const bytes = hexToBytes(dnsName);
  return Buffer.from(bytes.subarray(1, 1 + (bytes[0] ?? 0))).toString("utf8");
}
