import { type Hex, keccak256, namehash, stringToHex } from "viem";
import { expect, test } from "vitest";
import { createScopes } from "../../../test/support/scope.ts";
import { at } from "../../deployments/deployment.ts";
import { v2KnownContracts } from "../../deployments/namespaces.ts";
import { zeroAddress } from "../../ens/ids.ts";
import { v2Contract, v2Domain, v2Entry, v2KeptFuses } from "../../schema/ensv2.ts";
import { domain } from "../../schema/subgraph.ts";
import { nameSale } from "../../schema/tokenscope.ts";
import { applyNameUnwrapped, applyNameWrapped } from "../name-wrapper.ts";
import { applyNewOwner } from "../registry.ts";
import { applyOrderFulfilled, type OrderItem } from "../tokenscope.ts";
import {
  applyLabelRegistered,
  applyLabelUnregistered,
  applyProxyDeployed,
  applyResolverCreated,
  applyResolverUpdated,
  applySubregistryUpdated,
  applyTokenResource,
  applyTokens,
  applyUpgraded,
} from "./entries.ts";
import { applyLabel } from "./records.ts";

// Rules of names of entries that the recorded chain does not show. Which names registries have that are put under
// others, in circles too, is held by v1-registries.test.ts and the tests of ENSv2 in the subgraph.

const address = (byte: string): Hex => `0x${byte.repeat(20)}`;
const addresses = ["e0", "d1", "b7", "c0", "99", "a0", "a1", "b0"].map(address);
const [eth, first, code, owner, stranger, unlocked, locked, wrapperCode] = addresses as [
  ...[Hex, Hex, Hex, Hex, Hex, Hex],
  ...[Hex, Hex],
];
const contracts = {
  ETHRegistry: at(eth, 0),
  UnlockedMigrationController: at(unlocked, 0),
  LockedMigrationController: at(locked, 0),
  WrapperRegistryImpl: at(wrapperCode, 0),
  UserRegistryImpl: at(code, 0),
};
const v2 = v2KnownContracts({ ensv2: { chainId: 1, contracts } });
const expiry = 2n ** 63n;
const tokenOf = (label: string) => BigInt(keccak256(stringToHex(label))) & ~0xffff_ffffn;
const entryOf = (text: string) => {
  const label = stringToHex(text);
  return { label, labelHash: keccak256(label), tokenId: tokenOf(text) };
};

function createWorld() {
  const { next, store, anomalies } = createScopes({ v2 });
  return {
    next,
    store,
    anomalies,
    deploy: (proxyAddress: Hex, implementation = code, sender = owner) =>
      applyProxyDeployed(next(), { sender, proxyAddress, implementation }),
    register: (registry: Hex, text: string, { until = expiry, sender = owner } = {}) =>
      applyLabelRegistered(next({ emitter: registry }), { ...entryOf(text), owner, expiry: until, sender }),
    put: (registry: Hex, label: string, subregistry: Hex) =>
      applySubregistryUpdated(next({ emitter: registry }), {
        tokenId: tokenOf(label),
        subregistry,
        sender: owner,
      }),
    move: (registry: Hex, tokenId: bigint, [from, to]: [from: Hex, to: Hex]) =>
      applyTokens(next({ emitter: registry }), { ids: [tokenId], values: [1n], operator: owner, from, to }),
    resolve: (tokenId: bigint, resolver: Hex) =>
      applyResolverUpdated(next({ emitter: eth }), { tokenId, resolver, sender: owner }),
    names: () =>
      store
        .rows(v2Domain)
        .map((row) => row["name"])
        .sort(),
  };
}

test.each([
  ["that nobody deployed through the factory", undefined],
  ["of code that is not known", address("b8")],
])("a registry %s names nothing", async (_, implementation) => {
  const { deploy, register, put, names } = createWorld();
  if (implementation) await deploy(first, implementation);
  await register(eth, "liar");
  await put(eth, "liar", first);
  await register(first, "loud");
  expect(names()).toEqual(["liar.eth"]);
});

// The receiver of a new token is called while it is minted: what it sets then comes before the rest of the
// registration.
test.each([
  ["nothing else", undefined],
  ["what the registration itself sets, which comes last", address("f2")],
])(
  "a resolver that the owner sets while its token is minted stays, unless it is followed by %s",
  async (_, given) => {
    const { register, move, resolve, next, store, anomalies } = createWorld();
    const tokenId = tokenOf("moon");
    await register(eth, "moon");
    await move(eth, tokenId, [zeroAddress, owner]);
    await resolve(tokenId, address("f1"));
    await applyTokenResource(next({ emitter: eth }), { tokenId, resource: tokenId });
    if (given) await resolve(tokenId, given);
    expect(store.rows(v2Domain)[0]).toMatchObject({
      ownerId: owner,
      resolverId: `1-${given ?? address("f1")}-${namehash("moon.eth")}`,
    });
    expect(anomalies).toEqual([]);
  },
);

test("and so it does where the call comes in the middle of another registration of the label", async () => {
  const { register, move, resolve, next, store, anomalies } = createWorld();
  await register(eth, "moon", { until: 5n });
  // The old token is burned first; the new one has the next version.
  await move(eth, tokenOf("moon"), [owner, zeroAddress]);
  const tokenId = tokenOf("moon") + 1n;
  const entry = { ...entryOf("moon"), tokenId, owner: stranger, expiry };
  await applyLabelRegistered(next({ emitter: eth }), { ...entry, sender: owner });
  // Set before the log of the mint.
  await resolve(tokenId, address("f1"));
  await move(eth, tokenId, [zeroAddress, stranger]);
  await applyTokenResource(next({ emitter: eth }), { tokenId, resource: tokenId });
  expect(store.rows(v2Domain)).toMatchObject([
    { ownerId: stranger, expiryDate: expiry, resolverId: `1-${address("f1")}-${namehash("moon.eth")}` },
  ]);
  expect(anomalies).toEqual([]);
});

const item = (token: Hex, identifier: bigint): OrderItem => ({ itemType: 3, token, identifier, amount: 1n });
const ether: OrderItem = { itemType: 0, token: zeroAddress, identifier: 0n, amount: 5n };
const market = {
  issuerOf: () => undefined,
  currencyOf: (_: number, token: Hex) => (token === zeroAddress ? ("ETH" as const) : undefined),
};

async function sell(world: ReturnType<typeof createWorld>, sold: OrderItem) {
  const order = { orderHash: `0x${"0d".repeat(32)}` as Hex, offerer: owner, recipient: stranger };
  const scope = world.next({ isV2Indexed: true });
  await applyOrderFulfilled(scope, market, { ...order, offer: [sold], consideration: [ether] });
  return world.store.rows(nameSale);
}

async function withSubname() {
  const world = createWorld();
  await world.deploy(first);
  await world.register(eth, "tree");
  await world.put(eth, "tree", first);
  await world.register(first, "leaf");
  return world;
}

test.each([
  ["under .eth", eth, "tree", "tree.eth"],
  ["of a registry below", first, "leaf", "leaf.tree.eth"],
])("the sale of a token %s is one of the name that it stands for", async (_, registry, label, name) => {
  const sales = await sell(await withSubname(), item(registry, tokenOf(label)));
  expect(sales).toMatchObject([
    {
      contractAddress: registry,
      tokenId: tokenOf(label),
      assetNamespace: "erc1155",
      domainId: namehash(name),
      seller: owner,
      buyer: stranger,
      currency: "ETH",
      amount: 5n,
    },
  ]);
});

test.each([
  ["a former token of the name", item(eth, tokenOf("tree") + 1n)],
  ["a token that the registry never had", item(eth, tokenOf("absent"))],
  ["a token of a stranger", item(stranger, tokenOf("tree"))],
  ["two of a token", { ...item(eth, tokenOf("tree")), amount: 2n }],
  ["an ERC-721 of the registry", { ...item(eth, tokenOf("tree")), itemType: 2 }],
])("%s is no sale of a name", async (_, sold) => {
  expect(await sell(await withSubname(), sold)).toEqual([]);
});

test("nor is a token below a name that has gone", async () => {
  const world = await withSubname();
  await applyLabelUnregistered(world.next({ emitter: eth }), { tokenId: tokenOf("tree") });
  expect(await sell(world, item(first, tokenOf("leaf")))).toEqual([]);
});

// --- Rules of the contracts' source that the recorded chain does not show ---

test.each<[string, { emitter: Hex; sender: Hex }, boolean]>([
  ["a controller under .eth", { emitter: eth, sender: unlocked }, true],
  ["another account under .eth", { emitter: eth, sender: owner }, false],
  ["a registry that names a controller", { emitter: owner, sender: unlocked }, false],
  ["a registry that names itself", { emitter: owner, sender: owner }, false],
])("%s registers: whether the name counts as migrated", async (_, { emitter, sender }, isMigrated) => {
  const { register, store } = createWorld();
  await register(emitter, "moon", { sender });
  const [row] = store.rows(v2Entry);
  expect(row?.["migratedAt"]).toBe(isMigrated ? row?.["createdAt"] : null);
});

async function attach({ deployer, parent }: { deployer: Hex; parent: Hex }) {
  const { deploy, register, put, store } = createWorld();
  await deploy(first, wrapperCode, deployer);
  await register(parent, "moon", { sender: locked });
  await put(parent, "moon", first);
  return store.rows(v2Contract).find((row) => row["address"] === first);
}

test("the registry of a locked name is under the registry for which the controller deployed it", async () => {
  const row = await attach({ deployer: locked, parent: eth });
  expect([row?.["parent"], row?.["node"]]).toEqual([eth, namehash("moon.eth")]);
});

test.each([
  ["deployed by a user", { deployer: owner, parent: eth }],
  ["of the controller, under the registry of somebody else", { deployer: locked, parent: owner }],
  ["deployed by the registry that it is under, which nobody migrated", { deployer: owner, parent: owner }],
])("nobody knows the name of a registry for locked names that was %s", async (_, given) => {
  const row = await attach(given);
  expect([row?.["parent"], row?.["node"]]).toEqual([null, null]);
});

test("a proxy counts as upgraded from its second code on, not at its deployment", async () => {
  const emitter = first;
  const { next, store } = createScopes({ v2, emitter });
  const isUpgraded = () => store.rows(v2Contract).find((row) => row["address"] === emitter)?.["isUpgraded"];
  await applyUpgraded(next(), { implementation: code });
  await applyResolverCreated(next());
  await applyProxyDeployed(next(), { sender: owner, proxyAddress: emitter, implementation: code });
  expect(isUpgraded()).toBe(false);
  await applyUpgraded(next(), { implementation: code });
  expect(isUpgraded()).toBe(false);
  await applyUpgraded(next(), { implementation: wrapperCode });
  expect(isUpgraded()).toBe(true);
});

const node = namehash("vault.moon.eth");
const wire: Hex = "0x057661756c74046d6f6f6e0365746800";

test.each([
  ["a subname beyond its parent's reach", 0x10000, [{ node, fuses: 0x10000, expiryDate: 1_900_000_000n }]],
  ["a subname that its parent controls", 0, []],
  ["a name of the registrar", 0x30000, []],
])("fuses that the wrapper keeps of %s outlive its unwrapping", async (_, fuses, kept) => {
  const { next, store } = createScopes({ v2 });
  const parentNode = namehash("moon.eth");
  await applyNewOwner(next(), {
    parentNode,
    labelhash: keccak256(stringToHex("vault")),
    owner,
    isOldRegistry: false,
  });
  await applyNameWrapped(next(), { node, name: wire, owner, fuses, expiry: 1_900_000_000n });
  await applyNameUnwrapped(next(), { node, owner, managedNode: namehash("eth") });
  expect(store.rows(v2KeptFuses)).toEqual(kept);
});

test("a label of the store names a subname of the first generation that comes later", async () => {
  const { next, store } = createScopes({ v2 });
  // The second is no UTF-8.
  const hashes: Hex[] = [];
  for (const label of [stringToHex("moon"), "0xff61fe"] as const) {
    const owned = { parentNode: namehash("eth"), labelhash: keccak256(label), owner, isOldRegistry: false };
    await applyLabel(next(), { label, labelHash: owned.labelhash });
    await applyNewOwner(next({ isV2Indexed: true }), owned);
    await applyNewOwner(next(), { ...owned, owner: zeroAddress });
    hashes.push(owned.labelhash);
  }
  const rows = store.rows(domain).filter((row) => hashes.includes(row["labelhash"] as Hex));
  expect(rows.map((row) => row["labelName"])).toEqual(["moon", `[${hashes[1]?.slice(2)}]`]);
});
