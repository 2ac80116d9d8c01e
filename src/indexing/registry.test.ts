import { type Hex, namehash } from "viem";
import { describe, expect, test } from "vitest";
import { createScopes } from "../../test/support/scope.ts";
import { rootNode, zeroAddress } from "../ens/ids.ts";
import { labelhash } from "../ens/labels.ts";
import { domain, domainEvent } from "../schema/subgraph.ts";
import { subgraphNaming } from "./naming.ts";
import { applyNewOwner, applyNewResolver, applyRegistryTransfer } from "./registry.ts";

// The rules of section B.4 in the reference of the original subgraph.

const owner: Hex = `0x${"a1".repeat(20)}`;
const other: Hex = `0x${"b2".repeat(20)}`;
const resolverAddress: Hex = `0x${"d1".repeat(20)}`;
const eth = namehash("eth");

function createRegistry() {
  const { next, store } = createScopes();
  const scope = () => next({ naming: subgraphNaming });
  const own = (parentNode: Hex, label: string, more: { owner?: Hex; isOldRegistry?: boolean } = {}) =>
    applyNewOwner(scope(), { parentNode, labelhash: labelhash(label), owner, isOldRegistry: false, ...more });
  const domainOf = (node: Hex) => store.rows(domain).find(({ id }) => id === node);
  return { scope, own, domainOf, rows: store.rows };
}

describe("the old registry", () => {
  test("counts until the new one names the node", async () => {
    const { scope, own, domainOf, rows } = createRegistry();
    await own(rootNode, "eth", { isOldRegistry: true });
    await applyRegistryTransfer(scope(), { node: eth, owner: other, isOldRegistry: true });
    expect(domainOf(eth)).toMatchObject({ ownerId: other, isMigrated: false });
    await own(rootNode, "eth");
    expect(domainOf(eth)).toMatchObject({ ownerId: owner, isMigrated: true });
    // Each event tells which of the two emitted it.
    expect(rows(domainEvent).map(({ type, fromOldRegistry }) => [type, fromOldRegistry ?? null])).toEqual([
      ["NewOwner", true],
      ["Transfer", true],
      ["NewOwner", null],
    ]);
  });

  test("sets the root's resolver, but not its owner", async () => {
    const { scope, own, domainOf } = createRegistry();
    await own(rootNode, "eth");
    await applyRegistryTransfer(scope(), { node: rootNode, owner, isOldRegistry: true });
    await applyNewResolver(scope(), { node: rootNode, resolver: resolverAddress, isOldRegistry: true });
    expect(domainOf(rootNode)).toMatchObject({
      ownerId: zeroAddress,
      resolverId: `${resolverAddress}-${rootNode}`,
    });
  });
});
