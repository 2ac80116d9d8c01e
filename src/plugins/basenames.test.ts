import { type Hex, namehash } from "viem";
import { expect, test } from "vitest";
import { createChainsHarness } from "../../test/support/handlers.ts";
import { addrReverseNode, rootNode, subnode, zeroAddress } from "../ens/ids.ts";
import { labelhash } from "../ens/labels.ts";
import { domain, domainEvent, registration, registrationEvent, resolver } from "../schema/subgraph.ts";

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

test.each([
  ["NameRegistered", {}],
  ["NameRegisteredWithRecord", { resolver: resolverAddress, ttl: 0n }],
])("%s of a name that the registry never named creates its domain", async (event, more) => {
  const { play, rows, domainOf, anomalies } = await withBaseEth();
  await play(
    `basenames/BaseRegistrar:${event}`,
    { id, owner, expires: 1_800_000_000n, ...more },
    { block: 9, logIndex: 4 },
  );
  expect(domainOf(alice)).toMatchObject({
    name: "alice.base.eth",
    labelName: "alice",
    parentId: base,
    ownerId: owner,
    registrantId: owner,
    isMigrated: true,
    createdAt: 1_700_000_000n,
    expiryDate: 1_807_776_000n,
  });
  expect(domainOf(base)?.["subdomainCount"]).toBe(1);
  expect(rows(registration)).toMatchObject([
    { id: alice, domainId: alice, expiryDate: 1_800_000_000n, registrantId: owner, labelName: "alice" },
  ]);
  expect(rows(domainEvent).find((row) => row["id"] === "8453-9-4")).toMatchObject({ type: "NewOwner" });
  expect(rows(registrationEvent)).toMatchObject([{ id: "8453-9-4", type: "NameRegistered" }]);
  expect(anomalies).toEqual([]);
});

test("the same on the root chain is an anomaly", async () => {
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

test("a known label stays when the label source does not know it", async () => {
  const { play, newOwner, domainOf } = await withBaseEth(["eth", "base"]);
  await newOwner(base, "alice");
  await play("basenames/BaseRegistrar:NameRegistered", { id, owner, expires: 9n });
  await play("basenames/RegistrarController:NameRegistered", {
    name: "alice",
    label: labelhash("alice"),
    owner,
    expires: 9n,
  });
  await play("basenames/BaseRegistrar:NameRegistered", { id, owner, expires: 19n });
  expect(domainOf(alice)).toMatchObject({ name: "alice.base.eth", labelName: "alice" });
});

test("a resolver is stored, but no domain of this chain links to it", async () => {
  const { play, rows, newOwner, domainOf } = await withBaseEth();
  await newOwner(base, "alice");
  await play("basenames/Registry:NewResolver", { node: alice, resolver: resolverAddress });
  const resolverId = `8453-${resolverAddress}-${alice}`;
  expect(domainOf(alice)).toMatchObject({ resolverId: null, resolvedAddressId: null });
  expect(rows(resolver)).toMatchObject([{ id: resolverId, domainId: alice, address: resolverAddress }]);
  expect(rows(domainEvent).at(-1)).toMatchObject({ type: "NewResolver", resolverId });
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
