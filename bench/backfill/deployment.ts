import { concat, type Hex, numberToHex, size, stringToHex } from "viem";
import { type EmittedLog, emits } from "../../devnet/events.ts";
import type { Random } from "../../devnet/random.ts";
import { accountOf, hashOf, rootNode, subnodeOf, type Transaction, year, zero } from "./made-up.ts";

/** A name of a generated history, in its current state on chain. */
export type Name = {
  label: string;
  labelhash: Hex;
  node: Hex;
  owner: Hex;
  expires: bigint;
  isWrapped: boolean;
  /** Index of its controller in the deployment. */
  controller: number;
};

/** Source of the numbers that determine a history. */
export type Chance = Pick<Random, "below" | "pick">;

/** A registry with a registrar and maybe a wrapper, and the names registered so far. */
export type Deployment = {
  random: Chance;
  contracts: { registry: Hex; registrar: Hex; wrapper?: Hex; resolver: Hex };
  managedName: string;
  managedNode: Hex;
  /** Prefix of its labels. */
  prefix: string;
  names: Name[];
  /** Labels in use, top-level ones included. */
  labels: string[];
  /** Label of the name with this number, in place of prefix and number. */
  labelOf?: (place: number) => string | undefined;
  /** Owner of the name with this number, in place of some account. */
  ownerOf?: (place: number) => Hex | undefined;
};

/** Keys of text records. */
export const textKeys = ["avatar", "url", "com.twitter", "description"];

// The parent can no longer control the name, as for every second-level name.
const fuses = 0x1_0000;
const grace = 7_776_000n;

/** Token id of a name at the registrar. */
export const tokenId = ({ labelhash }: Pick<Name, "labelhash">) => BigInt(labelhash);

/** Some account; the number of accounts grows with the number of names. */
export const someAccount = ({ random, names }: Deployment) => accountOf(random.below(names.length + 50) >> 2);

/** One of the names registered so far. */
export const someName = ({ random, names }: Deployment) => random.pick(names);

/** Logs that create the names above the registrar's: each the parent of the next. */
export function topLevel(
  { contracts: { registry, registrar }, labels }: Deployment,
  path: readonly string[],
): EmittedLog[] {
  let parent = rootNode;
  return path.map((label, place) => {
    const owner = place === path.length - 1 ? registrar : zero;
    const log = emits.newOwner(registry, parent, hashOf(label), owner);
    parent = subnodeOf(parent, hashOf(label));
    labels.push(label);
    return log;
  });
}

/** A new name of some account, registered through the controller with this index. */
export function newName(deployment: Deployment, controller: number, isWrapped: boolean): Name {
  const { random, managedNode, prefix, names, labels } = deployment;
  const label = deployment.labelOf?.(names.length) ?? `${prefix}${names.length}`;
  const labelhash = hashOf(label);
  const name = {
    label,
    labelhash,
    node: subnodeOf(managedNode, labelhash),
    owner: deployment.ownerOf?.(names.length) ?? someAccount(deployment),
    expires: 1_900_000_000n + BigInt(random.below(1_000_000)),
    // The wrapper refuses longer labels.
    isWrapped: isWrapped && Buffer.byteLength(label) <= 255,
    controller,
  };
  names.push(name);
  labels.push(label);
  return name;
}

/** Logs of an Ethereum address at the resolver, in the new form and the old. */
export function addressLogs({ contracts: { resolver } }: Deployment, node: Hex, owner: Hex): EmittedLog[] {
  return [emits.addressChanged(resolver, node, 60n, owner), emits.addrChanged(resolver, node, owner)];
}

/** Mint, registry entry and registration, then resolver and address if the name gets them. */
export function registration(deployment: Deployment, name: Name, hasRecords: boolean): EmittedLog[] {
  const { registry, registrar, wrapper = zero, resolver } = deployment.contracts;
  const holder = name.isWrapped ? wrapper : name.owner;
  return [
    emits.tokenTransfer(registrar, zero, holder, tokenId(name)),
    emits.newOwner(registry, deployment.managedNode, name.labelhash, holder),
    emits.registered(registrar, tokenId(name), holder, name.expires),
    ...(hasRecords ? [emits.newResolver(registry, name.node, resolver)] : []),
    ...(name.isWrapped ? wrapping(deployment, name) : []),
    ...(hasRecords ? addressLogs(deployment, name.node, name.owner) : []),
  ];
}

function wrapping({ contracts: { wrapper = zero }, managedName }: Deployment, name: Name): EmittedLog[] {
  const { owner, node, label, expires } = name;
  return [
    emits.wrappedTransfer(wrapper, owner, zero, owner, BigInt(node), 1n),
    emits.wrapped(wrapper, node, dnsName(`${label}.${managedName}`), owner, fuses, expires + grace),
  ];
}

/** The registrar's and the wrapper's part of a renewal by one year. */
export function renewal({ contracts: { registrar, wrapper = zero } }: Deployment, name: Name): EmittedLog[] {
  name.expires += year;
  return [
    emits.renewed(registrar, tokenId(name), name.expires),
    ...(name.isWrapped ? [emits.expiryExtended(wrapper, name.node, name.expires + grace)] : []),
  ];
}

/** Transfer of the token to another account, together with the registry entry. */
export function transfer({ contracts }: Deployment, name: Name, to: Hex): EmittedLog[] {
  const { registry, registrar, wrapper = zero } = contracts;
  const from = name.owner;
  name.owner = to;
  if (name.isWrapped) return [emits.wrappedTransfer(wrapper, from, from, to, BigInt(name.node), 1n)];
  return [
    emits.tokenTransfer(registrar, from, to, tokenId(name)),
    emits.registryTransfer(registry, name.node, to),
  ];
}

function unwrap(
  { contracts: { registry, registrar, wrapper = zero } }: Deployment,
  name: Name,
): EmittedLog[] {
  const { owner, node } = name;
  name.isWrapped = false;
  return [
    emits.wrappedTransfer(wrapper, owner, owner, zero, BigInt(node), 1n),
    emits.unwrapped(wrapper, node, owner),
    emits.registryTransfer(registry, node, owner),
    emits.tokenTransfer(registrar, wrapper, owner, tokenId(name)),
  ];
}

/** Some text record of a name. */
export function text(
  { random, contracts: { resolver } }: Deployment,
  { node }: Pick<Name, "node">,
): EmittedLog[] {
  const key = random.pick(textKeys);
  return [emits.textChanged(resolver, node, key, key, `value ${random.below(1000)}`)];
}

/** One of five subnames of a name, with resolver and address. */
export function subname(deployment: Deployment, { node, owner }: Pick<Name, "node" | "owner">): EmittedLog[] {
  const { registry, resolver } = deployment.contracts;
  const labelhash = hashOf(`sub${deployment.random.below(5)}`);
  const subnode = subnodeOf(node, labelhash);
  return [
    emits.newOwner(registry, node, labelhash, owner),
    emits.newResolver(registry, subnode, resolver),
    ...addressLogs(deployment, subnode, owner),
  ];
}

/** A change that is the same in every deployment; `kind` is a percentage below 100. */
export function change(deployment: Deployment, kind: number, name: Name): Transaction {
  const { random, contracts } = deployment;
  const from = name.owner;
  if (kind < 25) {
    if (name.isWrapped && kind < 3) return { from, logs: unwrap(deployment, name) };
    return { from, logs: transfer(deployment, name, someAccount(deployment)) };
  }
  if (kind < 50) return { from, logs: text(deployment, name) };
  if (kind < 72) return { from, logs: addressLogs(deployment, name.node, from) };
  if (kind < 77) {
    const hash = stringToHex(`content ${random.below(1000)}`, { size: 32 });
    return { from, logs: [emits.contenthashChanged(contracts.resolver, name.node, hash)] };
  }
  return { from, logs: subname(deployment, name) };
}

/** The primary name that an account claims under `parent`, a node of this registry. */
export function primaryName(
  { contracts: { registry, resolver }, managedName }: Deployment,
  parent: Hex,
  { label, owner }: Pick<Name, "label" | "owner">,
): EmittedLog[] {
  const labelhash = hashOf(owner.slice(2));
  const node = subnodeOf(parent, labelhash);
  return [
    emits.newOwner(registry, parent, labelhash, owner),
    emits.newResolver(registry, node, resolver),
    emits.nameChanged(resolver, node, `${label}.${managedName}`),
  ];
}

/** A name in DNS wire format. */
export function dnsName(name: string): Hex {
  const labels = name.split(".").map((label) => {
    const bytes = stringToHex(label);
    return concat([numberToHex(size(bytes), { size: 1 }), bytes]);
  });
  return concat([...labels, "0x00"]);
}
