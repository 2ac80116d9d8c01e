import { type Hex, hexToBytes, keccak256, size, slice } from "viem";
import { zeroAddress } from "../../../src/ens/ids.ts";
import { nodeOf, type PlayedChain, wireName } from "./played-chain.ts";
import type { Snapshot } from "./recording.ts";

// Models of both generations of resolvers, written from their source and from the rules of the reference.

/** What the recorded chains are asked of a name. Null: the call fails. */
export type Answers = Snapshot["names"][number]["answers"];

type Values = { addresses: Map<bigint, Hex>; texts: Map<Hex, Hex>; contenthash: Hex };

const defaultCoin = 0x80000000n;
/** Coin types that histories write: Ethereum, the default, EVM chain 1, and one that is no EVM chain. */
export const coinTypes = [60n, defaultCoin, 0x80000001n, 0n];
/** Keys that histories write, as bytes. */
export const textKeys: readonly Hex[] = ["0x6465736372697074696f6e", "0x617661746172", "0x75726c"];
const [description, avatar] = textKeys as [Hex, Hex];

const root = nodeOf([]);
const empty = (): Values => ({ addresses: new Map(), texts: new Map(), contenthash: "0x" });

/** No answer: the call fails. */
export const noAnswers: Answers = {
  addr: null,
  coin80000001: null,
  description: null,
  avatar: null,
  contenthash: null,
};

function answersOf({ addresses, texts, contenthash }: Values): Answers {
  const address = (coin: bigint) => {
    const own = addresses.get(coin) ?? "0x";
    return own === "0x" ? (addresses.get(defaultCoin) ?? "0x") : own;
  };
  const addr = address(60n);
  return {
    addr: size(addr) < 20 ? zeroAddress : slice(addr, 0, 20),
    coin80000001: address(0x80000001n),
    description: texts.get(description) ?? "0x",
    avatar: texts.get(avatar) ?? "0x",
    contenthash,
  };
}

/** A resolver keyed by nodes. `isExtended`: it answers for the names below, and has aliases. */
export function createNodeResolver(
  chain: PlayedChain,
  { address, isExtended }: { address: Hex; isExtended: boolean },
) {
  const records = new Map<Hex, Values>();
  const versions = new Map<Hex, bigint>();
  const aliases = new Map<Hex, Hex>();
  const of = (node: Hex) => {
    const values = records.get(node) ?? empty();
    records.set(node, values);
    return values;
  };

  function aliased(labels: readonly Hex[]): readonly Hex[] | undefined {
    let current = labels;
    let last: Hex | undefined;
    for (let round = 0; round < 300; round++) {
      let place = 0;
      let match: Hex | undefined;
      for (; place <= current.length && match === undefined; place++) {
        const found = aliases.get(nodeOf(current.slice(place)));
        if (found !== undefined && found !== "0x") match = found;
      }
      if (match === undefined || match === last) return current;
      const target = labelsOf(match);
      if (target === undefined) return undefined;
      current = [...current.slice(0, place - 1), ...target];
      last = match;
    }
    return undefined;
  }

  return {
    address,
    isExtended,
    setAddress(node: Hex, coinType: bigint, value: Hex) {
      of(node).addresses.set(coinType, value);
      chain.emit(address, "AddressChanged", node, coinType, value);
      if (coinType !== 60n) return;
      const account = size(value) < 20 ? zeroAddress : slice(value, 0, 20);
      chain.emit(address, "AddrChanged", node, account);
    },
    setText(node: Hex, key: Hex, value: Hex) {
      of(node).texts.set(key, value);
      chain.emit(address, "TextChanged", node, keccak256(key), key, value);
    },
    setContenthash(node: Hex, value: Hex) {
      of(node).contenthash = value;
      chain.emit(address, "ContenthashChanged", node, value);
    },
    clear(node: Hex) {
      records.delete(node);
      const version = (versions.get(node) ?? 0n) + 1n;
      versions.set(node, version);
      chain.emit(address, "VersionChanged", node, version);
    },
    /** `target`: any bytes. */
    setAlias(from: readonly Hex[], target: Hex) {
      aliases.set(nodeOf(from), target);
      const name = wireName(from);
      chain.emit(address, "AliasChanged", keccak256(name), keccak256(target), name, target);
    },
    answers(labels: readonly Hex[]): Answers {
      const read = isExtended ? aliased(labels) : labels;
      return read === undefined ? noAnswers : answersOf(records.get(nodeOf(read)) ?? empty());
    },
  };
}

// Exactly a name, or undefined.
function labelsOf(wire: Hex): Hex[] | undefined {
  const bytes = hexToBytes(wire);
  const labels: Hex[] = [];
  let offset = 0;
  for (;;) {
    const length = bytes[offset];
    if (length === undefined) return undefined;
    if (length === 0) return offset + 1 === bytes.length ? labels : undefined;
    if (offset + 1 + length >= bytes.length) return undefined;
    labels.push(slice(wire, offset + 1, offset + 1 + length));
    offset += 1 + length;
  }
}

/** A resolver with record ids. */
export function createRecordResolver(chain: PlayedChain, { address }: { address: Hex }) {
  const links = new Map<Hex, bigint>();
  const records = new Map<bigint, Values>();
  let newest = 0n;
  const of = (id: bigint) => {
    const values = records.get(id) ?? empty();
    records.set(id, values);
    return values;
  };
  const link = (labels: readonly Hex[], recordId: bigint) => {
    links.set(nodeOf(labels), recordId);
    chain.emit(address, "Linked", recordId, nodeOf(labels), wireName(labels));
  };
  const recordOf = (labels: readonly Hex[]) => {
    const linked = links.get(nodeOf(labels)) ?? 0n;
    if (linked !== 0n) return linked;
    newest += 1n;
    link(labels, newest);
    return newest;
  };
  return {
    address,
    isExtended: true,
    link,
    newest: () => newest,
    setAddress(labels: readonly Hex[], coinType: bigint, value: Hex) {
      const id = recordOf(labels);
      of(id).addresses.set(coinType, value);
      chain.emit(address, "AddressUpdated", id, coinType, value);
    },
    setText(labels: readonly Hex[], key: Hex, value: Hex) {
      const id = recordOf(labels);
      of(id).texts.set(key, value);
      chain.emit(address, "TextUpdated", id, keccak256(key), key, value);
    },
    setContenthash(labels: readonly Hex[], value: Hex) {
      const id = recordOf(labels);
      of(id).contenthash = value;
      chain.emit(address, "ContenthashUpdated", id, value);
    },
    clear(recordId: bigint) {
      records.delete(recordId);
      chain.emit(address, "Cleared", recordId);
    },
    answers(labels: readonly Hex[]): Answers {
      const own = links.get(nodeOf(labels)) ?? 0n;
      const id = own === 0n ? (links.get(root) ?? 0n) : own;
      return answersOf(records.get(id) ?? empty());
    },
  };
}

/** A resolver of either generation. */
export type NodeResolverModel = ReturnType<typeof createNodeResolver>;
export type RecordResolverModel = ReturnType<typeof createRecordResolver>;
