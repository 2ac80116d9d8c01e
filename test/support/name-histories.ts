import { type Hex, namehash, stringToHex } from "viem";
import type { Random } from "../../devnet/random.ts";
import { rootNode, subnode, zeroAddress } from "../../src/ens/ids.ts";
import { labelhash } from "../../src/ens/labels.ts";
import { applyNameUnwrapped, applyNameWrapped } from "../../src/indexing/name-wrapper.ts";
import { applyControllerLabel, applyNameRegistered } from "../../src/indexing/registrar.ts";
import { applyNewOwner, applyNewResolver } from "../../src/indexing/registry.ts";
import { applyNameChanged } from "../../src/indexing/resolver.ts";
import type { Scope } from "../../src/indexing/scope.ts";

/** The handling of an event. */
export type Step = (scope: Scope) => Promise<unknown>;

const owner: Hex = `0x${"a1".repeat(20)}`;
const resolvers: readonly Hex[] = [`0x${"d1".repeat(20)}`, `0x${"d2".repeat(20)}`, zeroAddress];
const eth = namehash("eth");
const managed = { node: eth, name: "eth" };
const price = { baseCost: 1n, premium: 0n, currency: "ETH" } as const;
const accounts = ["ab".repeat(20), "cd".repeat(20)];

/** The labels of random histories: usable, not normalized, and unusable ones, and those of reverse names. */
export const historyLabels = [
  ...["eth", "reverse", "addr", "alice", "bob", "pay", "www", "UPPER", "a.b", "", "müller"],
  ...accounts,
];

/** A random part of some labels; eth, whose names a registrar issues, is part of it if it is of them. */
export const someOf = (random: Random, labels: readonly string[]) =>
  labels.filter((label) => label === "eth" || random.below(2) === 0);

// Of a name in DNS wire format.
const wireOf = (labels: readonly string[]): Hex =>
  `${labels.reduce<Hex>((wire, label) => {
    const bytes = stringToHex(label).slice(2);
    return `${wire}${(bytes.length / 2).toString(16).padStart(2, "0")}${bytes}`;
  }, "0x")}00`;

/** Events as the contracts emit them: a parent is named before its children, and only its labels hash to a node. */
export function randomHistory(random: Random, length: number): Step[] {
  const steps: Step[] = [];
  const names = new Map<Hex, readonly string[]>([[rootNode, []]]);
  const registered = new Set<Hex>();
  const name = (parentNode: Hex, label: string) => {
    const node = subnode(parentNode, labelhash(label));
    names.set(node, [label, ...(names.get(parentNode) ?? [])]);
    steps.push((scope) =>
      applyNewOwner(scope, { parentNode, labelhash: labelhash(label), owner, isOldRegistry: false }),
    );
    return node;
  };
  name(rootNode, "eth");
  const addrReverse = name(name(rootNode, "reverse"), "addr");
  const kinds = [
    "name",
    "name",
    "name",
    "register",
    "reveal",
    "wrap",
    "wrap",
    "unwrap",
    "claim",
    "call",
  ] as const;
  while (steps.length < length) {
    const node = random.pick([...names.keys()].slice(1));
    const labels = names.get(node) ?? [];
    const [label = "", parent] = labels;
    const hash = labelhash(label);
    const [resolver, emitter] = [random.pick(resolvers), random.pick(resolvers)];
    const reverse = subnode(addrReverse, labelhash(random.pick(accounts)));
    switch (random.pick(kinds)) {
      case "name":
        name(random.pick([...names.keys()]), random.pick(historyLabels));
        break;
      case "register":
        if (labels.length !== 2 || parent !== "eth") break;
        registered.add(node);
        steps.push((scope) => applyNameRegistered(scope, { managed, labelhash: hash, owner, expires: 9n }));
        break;
      case "reveal":
        if (!registered.has(node)) break;
        steps.push((scope) => applyControllerLabel(scope, managed, { labelhash: hash, label, price }));
        break;
      case "wrap":
        if (labels.includes("")) break;
        steps.push((scope) =>
          applyNameWrapped(scope, { node, name: wireOf(labels), owner, fuses: 0, expiry: 5n }),
        );
        break;
      case "unwrap":
        steps.push((scope) => applyNameUnwrapped(scope, { node, owner, managedNode: eth }));
        break;
      case "claim":
        name(addrReverse, random.pick(accounts));
        break;
      case "call":
        if (!names.has(reverse)) break;
        steps.push((scope) => applyNewResolver(scope, { node: reverse, resolver, isOldRegistry: false }));
        steps.push((scope) => applyNameChanged({ ...scope, emitter }, { node: reverse, name: "alice.eth" }));
    }
  }
  return steps;
}
