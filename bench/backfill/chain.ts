import {
  concat,
  encodeAbiParameters,
  type Hex,
  keccak256,
  namehash,
  numberToHex,
  toEventSelector,
  toHex,
} from "viem";
import { accountOf, hashOf } from "./made-up.ts";

// A made-up history in the proportions of the real one: registrations with their eight to nine events, renewals,
// transfers, records, subnames, reverse names. The same seed gives the same chain.

export type GeneratedLog = { address: Hex; topics: Hex[]; data: Hex };

/** Contracts of Holesky that the history uses: a namespace of one chain, so that every plugin can index it. */
const contracts = {
  registry: "0x00000000000c2e074ec69a0dfb2997ba6c7d2e1e",
  registrar: "0x57f1887a8bf19b14fc0df6fd9b2acc9af147ea85",
  controller: "0xf13fc748601fdc5afa255e9d9166eb43f603a903",
  resolver: "0x231b0ee14048e9dccd1d247744d114a4eb5e8e63",
} as const;

const topic = {
  newOwner: toEventSelector("NewOwner(bytes32,bytes32,address)"),
  registryTransfer: toEventSelector("Transfer(bytes32,address)"),
  newResolver: toEventSelector("NewResolver(bytes32,address)"),
  registered: toEventSelector("NameRegistered(uint256,address,uint256)"),
  renewed: toEventSelector("NameRenewed(uint256,uint256)"),
  tokenTransfer: toEventSelector("Transfer(address,address,uint256)"),
  controllerRegistered: toEventSelector("NameRegistered(string,bytes32,address,uint256,uint256)"),
  controllerRenewed: toEventSelector("NameRenewed(string,bytes32,uint256,uint256)"),
  addrChanged: toEventSelector("AddrChanged(bytes32,address)"),
  addressChanged: toEventSelector("AddressChanged(bytes32,uint256,bytes)"),
  textChanged: toEventSelector("TextChanged(bytes32,string,string,string)"),
  nameChanged: toEventSelector("NameChanged(bytes32,string)"),
};

const eth = namehash("eth");
const addrReverse = namehash("addr.reverse");
const root: Hex = `0x${"0".repeat(64)}`;
const zero: Hex = `0x${"0".repeat(40)}`;

const word = (hex: Hex): Hex => `0x${hex.slice(2).padStart(64, "0")}`;
const number = (value: number | bigint): Hex => numberToHex(value, { size: 32 });

/** The logs of the history, transaction by transaction, until at least `count` were made; and the labels that were used. */
export function generateHistory(count: number): { transactions: GeneratedLog[][]; labels: string[] } {
  const labels: string[] = ["eth", "reverse", "addr"];
  const transactions: GeneratedLog[][] = [topLevel()];
  let made = 3;
  let state = 1;
  const random = (below: number) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state % below;
  };
  let names = 0;
  while (made < count) {
    const kind = names < 100 ? 0 : random(10);
    const label = kind < 4 ? `name${names++}` : `name${random(names)}`;
    const owner = accountOf(random(names + 50) >> 2);
    const logs = kind < 4 ? registration(label, owner, kind) : change(kind, label, owner, random);
    if (kind < 4) labels.push(label);
    transactions.push(logs);
    made += logs.length;
  }
  return { transactions, labels };
}

function topLevel(): GeneratedLog[] {
  return [
    newOwner(root, "eth", contracts.registrar),
    newOwner(root, "reverse", zero),
    newOwner(namehash("reverse"), "addr", zero),
  ];
}

function newOwner(parent: Hex, label: string, owner: Hex): GeneratedLog {
  return { address: contracts.registry, topics: [topic.newOwner, parent, hashOf(label)], data: word(owner) };
}

function tokenTransfer(from: Hex, to: Hex, label: string): GeneratedLog {
  return {
    address: contracts.registrar,
    topics: [topic.tokenTransfer, word(from), word(to), hashOf(label)],
    data: "0x",
  };
}

function newResolver(node: Hex): GeneratedLog {
  return { address: contracts.registry, topics: [topic.newResolver, node], data: word(contracts.resolver) };
}

function addrChanged(node: Hex, owner: Hex): GeneratedLog[] {
  const multicoin = encodeAbiParameters([{ type: "uint256" }, { type: "bytes" }], [60n, owner]);
  return [
    { address: contracts.resolver, topics: [topic.addressChanged, node], data: multicoin },
    { address: contracts.resolver, topics: [topic.addrChanged, node], data: word(owner) },
  ];
}

/** The logs of a registration; the higher kinds set records too, kind 1 also a reverse name. */
export function registration(label: string, owner: Hex, kind: number): GeneratedLog[] {
  const labelhash = hashOf(label);
  const node = keccak256(concat([eth, labelhash]));
  const price = encodeAbiParameters(
    [{ type: "string" }, { type: "uint256" }, { type: "uint256" }],
    [label, 3n * 10n ** 15n, 1_900_000_000n],
  );
  return [
    tokenTransfer(zero, owner, label),
    newOwner(eth, label, owner),
    {
      address: contracts.registrar,
      topics: [topic.registered, labelhash, word(owner)],
      data: number(1_900_000_000),
    },
    ...(kind === 0 ? [] : [newResolver(node), ...addrChanged(node, owner)]),
    {
      address: contracts.controller,
      topics: [topic.controllerRegistered, labelhash, word(owner)],
      data: price,
    },
    ...(kind === 1 ? reverseName(label, owner) : []),
  ];
}

function reverseName(label: string, owner: Hex): GeneratedLog[] {
  const node = keccak256(concat([addrReverse, hashOf(owner.slice(2))]));
  const name = encodeAbiParameters([{ type: "string" }], [`${label}.eth`]);
  return [
    newOwner(addrReverse, owner.slice(2), owner),
    newResolver(node),
    { address: contracts.resolver, topics: [topic.nameChanged, node], data: name },
  ];
}

function change(kind: number, label: string, owner: Hex, random: (below: number) => number): GeneratedLog[] {
  const labelhash = hashOf(label);
  const node = keccak256(concat([eth, labelhash]));
  if (kind < 6) {
    const expires = 1_900_000_000n + BigInt(random(1_000_000));
    const price = encodeAbiParameters(
      [{ type: "string" }, { type: "uint256" }, { type: "uint256" }],
      [label, 10n ** 15n, expires],
    );
    return [
      { address: contracts.registrar, topics: [topic.renewed, labelhash], data: number(expires) },
      { address: contracts.controller, topics: [topic.controllerRenewed, labelhash], data: price },
    ];
  }
  if (kind < 7) {
    return [
      tokenTransfer(owner, owner, label),
      { address: contracts.registry, topics: [topic.registryTransfer, node], data: word(owner) },
    ];
  }
  if (kind < 8) {
    const key = ["avatar", "url", "com.twitter", "description"][random(4)] ?? "avatar";
    const text = encodeAbiParameters(
      [{ type: "string" }, { type: "string" }],
      [key, `value ${random(1000)}`],
    );
    return [{ address: contracts.resolver, topics: [topic.textChanged, node, hashOf(key)], data: text }];
  }
  if (kind < 9) return addrChanged(node, owner);
  const sub = `sub${random(5)}`;
  const subnode = keccak256(concat([node, hashOf(sub)]));
  return [newOwner(node, sub, owner), newResolver(subnode), ...addrChanged(subnode, owner)];
}

/** Hash-like 32 bytes that stand for a block or transaction of the made-up chain. */
export function madeUpHash(kind: "block" | "transaction", id: number): Hex {
  return `0x${kind === "block" ? "b1" : "a1"}${toHex(id, { size: 31 }).slice(2)}`;
}
