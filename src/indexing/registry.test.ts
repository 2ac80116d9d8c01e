import { type Hex, namehash } from "viem";
import { describe, expect, test } from "vitest";
import { createScopes } from "../../test/support/scope.ts";
import { rootNode, zeroAddress } from "../ens/ids.ts";
import { labelhash } from "../ens/labels.ts";
import { account, domain, domainEvent } from "../schema/subgraph.ts";
import { subgraphNaming } from "./naming.ts";
import { applyNewOwner, applyNewResolver, applyNewTtl, applyRegistryTransfer } from "./registry.ts";

// The rules of section B.4 in the reference of the original subgraph.

const owner: Hex = `0x${"a1".repeat(20)}`;
const other: Hex = `0x${"b2".repeat(20)}`;
const resolverAddress: Hex = `0x${"d1".repeat(20)}`;
const eth = namehash("eth");
const alice = namehash("alice.eth");
const isOldRegistry = false;

function createRegistry(labels: string[] = ["eth", "alice"]) {
  const { next, store, anomalies } = createScopes();
  const known = new Map(labels.map((label) => [labelhash(label), label]));
  const scope = () => next({ naming: subgraphNaming, heal: (labelhash) => known.get(labelhash) });
  const own = (parentNode: Hex, label: string, more: { owner?: Hex; isOldRegistry?: boolean } = {}) =>
    applyNewOwner(scope(), { parentNode, labelhash: labelhash(label), owner, isOldRegistry, ...more });
  const domainOf = (node: Hex) => store.rows(domain).find(({ id }) => id === node);
  return { scope, own, domainOf, rows: store.rows, anomalies };
}

describe("NewOwner", () => {
  test("a second NewOwner neither counts nor names again", async () => {
    const { own, domainOf } = createRegistry();
    await own(rootNode, "eth");
    await own(eth, "alice");
    await own(eth, "alice", { owner: other });
    expect(domainOf(eth)?.["subdomainCount"]).toBe(1);
    expect(domainOf(alice)).toMatchObject({ ownerId: other, createdAt: 1_700_000_002n });
  });

  test("a domain created with the zero owner is net zero in its parent's count", async () => {
    const { own, domainOf } = createRegistry();
    await own(rootNode, "eth");
    await own(eth, "alice", { owner: zeroAddress });
    expect(domainOf(eth)?.["subdomainCount"]).toBe(0);
  });
});

describe("the old registry", () => {
  test("is ignored for migrated nodes, without a trace", async () => {
    const { scope, own, domainOf, rows } = createRegistry();
    await own(rootNode, "eth");
    const before = rows(domainEvent).length;
    await own(rootNode, "eth", { owner: other, isOldRegistry: true });
    await applyRegistryTransfer(scope(), { node: eth, owner: other, isOldRegistry: true });
    await applyNewTtl(scope(), { node: eth, ttl: 60n, isOldRegistry: true });
    await applyNewResolver(scope(), { node: eth, resolver: resolverAddress, isOldRegistry: true });
    expect(domainOf(eth)).toMatchObject({ ownerId: owner, ttl: null, resolverId: null });
    expect(rows(domainEvent)).toHaveLength(before);
    expect(rows(account).map(({ id }) => id)).toEqual([owner]);
  });

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
