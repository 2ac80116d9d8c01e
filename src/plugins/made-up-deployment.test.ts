import {
  type Abi,
  type AbiEvent,
  encodeAbiParameters,
  encodeEventTopics,
  type Hex,
  namehash,
  numberToHex,
  parseAbi,
} from "viem";
import { expect, test, vi } from "vitest";
import { nameWrapperAbi, registryAbi } from "../../abis/names.ts";
import { resolverAbi } from "../../abis/resolver.ts";
import { madeUp, madeUpAddresses, shopAbi } from "../../test/support/made-up-deployment.ts";
import { createRecordedIndex } from "../../test/support/recorded-index.ts";
import { indexedSubregistries, tokenIssuers } from "../deployments/namespaces.ts";
import { rootNode } from "../ens/ids.ts";
import { labelhash } from "../ens/labels.ts";
import { registerNames } from "../handlers/names.ts";
import { domainResolverRelation, resolverTextRecord } from "../schema/protocol-acceleration.ts";
import { registrarAction } from "../schema/registrars.ts";
import { domain, registration, wrappedDomain } from "../schema/subgraph.ts";
import { nameToken } from "../schema/tokenscope.ts";
import { registerProtocolAcceleration } from "./protocol-acceleration.ts";
import { registerRegistrars } from "./registrars.ts";
import { registerTokenscope } from "./tokenscope.ts";

// What a new deployment needs: a description, and its line in the list.
vi.mock("../deployments/deployments.ts", async (original) => {
  const { deployments } = await original<typeof import("../deployments/deployments.ts")>();
  return { deployments: [...deployments, madeUp] };
});

const { registry, registrar, shop, wrapper } = madeUpAddresses;
const owner: Hex = `0x${"a1".repeat(20)}`;
const buyer: Hex = `0x${"b2".repeat(20)}`;
const resolver: Hex = `0x${"d1".repeat(20)}`;
const nobody: Hex = `0x${"00".repeat(20)}`;
const label = labelhash("alice");
const tokenId = BigInt(label);
const parent = namehash("madeup.eth");
const alice = namehash("alice.madeup.eth");
const transactionHash: Hex = `0x${"7a".repeat(32)}`;

const registrarAbi = parseAbi([
  "event NameRegistered(uint256 indexed id, address indexed owner, uint256 expires)",
  "event NameRenewed(uint256 indexed id, uint256 expires)",
  "event Transfer(address indexed from, address indexed to, uint256 indexed tokenId)",
]);

/** The index of a configuration over a store in memory, and `emit`, which plays a log of a contract. */
function createIndex() {
  const index = createRecordedIndex(
    { chainId: 31337, blocks: [{ number: "0x9", timestamp: numberToHex(1_700_000_000) }], receipts: [] },
    {
      environment: {
        NAMESPACE: "mainnet",
        PLUGINS: "madeup,protocol-acceleration,registrars,tokenscope",
        ...Object.fromEntries(
          [1, 10, 8453, 31337, 42161, 59144, 534352].map((id) => [`RPC_URL_${id}`, "http://localhost"]),
        ),
      },
      datasources: "{}",
      labels: ["eth", "madeup"],
      register({ datasources }, events, logs) {
        registerNames(events, datasources, madeUp);
        registerProtocolAcceleration(events, datasources);
        registerRegistrars(events, datasources, logs);
        registerTokenscope(events, datasources);
      },
    },
  );
  let played = 0;
  async function emit(address: Hex, abi: Abi, eventName: string, args: Record<string, unknown>) {
    const item = abi.find((one): one is AbiEvent => one.type === "event" && one.name === eventName);
    if (item === undefined) throw new Error(`no event ${eventName}`);
    const plain = item.inputs.filter(({ indexed }) => !indexed);
    played += 1;
    await index.play({
      ...{ address, transactionHash, sender: buyer, blockNumber: "0x9", logIndex: numberToHex(played) },
      topics: encodeEventTopics({ abi: [item], eventName, args }) as Hex[],
      data: encodeAbiParameters(
        plain,
        plain.map(({ name }) => args[name ?? ""]),
      ),
    });
  }
  return { ...index, emit, rows: index.store.rows };
}

test("its plugin, its chain and its contracts are part of the configuration", () => {
  const { config, sources } = createIndex();
  expect(config.plugins).toEqual(["madeup", "protocol-acceleration", "registrars", "tokenscope"]);
  expect(config.chains.map(({ id }) => id)).toContain(31337);
  const onItsChain = Object.entries(sources).flatMap(([key, { chain }]) => ("local" in chain ? [key] : []));
  expect(onItsChain).toEqual([
    "madeup/Registry",
    "madeup/Resolver",
    "madeup/DNSResolver",
    "madeup/BaseRegistrar",
    "madeup/Shop",
    "madeup/NameWrapper",
    "protocol-acceleration/madeup/Registry",
    "protocol-acceleration/Resolver",
    "registrars/madeup/BaseRegistrar",
    "registrars/madeup/Shop",
    "tokenscope/madeup/BaseRegistrar",
    "tokenscope/madeup/NameWrapper",
  ]);
});

test("the API knows its registrar and its tokens", () => {
  const { datasources } = createIndex().config;
  expect(indexedSubregistries(datasources)).toContainEqual({
    subregistryId: `eip155:31337:${registrar}`,
    chainId: 31337,
    node: parent,
    namesPlugin: "madeup",
  });
  expect(tokenIssuers(datasources).filter(({ chainId }) => chainId === 31337)).toMatchObject([
    { address: registrar, assetNamespace: "erc721", managedNode: parent },
    { address: wrapper, assetNamespace: "erc1155", isNameWrapper: true },
  ]);
});

test("a registration becomes a name, an action with price and referrer, and a token", async () => {
  const { emit, rows, anomalies } = createIndex();
  const referrer: Hex = "0x0000000000000000000000005a1de0c3b7f24e86d9310ab27c4f5e6d7a8b9c01";
  await emit(registry, registryAbi, "NewOwner", { node: rootNode, label: labelhash("eth"), owner });
  await emit(registry, registryAbi, "NewOwner", {
    node: namehash("eth"),
    label: labelhash("madeup"),
    owner,
  });
  await emit(registrar, registrarAbi, "Transfer", { from: nobody, to: owner, tokenId });
  await emit(registry, registryAbi, "NewOwner", { node: parent, label, owner });
  await emit(registrar, registrarAbi, "NameRegistered", { id: tokenId, owner, expires: 1_731_536_000n });
  await emit(shop, shopAbi, "Sold", { hash: label, title: "alice", fee: 5n, surcharge: 7n, referrer });

  expect(rows(domain).find(({ id }) => id === alice)).toMatchObject({
    name: "alice.madeup.eth",
    labelName: "alice",
    registrantId: owner,
    expiryDate: 1_731_536_000n + 7_776_000n,
  });
  expect(rows(registration)).toMatchObject([{ id: alice, cost: 12n, labelName: "alice" }]);
  expect(rows(registrarAction)).toMatchObject([
    {
      type: "registration",
      subregistryId: `eip155:31337:${registrar}`,
      node: alice,
      baseCost: 5n,
      premium: 7n,
      total: 12n,
      registrant: buyer,
      encodedReferrer: referrer,
      decodedReferrer: "0x5a1de0c3b7f24e86d9310ab27c4f5e6d7a8b9c01",
    },
  ]);
  expect(rows(nameToken)).toMatchObject([
    { domainId: alice, contractAddress: registrar, tokenId, owner, mintStatus: "minted" },
  ]);

  await emit(registrar, registrarAbi, "NameRenewed", { id: tokenId, expires: 1_763_072_000n });
  await emit(shop, shopAbi, "Prolonged", { hash: label, title: "alice", fee: 3n });
  expect(rows(registrarAction).at(-1)).toMatchObject({
    type: "renewal",
    incrementalDuration: 31_536_000n,
    total: 3n,
  });
  expect(rows(registration)).toMatchObject([{ cost: 3n, expiryDate: 1_763_072_000n }]);
  expect(anomalies).toEqual([]);
});

test("its resolvers, records and wrapper are indexed too", async () => {
  const { emit, rows } = createIndex();
  await emit(registry, registryAbi, "NewOwner", { node: parent, label, owner });
  await emit(registry, registryAbi, "NewResolver", { node: alice, resolver });
  await emit(resolver, [textChangedWithValue], "TextChanged", {
    node: alice,
    indexedKey: "url",
    key: "url",
    value: "https://ens.domains",
  });
  await emit(wrapper, nameWrapperAbi, "TransferSingle", {
    operator: owner,
    from: nobody,
    to: owner,
    id: BigInt(alice),
    value: 1n,
  });
  expect(rows(domainResolverRelation)).toMatchObject([
    { chainId: 31337, address: registry, domainId: alice, resolver },
  ]);
  expect(rows(resolverTextRecord)).toMatchObject([{ address: resolver, node: alice, key: "url" }]);
  expect(rows(wrappedDomain)).toMatchObject([{ id: alice, ownerId: owner }]);
  expect(rows(nameToken)).toMatchObject([{ domainId: alice, contractAddress: wrapper, owner }]);
});

const textChangedWithValue = resolverAbi.filter(
  (item) => item.name === "TextChanged" && item.inputs.length === 4,
)[0] as AbiEvent;
