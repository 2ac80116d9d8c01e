import { ContractFunctionZeroDataError, type Hex, namehash } from "viem";
import { expect, test } from "vitest";
import { createChainsHarness, threednsResolver } from "../../test/support/handlers.ts";
import { rootNode } from "../ens/ids.ts";
import { labelhash } from "../ens/labels.ts";
import { domain, registration, registrationEvent, resolver, resolverEvent } from "../schema/subgraph.ts";

const optimism = "threedns/threednsOptimism";
const owner: Hex = `0x${"a1".repeat(20)}`;
const other: Hex = `0x${"b2".repeat(20)}`;
const box = namehash("box");
const delv = namehash("delv.box");
const jr = namehash("jr.delv.box");
// delv.box in DNS wire format.
const delvWire: Hex = "0x0464656c7603626f7800";

// avatar.ens in DNS wire format.
const avatarKey: Hex = "0x0661766174617203656e7300";

const metadata = (name: string, prefix = "data:application/json;base64,") =>
  `${prefix}${Buffer.from(JSON.stringify({ name })).toString("base64")}`;
const empty = async (): Promise<string> => "";

type Options = Parameters<typeof createChainsHarness>[0];

async function withBox(options: Options = {}) {
  const harness = createChainsHarness({ labels: ["box"], readContract: empty, ...options });
  const newOwner = (node: Hex, label: string, to = owner, deployment = optimism) =>
    harness.play(`${deployment}/ThreeDNSToken:NewOwner`, { node, label: labelhash(label), owner: to });
  const register = (more: Record<string, unknown> = {}, place = {}, deployment = optimism) =>
    harness.play(
      `${deployment}/ThreeDNSToken:RegistrationCreated`,
      { node: delv, tld: box, fqdn: delvWire, registrant: owner, expiry: 1_800_000_000n, ...more },
      place,
    );
  await newOwner(rootNode, "box");
  return { ...harness, newOwner, register };
}

test("a registration creates the domain before NewOwner does, and has no grace period", async () => {
  const { rows, newOwner, register, domainOf, anomalies } = await withBox();
  await register({}, { block: 9, logIndex: 1 });
  await newOwner(box, "delv");
  expect(domainOf(delv)).toMatchObject({
    name: "delv.box",
    labelName: "delv",
    labelhash: labelhash("delv"),
    parentId: box,
    ownerId: owner,
    registrantId: owner,
    isMigrated: true,
    createdAt: 1_700_000_000n,
    expiryDate: 1_800_000_000n,
    resolverId: null,
  });
  expect(domainOf(box)?.["subdomainCount"]).toBe(1);
  expect(rows(registration)).toMatchObject([
    { id: delv, expiryDate: 1_800_000_000n, registrationDate: 1_700_000_000n, labelName: "delv" },
  ]);
  expect(rows(registrationEvent)).toMatchObject([{ id: "10-9-1", type: "NameRegistered" }]);
  expect(rows(resolver).map((row) => row["id"])).toEqual([
    `10-${threednsResolver}-${box}`,
    `10-${threednsResolver}-${delv}`,
  ]);
  expect(anomalies).toEqual([]);
});

test("a re-registered name has the new holder, time and expiry, and is counted once", async () => {
  const { rows, register, domainOf } = await withBox();
  await register();
  const later = { timestamp: 1_810_000_000 };
  await register({ registrant: other, expiry: 1_900_000_000n }, later);
  expect(domainOf(delv)).toMatchObject({
    ownerId: other,
    registrantId: other,
    createdAt: 1_810_000_000n,
    expiryDate: 1_900_000_000n,
  });
  expect(domainOf(box)?.["subdomainCount"]).toBe(1);
  expect(rows(registration)).toMatchObject([{ registrantId: other, registrationDate: 1_810_000_000n }]);
});

test("a name of both chains is one domain, at home where it was registered last, with a resolver entity for each chain", async () => {
  const { rows, newOwner, register, domainOf } = await withBox();
  await register();
  expect(domainOf(delv)).toMatchObject({ namespace: "threedns", chainId: 10 });
  await newOwner(box, "delv");
  await register({ registrant: other }, {}, "threedns/threednsBase");
  expect(domainOf(delv)).toMatchObject({ namespace: "threedns", chainId: 8453 });
  await newOwner(box, "delv", other, "threedns/threednsBase");
  expect(rows(domain)).toHaveLength(3);
  expect(domainOf(delv)?.["ownerId"]).toBe(other);
  expect(domainOf(box)?.["subdomainCount"]).toBe(1);
  expect(rows(resolver).map((row) => row["id"])).toContain(`8453-${threednsResolver}-${delv}`);
});

test("RegistrationExtended moves both expiries", async () => {
  const { play, rows, register, domainOf } = await withBox();
  await register();
  const args = { node: delv, duration: 5n, newExpiry: 1_900_000_000n };
  await play(`${optimism}/ThreeDNSToken:RegistrationExtended`, args);
  expect(rows(registration)).toMatchObject([{ expiryDate: 1_900_000_000n }]);
  expect(domainOf(delv)?.["expiryDate"]).toBe(1_900_000_000n);
  expect(rows(registrationEvent).at(-1)).toMatchObject({ type: "NameRenewed", registrationId: delv });
});

test.each<[string, Hex]>([
  ["no name", "0xff"],
  ["the root", "0x00"],
  ["a name of another node", "0x056f7468657203626f7800"],
])("a registration of %s is skipped", async (_, fqdn) => {
  const { rows, register, anomalies } = await withBox();
  await register({ fqdn });
  expect(anomalies).toEqual(["malformed-name"]);
  expect(rows(registration)).toEqual([]);
});

test("a label that is not normalised is represented by its hash", async () => {
  const { register, rows } = await withBox();
  const node = namehash("DELV.box");
  await register({ node, fqdn: "0x0444454c5603626f7800" });
  expect(rows(domain).at(-1)).toMatchObject({
    id: node,
    name: `[${labelhash("DELV").slice(2)}].box`,
    labelhash: labelhash("DELV"),
  });
});

test.each([
  ["its metadata", metadata("jr.delv.box.")],
  ["metadata after a malformed prefix", metadata("jr.delv.box.", "data:application/json;_base64,")],
])("a subname is named by %s", async (_, uri) => {
  const asked: { address: Hex; args: readonly [bigint] }[] = [];
  const { newOwner, register, domainOf } = await withBox({
    readContract: async ({ address, args }) => {
      asked.push({ address, args });
      return args[0] === BigInt(jr) ? uri : "";
    },
  });
  await register();
  await newOwner(box, "delv");
  await newOwner(delv, "jr");
  expect(domainOf(jr)).toMatchObject({ name: "jr.delv.box", labelName: "jr", expiryDate: null });
  // Known names are not requested.
  expect(asked).toEqual([
    { address: `0x${"c0".repeat(20)}`, args: [BigInt(box)] },
    { address: `0x${"c0".repeat(20)}`, args: [BigInt(jr)] },
  ]);
});

test.each<[string, () => Promise<string>]>([
  ["an empty text", empty],
  ["no address of a document", async () => "https://example.org/token"],
  ["no JSON", async () => `data:application/json;base64,${Buffer.from("{").toString("base64")}`],
  ["JSON without a name", async () => metadata(undefined as never)],
  ["the name of another token", async () => metadata("other.delv.box.")],
  [
    "nothing, since the call reverts",
    async () => {
      throw new ContractFunctionZeroDataError({ functionName: "uri" });
    },
  ],
])("if the metadata is %s, the label source is asked", async (_, readContract) => {
  const labels = ["box", "jr"];
  const { newOwner, register, domainOf } = await withBox({ labels, readContract });
  await register();
  await newOwner(delv, "jr");
  expect(domainOf(jr)?.["name"]).toBe("jr.delv.box");
});

test("a deleted TXT record is a text record without a value", async () => {
  const { play, rows } = await withBox();
  const args = { node: delv, name: avatarKey, resource: 16 };
  await play(`${optimism}/DNSResolver:DNSRecordDeleted`, args, { emitter: threednsResolver });
  expect(rows(resolverEvent)).toMatchObject([{ type: "TextChanged", key: "avatar", value: null }]);
});

test("events of other resolvers of the chain leave no trace", async () => {
  const { play, rows } = await withBox();
  const resolvers = rows(resolver);
  await play(`${optimism}/Resolver:AddrChanged`, { node: delv, a: owner });
  await play(`${optimism}/DNSResolver:DNSRecordDeleted`, { node: delv, name: avatarKey, resource: 16 });
  expect(rows(resolverEvent)).toEqual([]);
  expect(rows(resolver)).toEqual(resolvers);
});
