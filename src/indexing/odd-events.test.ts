import { type Hex, namehash } from "viem";
import { expect, test } from "vitest";
import { createSubgraphHarness, type GivenEvent } from "../../test/support/handlers.ts";
import { addrReverseNode, rootNode, subnode, zeroAddress } from "../ens/ids.ts";
import { labelhash } from "../ens/labels.ts";
import { addressesIn } from "./reverse-labels.ts";
import { multichainNaming } from "./scope.ts";

// Situations that the public chains do not show, or that stop the original mapping. Its results for the first kind were
// found by feeding it such events; the second kind must not stop this index.

/** Who owns and sends what has no other owner. */
const owner: Hex = `0x${"a1".repeat(20)}`;
const other: Hex = `0x${"b2".repeat(20)}`;

/** An event of a contract of the root chain, and where it differs from the usual place. */
const event = (contract: string, name: string, args: object, more: Partial<GivenEvent> = {}) =>
  ({ contract, event: name, args, ...more }) as GivenEvent;
const own = (node: Hex, label: string, to: Hex = owner) =>
  event("ENSv1Registry", "NewOwner", { node, label: labelhash(label), owner: to });
const registered = (label: string, expires: string) =>
  event("BaseRegistrar", "NameRegistered", { id: BigInt(labelhash(label)), owner, expires });
/** A controller tells a label, which need not be that of the hash. */
const revealed = (label: string, hash = labelhash(label)) =>
  event("LegacyEthRegistrarController", "NameRenewed", { name: label, label: hash, cost: "5", expires: "1" });
const wrapped = (node: Hex, name: Hex, fuses = 0, expiry = "0") =>
  event("NameWrapper", "NameWrapped", { node, name, owner, fuses, expiry });
const text = (node: Hex, key: string, value: string) =>
  event("Resolver", "TextChanged(value)", { node, indexedKey: node, key, value }, { address: other });

/** The entities after events, each the next log of block 1, and the anomalies. */
async function after(
  labels: readonly string[],
  events: readonly GivenEvent[],
  options: Omit<Parameters<typeof createSubgraphHarness>[0] & object, "labels"> = {},
) {
  const harness = createSubgraphHarness({ labels, ...options });
  for (const [index, one] of events.entries()) await harness.play({ logIndex: index + 1, ...one });
  const entities = harness.entities();
  return { entities, domains: entities["Domain"] ?? {}, anomalies: harness.anomalies };
}

const eth = namehash("eth");
const foo = namehash("foo.eth");

const transfer = (node: Hex, to: Hex, contract = "ENSv1Registry") =>
  event(contract, "Transfer", { node, owner: to });

test("the empty rule ends at a root without owner and children", async () => {
  const { domains } = await after(["eth"], [own(rootNode, "eth", zeroAddress), transfer(eth, zeroAddress)]);
  expect(domains[rootNode]?.["subdomainCount"]).toBe(-1);
});

test("an empty label directly under the root gives no name, and its children get a label but no name", async () => {
  const empty = subnode(rootNode, labelhash(""));
  const { domains } = await after(["", "a"], [own(rootNode, ""), own(empty, "a")]);
  expect(Object.values(domains).map(({ name, labelName }) => [name, labelName])).toEqual([
    [undefined, undefined],
    [undefined, undefined],
    [undefined, "a"],
  ]);
});

test("an empty label from a controller gives the name .eth, without a label, and sets the price", async () => {
  const hash = labelhash("");
  const { domains, entities } = await after(
    ["eth"],
    [own(rootNode, "eth"), own(eth, ""), registered("", "9"), revealed("")],
  );
  expect(domains[subnode(eth, hash)]).toMatchObject({ name: ".eth" });
  expect(domains[subnode(eth, hash)]).not.toHaveProperty("labelName");
  expect(entities["Registration"]?.[hash]).toMatchObject({ cost: "5" });
  expect(entities["Registration"]?.[hash]).not.toHaveProperty("labelName");
});

test("a controller's label is stored unchanged in subgraph mode, even if it is not the preimage", async () => {
  const { domains } = await after(
    ["eth", "foo"],
    [own(rootNode, "eth"), own(eth, "foo"), revealed("liar", labelhash("foo"))],
  );
  expect(domains[foo]).toMatchObject({ labelName: "liar", name: "liar.eth" });
});

test("a controller event without registration names only the domain, and leaves no trace of an unnamed node", async () => {
  const { domains, entities } = await after(
    ["eth"],
    [own(rootNode, "eth"), own(eth, "foo"), revealed("foo")],
  );
  expect(domains[foo]).toMatchObject({ labelName: "foo", name: "foo.eth" });
  expect(entities["Registration"]).toBeUndefined();
  expect((await after([], [revealed("foo")])).entities).toEqual({});
});

test("a child below an unknown parent creates the parent, so that nothing of the event is lost", async () => {
  const { domains, anomalies } = await after(["foo"], [{ ...own(eth, "foo"), timestamp: "77" }]);
  expect(domains[eth]).toEqual({ owner: zeroAddress, isMigrated: true, createdAt: "77", subdomainCount: 1 });
  expect(domains[foo]).toMatchObject({ parent: eth, labelName: "foo", owner });
  expect(domains[foo]).not.toHaveProperty("name");
  expect(anomalies).toEqual(["unknown-node"]);
});

test("a transfer of an unknown node creates the domain; the old registry's as not migrated", async () => {
  const { domains } = await after([], [transfer(foo, other), transfer(eth, other, "ENSv1RegistryOld")]);
  expect(domains[foo]).toMatchObject({ owner: other, isMigrated: true });
  expect(domains[eth]).toMatchObject({ owner: other, isMigrated: false });
});

test("a time to live for an unknown node is an event and no domain", async () => {
  const { entities } = await after([], [event("ENSv1Registry", "NewTTL", { node: eth, ttl: "60" })]);
  expect(entities["Domain"]).toBeUndefined();
  expect(entities["NewTTL"]?.["1-1"]).toMatchObject({ domain: eth, ttl: "60" });
});

test("a renewal of an unknown registration is skipped and reported", async () => {
  const renewed = event("BaseRegistrar", "NameRenewed", { id: "1", expires: "9" });
  expect(await after([], [renewed])).toMatchObject({ entities: {}, anomalies: ["unknown-registration"] });
});

test("wrapping the root sets the name to a full stop", async () => {
  const { domains, entities } = await after([], [wrapped(rootNode, "0x00")]);
  expect(entities["WrappedDomain"]?.[rootNode]?.["name"]).toBe(".");
  expect(domains[rootNode]?.["name"]).toBe(".");
  expect(domains[rootNode]).not.toHaveProperty("labelName");
});

test.each<[string, Hex]>([
  ["empty", "0x"],
  ["without the final zero", "0x03666f6f03657468"],
  ["with a length beyond the end", "0x20666f6f0365746800"],
])("wrapper name bytes that are %s give no name and stop nothing", async (_, name) => {
  const { domains, entities } = await after(
    ["eth", "foo"],
    [own(rootNode, "eth"), own(eth, "foo"), wrapped(foo, name)],
  );
  expect(entities["WrappedDomain"]?.[foo]).not.toHaveProperty("name");
  expect(domains[foo]?.["name"]).toBe("foo.eth");
});

test("a wrapped label that ends in NUL is unusable", async () => {
  const hash = labelhash("vitalik\0");
  const node = subnode(eth, hash);
  const name: Hex = `0x08${Buffer.from("vitalik\0").toString("hex")}0365746800`;
  const { domains, entities } = await after(
    ["eth"],
    [own(rootNode, "eth"), own(eth, "vitalik\0"), wrapped(node, name)],
  );
  expect(entities["WrappedDomain"]?.[node]).not.toHaveProperty("name");
  expect(domains[node]?.["name"]).toBe(`[${hash.slice(2)}].eth`);
});

test("fuses with bit 31 are a negative Int", async () => {
  const { entities } = await after(
    [],
    [event("NameWrapper", "FusesSet", { node: eth, fuses: "2147483648" })],
  );
  expect(entities["FusesSet"]?.["1-1"]).toMatchObject({ fuses: -2147483648 });
});

test("a wrap only raises the expiry, and only with the parent's control given up", async () => {
  const named = [own(rootNode, "eth"), own(eth, "foo")];
  const wraps = (
    [
      [0, "100"],
      [65536, "100"],
      [65536, "50"],
      [65536, "200"],
    ] as const
  ).map(([fuses, expiry]) => wrapped(foo, "0x03666f6f0365746800", fuses, expiry));
  const expiries: unknown[] = [];
  for (const count of [1, 2, 3, 4]) {
    const { domains } = await after(["eth", "foo"], [...named, ...wraps.slice(0, count)]);
    expiries.push(domains[foo]?.["expiryDate"]);
  }
  expect(expiries).toEqual([undefined, "100", "100", "200"]);
});

test("a text key of NULs only is stored empty, and added at each event", async () => {
  const { entities } = await after([], [text(eth, "\0", "v"), text(eth, "\0", "v")]);
  expect(entities["Resolver"]?.[`${other}-${eth}`]?.["texts"]).toEqual(["", ""]);
});

test("a text value of NULs only is empty, an empty one unset", async () => {
  const { entities } = await after([], [text(eth, "k", "\0\0"), text(eth, "k", "")]);
  expect(entities["TextChanged"]?.["1-1"]?.["value"]).toBe("");
  expect(entities["TextChanged"]?.["1-2"]).not.toHaveProperty("value");
});

// Outside subgraph mode: ids prefixed with the chain, interpreted names, reverse labels healed.

const naming = multichainNaming;
const afterOn10 = (labels: string[], events: GivenEvent[]) => after(labels, events, { naming, chainId: 10 });
const named = (label: string) => [own(rootNode, "eth"), own(eth, label)];
const encoded = (label: string) => `[${labelhash(label).slice(2)}]`;

test("the root's name is empty, and its children's names do not begin with a full stop", async () => {
  const { domains } = await afterOn10(["eth", "foo"], named("foo"));
  expect(domains[rootNode]?.["name"]).toBe("");
  expect(domains[eth]).toMatchObject({ name: "eth", labelName: "eth" });
  expect(domains[foo]).toMatchObject({ name: "foo.eth", labelName: "foo" });
});

test("ids carry the chain, a registration is known by its node", async () => {
  const resolver = event("ENSv1Registry", "NewResolver", { node: foo, resolver: owner });
  const { entities, domains } = await afterOn10(
    ["eth", "foo"],
    [...named("foo"), registered("foo", "9"), resolver],
  );
  expect(Object.keys(entities["Registration"] ?? {})).toEqual([foo]);
  expect(Object.keys(entities["NewOwner"] ?? {})).toEqual(["10-1-1", "10-1-2"]);
  expect(entities["NewResolver"]?.["10-1-4"]?.["resolver"]).toBe(`10-${owner}-${foo}`);
  expect(domains[foo]).toMatchObject({ resolver: `10-${owner}-${foo}`, expiryDate: "7776009" });
});

test.each([
  ["an unnormalised", "ALICE"],
  ["an unnormalisable", "a\0b"],
])("%s label is represented by its hash", async (_, label) => {
  const { domains } = await afterOn10(["eth", label], named(label));
  expect(domains[subnode(eth, labelhash(label))]).toMatchObject({
    labelName: encoded(label),
    name: `${encoded(label)}.eth`,
  });
});

test("a controller cannot name a domain with another label's text", async () => {
  const { domains } = await afterOn10(["eth"], [...named("foo"), revealed("liar", labelhash("foo"))]);
  expect(domains[foo]).toMatchObject({ name: `${encoded("foo")}.eth` });
});

test("a name that a controller revealed survives a registration with an unknown label", async () => {
  const events = [...named("foo"), registered("foo", "9"), revealed("foo"), registered("foo", "9")];
  const { domains, entities } = await afterOn10(["eth"], events);
  expect(domains[foo]).toMatchObject({ name: "foo.eth", labelName: "foo" });
  expect(entities["Registration"]?.[foo]).toMatchObject({ labelName: "foo", cost: "5" });
});

test("the wrapper's name heals a domain with an encoded label", async () => {
  const { domains } = await afterOn10(["eth"], [...named("foo"), wrapped(foo, "0x03666f6f0365746800")]);
  expect(domains[foo]).toMatchObject({ labelName: "foo", name: "foo.eth" });
});

test("a wrapped name with a label that no name can use keeps that label as its hash", async () => {
  const node = subnode(eth, labelhash("A B"));
  const { entities } = await afterOn10(["eth"], [...named("A B"), wrapped(node, "0x034120420365746800")]);
  expect(entities["WrappedDomain"]?.[node]?.["name"]).toBe(`${encoded("A B")}.eth`);
});

test("a text value of NULs only is unset, and a key with a NUL is kept once", async () => {
  const { entities } = await afterOn10([], [text(eth, "k\0", "\0"), text(eth, "k\0", "\0")]);
  expect(entities["Resolver"]?.[`10-${other}-${eth}`]?.["texts"]).toEqual(["k"]);
  expect(entities["TextChanged"]?.["10-1-1"]).not.toHaveProperty("value");
});

const claimed: Hex = `0x${"5c".repeat(20)}`;
const digits = claimed.slice(2);
const relay: Hex = `0x${"0d".repeat(20)}`;

async function claim({ to = relay, ...rest }: { sender?: Hex; to?: Hex; trace?: unknown }) {
  const claim = { ...own(addrReverseNode, digits, to), sender: relay, ...rest };
  const names = [own(rootNode, "reverse"), own(namehash("reverse"), "addr")];
  const { domains, anomalies } = await afterOn10(["reverse", "addr"], [...names, claim]);
  return { domain: domains[subnode(addrReverseNode, labelhash(digits))], anomalies };
}

test.each([
  ["the sender", { sender: claimed }],
  ["the new owner", { to: claimed }],
  [
    "a contract called on the way",
    { trace: { from: relay, to: relay, calls: [{ from: relay, to: claimed }] } },
  ],
  ["an argument of a call", { trace: { to: relay, input: `0x0f5a5466${"0".repeat(24)}${digits}` } }],
])("heals the label of a reverse node from %s", async (_, change) => {
  const { domain, anomalies } = await claim(change);
  expect(domain).toMatchObject({ labelName: digits, name: `${digits}.addr.reverse` });
  expect(anomalies).toEqual([]);
});

test("leaves a reverse node encoded if no address matches, or the node returns no traces, and reports it", async () => {
  for (const trace of [{ from: relay }, undefined]) {
    const { domain, anomalies } = await claim({ trace });
    expect(domain?.["name"]).toBe(`${encoded(digits)}.addr.reverse`);
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
