import { type Hex, namehash, stringToHex, toHex, zeroAddress as zero } from "viem";
import { packetToBytes } from "viem/ens";
import { legacyControllerAbi, unwrappedControllerAbi, wrappedControllerAbi } from "../../abis/registrars.ts";
import { createLogEncoder, type EmittedLog, emits } from "../../devnet/events.ts";
import { createRandom, type Random } from "../../devnet/random.ts";
import { namespaces } from "../../src/deployments/namespaces.ts";
import { addrReverseNode, rootNode, subnode } from "../../src/ens/ids.ts";
import { labelhash } from "../../src/ens/labels.ts";

/** One transaction of a generated history. */
export type Transaction = { from: Hex; logs: EmittedLog[] };

/** A generated account. */
export function generateAccount(id: number): Hex {
  const account = accounts.get(id) ?? (`0x${labelhash(`account ${id}`).slice(26)}` as const);
  accounts.set(id, account);
  return account;
}

const accounts = new Map<number, Hex>();
const [ethNode, reverseNode] = [namehash("eth"), namehash("reverse")];
const year = 31_536_000n;
const grace = 7_776_000n;
// PARENT_CANNOT_CONTROL
const fuses = 0x1_0000;
const [cost, premium] = [3n * 10n ** 15n, 10n ** 14n];
const referrer: Hex = `0x${"0".repeat(24)}${generateAccount(7).slice(2)}`;
const resolver: Hex = "0x231b0ee14048e9dccd1d247744d114a4eb5e8e63";
const textKeys = ["avatar", "url", "com.twitter", "description"];

type Name = {
  label: string;
  labelhash: Hex;
  node: Hex;
  owner: Hex;
  expires: bigint;
  isWrapped: boolean;
  era: number;
};

/** Label or owner of the name with a number, in place of a generated one. */
export type Special = {
  labelOf?: (index: number) => string | undefined;
  ownerOf?: (index: number) => Hex | undefined;
};

type State = Special & {
  random: Random;
  contracts: ReturnType<typeof findContracts>;
  names: Name[];
  labels: string[];
};

function findContracts(namespace: "mainnet" | "holesky") {
  const contracts = namespaces[namespace]["ensroot"]?.contracts ?? {};
  const at = (name: string): Hex => {
    const address = contracts[name]?.address;
    if (address === undefined) throw new Error(`${namespace} has no ${name}.`);
    return address;
  };
  return {
    registry: at("ENSv1Registry"),
    registrar: at("BaseRegistrar"),
    wrapper: at("NameWrapper"),
    controllers: ["Legacy", "Wrapped", "Unwrapped"].map((era) => at(`${era}EthRegistrarController`)),
  };
}

/**
 * A history of the names under .eth in the proportions of mainnet's, of at least `count` logs and always the same: each
 * third registers through another controller, the second one through the wrapper. The transactions come one after the
 * other, so that memory holds the names only; `labels` are complete when all are taken.
 */
export function namesHistory(namespace: "mainnet" | "holesky", count: number, special: Special = {}) {
  const labels = ["eth", "reverse", "addr"];
  const state: State = {
    ...special,
    random: createRandom(1),
    contracts: findContracts(namespace),
    names: [],
    labels,
  };
  return { transactions: steps(state, count), labels };
}

function* steps(state: State, count: number): Generator<Transaction> {
  const { registry, registrar } = state.contracts;
  const first = [
    emits.newOwner(registry, rootNode, labelhash("eth"), registrar),
    emits.newOwner(registry, rootNode, labelhash("reverse"), zero),
    emits.newOwner(registry, reverseNode, labelhash("addr"), zero),
  ];
  yield { from: generateAccount(0), logs: first };
  for (let logs = first.length; logs < count; ) {
    const transaction = step(state, Math.min(2, Math.floor((logs / count) * 3)));
    yield transaction;
    logs += transaction.logs.length;
  }
}

function step(state: State, era: number): Transaction {
  const { random, names } = state;
  const kind = names.length < 100 ? 0 : random.below(100);
  const name = kind < 40 ? newName(state, era) : random.pick(names);
  const from = name.owner;
  if (kind < 40) return { from, logs: registration(state, name) };
  if (kind < 60) return { from, logs: renewal(state, name) };
  if (kind < 61 && name.isWrapped) return { from, logs: unwrap(state, name) };
  if (kind < 70) return { from, logs: transfer(state, name) };
  if (kind < 80) return { from, logs: text(state, name) };
  if (kind < 88) return { from, logs: addressLogs(name.node, from) };
  if (kind < 90) {
    const hash = stringToHex(`content ${random.below(1000)}`, { size: 32 });
    return { from, logs: [emits.contenthashChanged(resolver, name.node, hash)] };
  }
  return { from, logs: subname(state, name) };
}

// The number of accounts grows with the number of names.
const someAccount = ({ random, names }: State) => generateAccount(random.below(names.length + 50) >> 2);

function newName(state: State, era: number): Name {
  const { random, names, labels } = state;
  const label = state.labelOf?.(names.length) ?? `name${names.length}`;
  const hash = labelhash(label);
  const name = {
    label,
    labelhash: hash,
    node: subnode(ethNode, hash),
    owner: state.ownerOf?.(names.length) ?? someAccount(state),
    expires: 1_900_000_000n + BigInt(random.below(1_000_000)),
    // The wrapper refuses longer labels.
    isWrapped: era === 1 && Buffer.byteLength(label) <= 255,
    era,
  };
  names.push(name);
  labels.push(label);
  return name;
}

const tokenId = ({ labelhash }: Name) => BigInt(labelhash);

// Three of four get a resolver and an address, one of them a primary name too.
function registration({ random, contracts }: State, name: Name): EmittedLog[] {
  const { registry, registrar, wrapper } = contracts;
  const { owner, node, label, expires, isWrapped } = name;
  const holder = isWrapped ? wrapper : owner;
  const kind = random.below(4);
  const wrapping = [
    emits.wrappedTransfer(wrapper, owner, zero, owner, BigInt(node), 1n),
    emits.wrapped(wrapper, node, toHex(packetToBytes(`${label}.eth`)), owner, fuses, expires + grace),
  ];
  return [
    emits.tokenTransfer(registrar, zero, holder, tokenId(name)),
    emits.newOwner(registry, ethNode, name.labelhash, holder),
    emits.registered(registrar, tokenId(name), holder, expires),
    ...(kind > 0 ? [emits.newResolver(registry, node, resolver)] : []),
    ...(isWrapped ? wrapping : []),
    ...(kind > 0 ? addressLogs(node, owner) : []),
    registeredLog(contracts.controllers, name),
    ...(kind === 1 ? primaryName(registry, name) : []),
  ];
}

const registeredBy = [
  createLogEncoder(legacyControllerAbi, "NameRegistered"),
  createLogEncoder(wrappedControllerAbi, "NameRegistered"),
  createLogEncoder(unwrappedControllerAbi, "NameRegistered"),
] as const;
const renewedBy = [
  createLogEncoder(legacyControllerAbi, "NameRenewed"),
  createLogEncoder(wrappedControllerAbi, "NameRenewed"),
  createLogEncoder(unwrappedControllerAbi, "NameRenewed"),
] as const;

// Only the third controller records a referrer.
function registeredLog(
  controllers: readonly Hex[],
  { era, label, labelhash, owner, expires }: Name,
): EmittedLog {
  const controller = controllers[era] ?? zero;
  if (era === 0) return registeredBy[0](controller, label, labelhash, owner, cost, expires);
  if (era === 1) return registeredBy[1](controller, label, labelhash, owner, cost, premium, expires);
  return registeredBy[2](controller, label, labelhash, owner, cost, premium, expires, referrer);
}

function renewal({ contracts }: State, name: Name): EmittedLog[] {
  const { registrar, wrapper, controllers } = contracts;
  name.expires += year;
  const { era, label, labelhash, node, expires, isWrapped } = name;
  const controller = controllers[era] ?? zero;
  return [
    emits.renewed(registrar, tokenId(name), expires),
    ...(isWrapped ? [emits.expiryExtended(wrapper, node, expires + grace)] : []),
    era === 2
      ? renewedBy[2](controller, label, labelhash, cost, expires, referrer)
      : renewedBy[era === 0 ? 0 : 1](controller, label, labelhash, cost, expires),
  ];
}

function transfer(state: State, name: Name): EmittedLog[] {
  const { registry, registrar, wrapper } = state.contracts;
  const from = name.owner;
  const to = someAccount(state);
  name.owner = to;
  if (name.isWrapped) return [emits.wrappedTransfer(wrapper, from, from, to, BigInt(name.node), 1n)];
  return [
    emits.tokenTransfer(registrar, from, to, tokenId(name)),
    emits.registryTransfer(registry, name.node, to),
  ];
}

function unwrap({ contracts: { registry, registrar, wrapper } }: State, name: Name): EmittedLog[] {
  const { owner, node } = name;
  name.isWrapped = false;
  return [
    emits.wrappedTransfer(wrapper, owner, owner, zero, BigInt(node), 1n),
    emits.unwrapped(wrapper, node, owner),
    emits.registryTransfer(registry, node, owner),
    emits.tokenTransfer(registrar, wrapper, owner, tokenId(name)),
  ];
}

function text({ random }: State, { node }: Name): EmittedLog[] {
  const key = random.pick(textKeys);
  return [emits.textChanged(resolver, node, key, key, `value ${random.below(1000)}`)];
}

// The resolver emits an Ethereum address in the new form and the old.
const addressLogs = (node: Hex, owner: Hex): EmittedLog[] => [
  emits.addressChanged(resolver, node, 60n, owner),
  emits.addrChanged(resolver, node, owner),
];

function subname({ random, contracts: { registry } }: State, { node, owner }: Name): EmittedLog[] {
  const hash = labelhash(`sub${random.below(5)}`);
  const below = subnode(node, hash);
  return [
    emits.newOwner(registry, node, hash, owner),
    emits.newResolver(registry, below, resolver),
    ...addressLogs(below, owner),
  ];
}

function primaryName(registry: Hex, { label, owner }: Name): EmittedLog[] {
  const hash = labelhash(owner.slice(2));
  const node = subnode(addrReverseNode, hash);
  return [
    emits.newOwner(registry, addrReverseNode, hash, owner),
    emits.newResolver(registry, node, resolver),
    emits.nameChanged(resolver, node, `${label}.eth`),
  ];
}
