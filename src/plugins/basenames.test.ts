import { type Hex, namehash } from "viem";
import { expect, test } from "vitest";
import { createChainsHarness } from "../../test/support/handlers.ts";
import { addrReverseNode, rootNode, subnode, zeroAddress } from "../ens/ids.ts";
import { labelhash } from "../ens/labels.ts";
import { domain } from "../schema/subgraph.ts";

const owner: Hex = `0x${"a1".repeat(20)}`;
const resolverAddress: Hex = `0x${"d1".repeat(20)}`;
const base = namehash("base.eth");
const alice = namehash("alice.base.eth");
const id = BigInt(labelhash("alice"));

async function withBaseEth(labels: string[] = ["eth", "base", "alice"]) {
  const harness = createChainsHarness({ labels });
  const newOwner = (node: Hex, label: string) =>
    harness.play("basenames/Registry:NewOwner", { node, label: labelhash(label), owner });
  await newOwner(rootNode, "eth");
  await newOwner(namehash("eth"), "base");
  return { ...harness, newOwner };
}

test("creates the root if this chain is the first to name a node", async () => {
  const { domainOf } = await withBaseEth();
  expect(domainOf(rootNode)).toMatchObject({
    ownerId: zeroAddress,
    name: "",
    isMigrated: true,
    createdAt: 0n,
    subdomainCount: 1,
  });
});

test("is where the names live that its registry names first, and those that its registrar leases", async () => {
  const harness = createChainsHarness({ labels: ["eth", "base", "alice"] });
  const names: [Hex, string][] = [
    [rootNode, "eth"],
    [namehash("eth"), "base"],
    [base, "alice"],
  ];
  const homes = () =>
    Object.fromEntries(
      harness.rows(domain).map(({ name, namespace, chainId }) => [name, [namespace, chainId]]),
    );
  for (const [node, label] of names)
    await harness.play("subgraph/ENSv1Registry:NewOwner", { node, label: labelhash(label), owner });
  expect(homes()["alice.base.eth"]).toEqual(["ens", 1]);
  for (const [node, label] of [...names, [base, "bob"] as const])
    await harness.play("basenames/Registry:NewOwner", { node, label: labelhash(label), owner });
  await harness.play("basenames/BaseRegistrar:NameRegistered", { id, owner, expires: 1_800_000_000n });
  expect(homes()).toEqual({
    "": ["ens", 1],
    eth: ["ens", 1],
    "base.eth": ["ens", 1],
    "alice.base.eth": ["basenames", 8453],
    [`[${labelhash("bob").slice(2)}].base.eth`]: ["basenames", 8453],
  });
});

test("a lease of a name that the registry never named is an anomaly on the root chain", async () => {
  const { play, anomalies } = createChainsHarness({ labels: ["eth"] });
  await play("subgraph/ENSv1Registry:NewOwner", { node: rootNode, label: labelhash("eth"), owner });
  await play("subgraph/BaseRegistrar:NameRegistered", { id, owner, expires: 9n });
  expect(anomalies).toEqual(["unknown-node"]);
});

test("a registered name is placed under base.eth though this chain does not know the label base", async () => {
  const { play, domainOf } = await withBaseEth(["eth", "alice"]);
  await play("basenames/BaseRegistrar:NameRegistered", { id, owner, expires: 9n });
  expect(domainOf(alice)?.["name"]).toBe("alice.base.eth");
});

test("removing the owner uncounts a name, and setting a resolver does not uncount it again", async () => {
  const { play, newOwner, domainOf } = await withBaseEth();
  await newOwner(base, "alice");
  await newOwner(base, "bob");
  await play("basenames/Registry:Transfer", { node: alice, owner: zeroAddress });
  expect(domainOf(base)?.["subdomainCount"]).toBe(1);
  // A resolver other than zero does not make the name count as removed, though it is not linked.
  await play("basenames/Registry:NewResolver", { node: alice, resolver: resolverAddress });
  expect(domainOf(base)?.["subdomainCount"]).toBe(1);
});

test("names under addr.reverse are not looked up in traces on this chain", async () => {
  const { play, anomalies, domainOf } = await withBaseEth(["eth", "base", "reverse", "addr"]);
  const label = labelhash("5e".repeat(20));
  await play("basenames/Registry:NewOwner", { node: addrReverseNode, label, owner });
  expect(domainOf(subnode(addrReverseNode, label))?.["labelName"]).toBe(`[${label.slice(2)}]`);
  expect(anomalies).toEqual(["unknown-node"]);
});
