import { type Hex, namehash, stringToHex } from "viem";
import { describe, expect, test } from "vitest";
import { createRandom, type Random } from "../../devnet/random.ts";
import { createScopes } from "../../test/support/scope.ts";
import { rootNode, subnode } from "../ens/ids.ts";
import { labelhash } from "../ens/labels.ts";
import { domain, domainEvent, registration, wrappedDomain } from "../schema/subgraph.ts";
import type { DomainRow } from "./domains.ts";
import {
  type FindLabel,
  healedDomain,
  healedRegistration,
  unknownOfDomain,
  unrevealedName,
} from "./healing.ts";
import { applyNameUnwrapped, applyNameWrapped } from "./name-wrapper.ts";
import { applyControllerLabel, applyNameRegistered } from "./registrar.ts";
import { applyNewOwner } from "./registry.ts";
import { multichainNaming, type Naming, type Scope, subgraphNaming } from "./scope.ts";

const owner: Hex = `0x${"a1".repeat(20)}`;
const eth = namehash("eth");
const managed = { node: eth, name: "eth" };
const price = { baseCost: 1n, premium: 0n, currency: "ETH" } as const;

type Step = (scope: Scope) => Promise<unknown>;

// Of a name in DNS wire format.
const wireOf = (labels: readonly string[]): Hex =>
  `${labels.reduce<Hex>((wire, label) => {
    const bytes = stringToHex(label).slice(2);
    return `${wire}${(bytes.length / 2).toString(16).padStart(2, "0")}${bytes}`;
  }, "0x")}00`;

const alphabet = ["alice", "bob", "pay", "www", "UPPER", "a.b", "", "müller"];

/** Events as the contracts emit them: a parent is named before its children, and only its labels hash to a node. */
function randomHistory(random: Random): Step[] {
  const steps: Step[] = [];
  const names = new Map<Hex, readonly string[]>([[rootNode, []]]);
  const registered = new Set<Hex>();
  const name = (parentNode: Hex, label: string) => {
    names.set(subnode(parentNode, labelhash(label)), [label, ...(names.get(parentNode) ?? [])]);
    steps.push((scope) =>
      applyNewOwner(scope, { parentNode, labelhash: labelhash(label), owner, isOldRegistry: false }),
    );
  };
  name(rootNode, "eth");
  const nodes = () => [...names.keys()];
  for (let step = 0; step < 60; step++) {
    const node = random.pick(nodes().slice(1));
    const labels = names.get(node) ?? [];
    const [label = "", parent] = labels;
    const hash = labelhash(label);
    const isRegistrable = labels.length === 2 && parent === "eth";
    const kind = random.pick(["name", "name", "register", "reveal", "wrap", "wrap", "unwrap"] as const);
    if (kind === "name") name(random.pick(nodes()), random.pick(alphabet));
    if (kind === "register" && isRegistrable) {
      registered.add(node);
      steps.push((scope) => applyNameRegistered(scope, { managed, labelhash: hash, owner, expires: 9n }));
    }
    if (kind === "reveal" && registered.has(node))
      steps.push((scope) => applyControllerLabel(scope, managed, { labelhash: hash, label, price }));
    if (kind === "wrap" && !labels.includes(""))
      steps.push((scope) =>
        applyNameWrapped(scope, { node, name: wireOf(labels), owner, fuses: 0, expiry: 5n }),
      );
    if (kind === "unwrap")
      steps.push((scope) => applyNameUnwrapped(scope, { node, owner, managedNode: eth }));
  }
  return steps;
}

const finder =
  (naming: Naming, known: ReadonlySet<string>): FindLabel =>
  (hash) => {
    const label = [...known].find((one) => labelhash(one) === hash);
    return naming.proven(hash, label);
  };

/** An index of steps; each part is handled with its labels, and the rows are healed before the next. */
async function play(
  naming: Naming,
  parts: readonly (readonly [steps: readonly Step[], known: ReadonlySet<string>])[],
) {
  const { next, store } = createScopes();
  for (const [steps, known] of parts) {
    const find = finder(naming, known);
    for (const row of store.rows(domain)) store.set(domain, healedDomain(row as DomainRow, find));
    for (const row of store.rows(registration) as (typeof registration.$inferSelect)[])
      store.set(registration, healedRegistration(naming, row, find));
    const heal = (hash: Hex) => [...known].find((one) => labelhash(one) === hash);
    for (const step of steps) await step(next({ naming, heal }));
  }
  const tables = [domain, registration, wrappedDomain, domainEvent];
  return tables.map((table) => store.rows(table).map(({ changeBlock: _, ...row }) => row));
}

describe.each([
  { mode: "subgraph", naming: subgraphNaming },
  { mode: "multichain", naming: multichainNaming },
])("in $mode mode", ({ naming }) => {
  test("healed rows are those of an index with the newer labels, whenever they are healed", async () => {
    for (let seed = 1; seed <= 40; seed++) {
      const random = createRandom(seed);
      const steps = randomHistory(random);
      const newer = new Set(["eth", ...alphabet.filter(() => random.below(2) === 0)]);
      const middle = new Set([...newer].filter(() => random.below(2) === 0));
      const older = new Set([...middle].filter(() => random.below(2) === 0));
      const expected = await play(naming, [[steps, newer]]);
      const at = random.below(steps.length);
      const inSteps = [
        [steps.slice(0, at), older],
        [steps.slice(at), middle],
        [[], newer],
      ] as const;
      expect(await play(naming, inSteps), `seed ${seed}`).toEqual(expected);
      expect(
        await play(naming, [
          [steps, older],
          [[], newer],
        ]),
        `seed ${seed}`,
      ).toEqual(expected);
    }
  });
});

const row = { name: null, labelName: null, labelhash: null, unrevealedName: null };
const brackets = (label: string) => `[${labelhash(label).slice(2)}]`;
const braces = (label: string) => `{${labelhash(label).slice(2)}}`;
const knowing = (...labels: string[]) => finder(subgraphNaming, new Set(labels));

// The mapping of the subgraph, handleNameWrapped: it sets label and name only of a domain without a label.
test("a wrapper's name stays unless the domain's own label becomes known", () => {
  const looked = { ...row, name: `${brackets("pay")}.${brackets("alice")}.eth`, labelhash: labelhash("pay") };
  const wrapped = {
    ...looked,
    name: "pay.alice.eth",
    labelName: "pay",
    unrevealedName: unrevealedName(looked),
  };
  expect(wrapped.unrevealedName).toBe(`${braces("pay")}.${brackets("alice")}.eth`);
  expect(unknownOfDomain(wrapped)).toEqual([labelhash("pay"), labelhash("alice")]);
  const named = (find: FindLabel) => {
    const { name, unrevealedName: looked } = healedDomain(wrapped, find);
    return { name, looked };
  };
  expect(named(knowing())).toEqual({ name: "pay.alice.eth", looked: wrapped.unrevealedName });
  expect(named(knowing("pay"))).toEqual({ name: `pay.${brackets("alice")}.eth`, looked: null });
  expect(named(knowing("alice"))).toEqual({ name: "pay.alice.eth", looked: null });
  expect(named(knowing("pay", "alice"))).toEqual({ name: "pay.alice.eth", looked: null });
});
