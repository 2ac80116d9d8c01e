import type { Hex } from "viem";
import { describe, expect, test } from "vitest";
import { createRandom } from "../../devnet/random.ts";
import { historyLabels, randomHistory, type Step, someOf } from "../../test/support/name-histories.ts";
import { createScopes } from "../../test/support/scope.ts";
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
import { multichainNaming, type Naming, subgraphNaming } from "./scope.ts";

const finder =
  (naming: Naming, known: readonly string[]): FindLabel =>
  (hash) => {
    const label = known.find((one) => labelhash(one) === hash);
    return naming.proven(hash, label);
  };

/** An index of steps; each part is handled with its labels, and the rows are healed before the next. */
async function play(
  naming: Naming,
  parts: readonly (readonly [steps: readonly Step[], known: readonly string[]])[],
) {
  const { next, store } = createScopes();
  for (const [steps, known] of parts) {
    const find = finder(naming, known);
    for (const row of store.rows(domain)) store.set(domain, healedDomain(row as DomainRow, find));
    for (const row of store.rows(registration) as (typeof registration.$inferSelect)[])
      store.set(registration, healedRegistration(naming, row, find));
    const heal = (hash: Hex) => known.find((one) => labelhash(one) === hash);
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
      const steps = randomHistory(random, 60);
      const newer = someOf(random, historyLabels);
      const middle = someOf(random, newer).filter((label) => label !== "eth" || random.below(2) === 0);
      const older = someOf(random, middle);
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
const knowing = (...labels: string[]) => finder(subgraphNaming, labels);

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
