import { type Hex, namehash } from "viem";
import { expect, test } from "vitest";
import { createSubgraphHarness } from "../../test/support/handlers.ts";
import { addrReverseNode, rootNode, subnode } from "../ens/ids.ts";
import { labelhash } from "../ens/labels.ts";
import { multichainNaming } from "./naming.ts";
import { addressesIn } from "./reverse-labels.ts";

// Outside subgraph mode: ids prefixed with the chain, interpreted names, reverse labels healed.

const owner: Hex = `0x${"a1".repeat(20)}`;
const eth = namehash("eth");
const harnessOf = (labels: string[]) =>
  createSubgraphHarness({ labels, naming: multichainNaming, chainId: 10 });

const newOwner = (parent: Hex, label: string, to: Hex = owner, logIndex = 1) => ({
  contract: "ENSv1Registry",
  event: "NewOwner",
  args: { node: parent, label: labelhash(label), owner: to },
  block: 7,
  logIndex,
});

test("the root's name is empty, and its children's names do not begin with a full stop", async () => {
  const { play, entities } = harnessOf(["eth", "alice"]);
  await play(newOwner(rootNode, "eth"));
  await play(newOwner(eth, "alice", owner, 2));
  const { Domain } = entities();
  expect(Domain?.[rootNode]?.["name"]).toBe("");
  expect(Domain?.[eth]).toMatchObject({ name: "eth", labelName: "eth" });
  expect(Domain?.[namehash("alice.eth")]).toMatchObject({ name: "alice.eth", labelName: "alice" });
});

test("ids carry the chain, a registration is known by its node", async () => {
  const { play, entities } = harnessOf(["eth", "alice"]);
  const node = namehash("alice.eth");
  await play(newOwner(rootNode, "eth"));
  await play(newOwner(eth, "alice", owner, 2));
  await play({
    contract: "BaseRegistrar",
    event: "NameRegistered",
    args: { id: BigInt(labelhash("alice")), owner, expires: "9" },
    block: 7,
    logIndex: 3,
  });
  await play({
    contract: "ENSv1Registry",
    event: "NewResolver",
    args: { node, resolver: owner },
    block: 7,
    logIndex: 4,
  });
  const { Registration, NewResolver, NewOwner, Domain } = entities();
  expect(Object.keys(Registration ?? {})).toEqual([node]);
  expect(Object.keys(NewOwner ?? {})).toEqual(["10-7-1", "10-7-2"]);
  expect(NewResolver?.["10-7-4"]?.["resolver"]).toBe(`10-${owner}-${node}`);
  expect(Domain?.[node]).toMatchObject({ resolver: `10-${owner}-${node}`, expiryDate: "7776009" });
});

test.each([
  ["an unnormalised", "ALICE"],
  ["an unnormalisable", "a\0b"],
])("%s label is represented by its hash", async (_, label) => {
  const { play, entities } = harnessOf(["eth", label]);
  await play(newOwner(rootNode, "eth"));
  await play(newOwner(eth, label, owner, 2));
  const encoded = `[${labelhash(label).slice(2)}]`;
  const domain = entities()["Domain"]?.[subnode(eth, labelhash(label))];
  expect(domain).toMatchObject({ labelName: encoded, name: `${encoded}.eth` });
});

test("a controller cannot name a domain with another label's text", async () => {
  const { play, entities } = harnessOf(["eth"]);
  await play(newOwner(rootNode, "eth"));
  await play(newOwner(eth, "real", owner, 2));
  await play({
    contract: "LegacyEthRegistrarController",
    event: "NameRenewed",
    args: { name: "liar", label: labelhash("real"), cost: "1", expires: "2" },
  });
  expect(entities()["Domain"]?.[namehash("real.eth")]).toMatchObject({
    name: `[${labelhash("real").slice(2)}].eth`,
  });
});

test("a name that a controller revealed survives a registration with an unknown label", async () => {
  const { play, entities } = harnessOf(["eth"]);
  const registered = {
    contract: "BaseRegistrar",
    event: "NameRegistered",
    args: { id: BigInt(labelhash("late")), owner, expires: "9" },
  };
  await play(newOwner(rootNode, "eth"));
  await play(newOwner(eth, "late", owner, 2));
  await play({ ...registered, block: 7, logIndex: 3 });
  await play({
    contract: "LegacyEthRegistrarController",
    event: "NameRegistered",
    args: { name: "late", label: labelhash("late"), owner, cost: "1", expires: "9" },
  });
  await play({ ...registered, block: 8, logIndex: 3 });
  const { Domain, Registration } = entities();
  expect(Domain?.[namehash("late.eth")]).toMatchObject({ name: "late.eth", labelName: "late" });
  expect(Registration?.[namehash("late.eth")]).toMatchObject({ labelName: "late", cost: "1" });
});

test("the wrapper's name heals a domain with an encoded label", async () => {
  const { play, entities } = harnessOf(["eth"]);
  const node = namehash("foo.eth");
  await play(newOwner(rootNode, "eth"));
  await play(newOwner(eth, "foo", owner, 2));
  await play({
    contract: "NameWrapper",
    event: "NameWrapped",
    args: { node, name: "0x03666f6f0365746800", owner, fuses: "0", expiry: "0" },
    block: 7,
    logIndex: 3,
  });
  expect(entities()["Domain"]?.[node]).toMatchObject({ labelName: "foo", name: "foo.eth" });
});

test("a wrapped name with a label that no name can use keeps that label as its hash", async () => {
  const { play, entities } = harnessOf(["eth"]);
  const node = subnode(eth, labelhash("A B"));
  await play(newOwner(rootNode, "eth"));
  await play(newOwner(eth, "A B", owner, 2));
  await play({
    contract: "NameWrapper",
    event: "NameWrapped",
    args: { node, name: "0x034120420365746800", owner, fuses: "0", expiry: "0" },
    block: 7,
    logIndex: 3,
  });
  expect(entities()["WrappedDomain"]?.[node]?.["name"]).toBe(`[${labelhash("A B").slice(2)}].eth`);
});

test("a text value of NULs only is unset, and a key with a NUL is kept once", async () => {
  const { play, entities } = harnessOf([]);
  const text = (logIndex: number) =>
    play({
      contract: "Resolver",
      event: "TextChanged(value)",
      address: owner,
      args: { node: eth, indexedKey: rootNode, key: "k\0", value: "\0" },
      block: 7,
      logIndex,
    });
  await text(1);
  await text(2);
  const { Resolver, TextChanged } = entities();
  expect(Resolver?.[`10-${owner}-${eth}`]?.["texts"]).toEqual(["k"]);
  expect(TextChanged?.["10-7-1"]?.["value"]).toBeUndefined();
});

const claimed: Hex = `0x${"5c".repeat(20)}`;
const relay: Hex = `0x${"0d".repeat(20)}`;
const reverseNode = subnode(addrReverseNode, labelhash(claimed.slice(2)));

async function claim(change: { sender?: Hex; to?: Hex; trace?: unknown }) {
  const harness = harnessOf(["reverse", "addr"]);
  await harness.play(newOwner(rootNode, "reverse"));
  await harness.play(newOwner(namehash("reverse"), "addr", owner, 2));
  const { to = relay, ...rest } = change;
  await harness.play({ ...newOwner(addrReverseNode, claimed.slice(2), to, 3), sender: relay, ...rest });
  return { domain: harness.entities()["Domain"]?.[reverseNode], anomalies: harness.anomalies };
}

test.each([
  ["the sender", { sender: claimed }],
  ["the new owner", { to: claimed }],
  [
    "a contract called on the way",
    { trace: { from: relay, to: relay, calls: [{ from: relay, to: claimed }] } },
  ],
  [
    "an argument of a call",
    { trace: { to: relay, input: `0x0f5a5466${"0".repeat(24)}${claimed.slice(2)}` } },
  ],
])("heals the label of a reverse node from %s", async (_, change) => {
  const { domain, anomalies } = await claim(change);
  expect(domain).toMatchObject({ labelName: claimed.slice(2), name: `${claimed.slice(2)}.addr.reverse` });
  expect(anomalies).toEqual([]);
});

test("leaves a reverse node encoded if no address matches, or the node returns no traces, and reports it", async () => {
  for (const trace of [{ from: relay }, undefined]) {
    const { domain, anomalies } = await claim({ trace });
    expect(domain?.["name"]).toBe(`[${labelhash(claimed.slice(2)).slice(2)}].addr.reverse`);
    expect(anomalies).toEqual(["unhealed-reverse-label"]);
  }
});

test("finds plain addresses and padded words of a trace, in return data too", () => {
  const word = `${"0".repeat(24)}${"ab".repeat(20)}`;
  expect(
    [
      ...addressesIn({
        to: `0x${"AA".repeat(20)}`,
        output: `0x${word}${"f".repeat(64)}`,
        value: "0x1",
        type: "CALL",
      }),
    ].sort(),
  ).toEqual(["aa".repeat(20), "ab".repeat(20)]);
});

test("walks a trace of any depth and any number of calls, up to 25,000 addresses", () => {
  const hex = (number: number): Hex => `0x${number.toString(16).padStart(40, "0")}`;
  let deep: object = { to: hex(1) };
  for (let depth = 0; depth < 200_000; depth++) deep = { calls: [deep] };
  const wide = { calls: Array.from({ length: 200_000 }, () => ({ to: hex(2) })) };
  expect([...addressesIn({ deep, wide })].sort()).toEqual([hex(1).slice(2), hex(2).slice(2)]);
  const words = `0x${Array.from({ length: 30_000 }, (_, i) => hex(i).slice(2).padStart(64, "0")).join("")}`;
  expect(addressesIn({ input: words }).size).toBe(25_000);
  expect(addressesIn({ calls: Array.from({ length: 30_000 }, (_, i) => ({ to: hex(i) })) }).size).toBe(
    25_000,
  );
});
