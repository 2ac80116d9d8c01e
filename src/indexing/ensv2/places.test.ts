import { type Hex, keccak256, namehash, stringToHex } from "viem";
import { expect, test } from "vitest";
import { createScopes } from "../../../test/support/scope.ts";
import { at } from "../../deployments/deployment.ts";
import { v2KnownContracts } from "../../deployments/namespaces.ts";
import { zeroAddress } from "../../ens/ids.ts";
import { v2Domain } from "../../schema/ensv2.ts";
import { nameSale } from "../../schema/tokenscope.ts";
import { applyOrderFulfilled, type OrderItem } from "../tokenscope.ts";
import {
  applyLabelRegistered,
  applyLabelUnregistered,
  applyProxyDeployed,
  applyResolverUpdated,
  applySubregistryUpdated,
  applyTokenResource,
  applyTokens,
} from "./entries.ts";

// Names of entries in registries that are put under others, before and after they have entries.

const address = (byte: string): Hex => `0x${byte.repeat(20)}`;
const [eth, first, second, code, owner, stranger] = ["e0", "d1", "d2", "b7", "c0", "99"].map(address) as [
  Hex,
  Hex,
  Hex,
  Hex,
  Hex,
  Hex,
];
const contracts = { ETHRegistry: at(eth, 0), UserRegistryImpl: at(code, 0) };
const v2 = v2KnownContracts({ ensv2: { chainId: 1, contracts } });
const expiry = 2n ** 63n;
const tokenOf = (label: string) => BigInt(keccak256(stringToHex(label))) & ~0xffff_ffffn;

function createWorld() {
  const { next, store, anomalies } = createScopes({ v2 });
  return {
    next,
    store,
    anomalies,
    deploy: (proxyAddress: Hex, implementation = code) =>
      applyProxyDeployed(next(), { sender: owner, proxyAddress, implementation }),
    register: (registry: Hex, text: string, until = expiry) => {
      const label = stringToHex(text);
      const entry = { label, labelHash: keccak256(label), tokenId: tokenOf(text), owner, expiry: until };
      return applyLabelRegistered(next({ emitter: registry }), { ...entry, sender: owner });
    },
    put: (registry: Hex, label: string, subregistry: Hex) =>
      applySubregistryUpdated(next({ emitter: registry }), {
        tokenId: tokenOf(label),
        subregistry,
        sender: owner,
      }),
    names: () =>
      store
        .rows(v2Domain)
        .map((row) => row["name"])
        .sort(),
  };
}

test("entries that a registry had before it was put somewhere are named there, down the tree", async () => {
  const { deploy, register, put, names, store } = createWorld();
  await deploy(first);
  await deploy(second);
  await register(second, "leaf");
  await register(first, "branch");
  await put(first, "branch", second);
  expect(names()).toEqual([]);
  await register(eth, "tree");
  await put(eth, "tree", first);
  expect(names()).toEqual(["branch.tree.eth", "leaf.branch.tree.eth", "tree.eth"]);
  const leaf = store.rows(v2Domain).find((row) => row["name"] === "leaf.branch.tree.eth");
  expect(leaf).toMatchObject({
    id: namehash("leaf.branch.tree.eth"),
    parentId: namehash("branch.tree.eth"),
    labelName: "leaf",
    registry: second,
    ownerId: owner,
  });
});

test("a registry under two parents has each of its names twice, and a change reaches both", async () => {
  const { deploy, register, put, names, store, next } = createWorld();
  await deploy(first);
  for (const label of ["one", "two"]) {
    await register(eth, label);
    await put(eth, label, first);
  }
  await register(first, "pay");
  expect(names()).toEqual(["one.eth", "pay.one.eth", "pay.two.eth", "two.eth"]);
  const transfer = { ids: [tokenOf("pay")], values: [1n], operator: owner, from: owner, to: stranger };
  await applyTokens(next({ emitter: first }), transfer);
  const ofPay = store.rows(v2Domain).filter((row) => row["labelName"] === "pay");
  expect(ofPay.map((row) => row["ownerId"])).toEqual([stranger, stranger]);
});

test("registries in a circle have the names up to where it closes", async () => {
  const { deploy, register, put, names } = createWorld();
  await deploy(first);
  await deploy(second);
  await register(eth, "ring");
  await register(first, "other");
  await register(second, "home");
  await register(first, "self");
  await put(first, "other", second);
  await put(second, "home", first);
  await put(first, "self", first);
  await put(eth, "ring", first);
  expect(names()).toEqual(["home.other.ring.eth", "other.ring.eth", "ring.eth", "self.ring.eth"]);
});

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

test("a registry of many entries is not named at every place, and what is named stays right", async () => {
  const { deploy, register, put, store, next } = createWorld();
  await deploy(first);
  for (let index = 0; index < 20; index++) {
    await register(eth, `p${index}`);
    await put(eth, `p${index}`, first);
  }
  await register(first, "early");
  for (let entry = 0; entry < 700; entry++) await register(first, `e${entry}`);
  const rowsOf = (label: string) => store.rows(v2Domain).filter((row) => row["labelName"] === label);
  expect([rowsOf("early").length, rowsOf("e699").length]).toEqual([20, 8]);
  // Nor where it is put again.
  await put(eth, "p19", zeroAddress);
  await put(eth, "p19", first);
  expect([rowsOf("early").length, rowsOf("e699").length]).toEqual([20, 8]);
  const transfer = { ids: [tokenOf("early")], values: [1n], operator: owner, from: owner, to: stranger };
  await applyTokens(next({ emitter: first }), transfer);
  expect(new Set(rowsOf("early").map((row) => row["ownerId"]))).toEqual(new Set([stranger]));
});

// The receiver of a new token is called while it is minted: what it sets then comes before the rest of the registration.
test.each([
  ["nothing else", undefined],
  ["what the registration itself sets, which comes last", address("f2")],
])(
  "a resolver that the owner sets while its token is minted stays, unless it is followed by %s",
  async (_, given) => {
    const { register, next, store, anomalies } = createWorld();
    const tokenId = tokenOf("moon");
    await register(eth, "moon");
    const set = (resolver: Hex) =>
      applyResolverUpdated(next({ emitter: eth }), { tokenId, resolver, sender: owner });
    const mint = { ids: [tokenId], values: [1n], operator: owner, from: zeroAddress, to: owner };
    await applyTokens(next({ emitter: eth }), mint);
    await set(address("f1"));
    await applyTokenResource(next({ emitter: eth }), { tokenId, resource: tokenId });
    if (given) await set(given);
    expect(store.rows(v2Domain)[0]).toMatchObject({
      ownerId: owner,
      resolverId: `1-${given ?? address("f1")}-${namehash("moon.eth")}`,
    });
    expect(anomalies).toEqual([]);
  },
);

test("and so it does where the call comes in the middle of another registration of the label", async () => {
  const { register, next, store, anomalies } = createWorld();
  await register(eth, "moon", 5n);
  const tokenId = tokenOf("moon");
  // The old token is burned first; the new one has the next version.
  await applyTokens(next({ emitter: eth }), {
    ids: [tokenId],
    values: [1n],
    operator: owner,
    from: owner,
    to: zeroAddress,
  });
  const label = stringToHex("moon");
  const entry = { label, labelHash: keccak256(label), tokenId: tokenId + 1n, owner: stranger, expiry };
  await applyLabelRegistered(next({ emitter: eth }), { ...entry, sender: owner });
  // Set before the log of the mint.
  await applyResolverUpdated(next({ emitter: eth }), {
    tokenId: tokenId + 1n,
    resolver: address("f1"),
    sender: stranger,
  });
  await applyTokens(next({ emitter: eth }), {
    ids: [tokenId + 1n],
    values: [1n],
    operator: owner,
    from: zeroAddress,
    to: stranger,
  });
  await applyTokenResource(next({ emitter: eth }), { tokenId: tokenId + 1n, resource: tokenId + 1n });
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
