import { type Hex, namehash } from "viem";
import { expect, test } from "vitest";
import {
  after,
  event,
  other,
  own,
  owner,
  registered,
  revealed,
  text,
  wrapped,
} from "../../test/support/given-events.ts";
import { rootNode, subnode, zeroAddress } from "../ens/ids.ts";
import { labelhash } from "../ens/labels.ts";

// Situations that the public chains do not show, or that stop the original mapping. Its results for the first kind were
// found by feeding it such events; the second kind must not stop this index.

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
