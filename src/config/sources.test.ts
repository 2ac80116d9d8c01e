import type { Hex } from "viem";
import { describe, expect, test } from "vitest";
import { namespaces } from "../deployments/namespaces.ts";
import type { Config } from "./environment.ts";
import { defaultSubgraphLimits } from "./limits.ts";
import {
  type ContractEntry,
  contractSources,
  ownLogs,
  type PlannedEntry,
  withoutRepeatedResolvers,
  withSharedFilters,
} from "./sources.ts";

const config: Config = {
  namespace: "mainnet",
  datasources: namespaces.mainnet,
  plugins: ["subgraph"],
  isSubgraphCompatible: false,
  allowsPrivateGateways: false,
  labelSet: { labelSetId: "subgraph", labelSetVersion: 0 },
  labelsUrl: "http://localhost:3223",
  rootChainId: 1,
  chains: [],
  blockRange: {},
  rpcCrossCheckPercent: 1,
  keepsRpcCache: true,
  rowCacheMegabytes: 512,
  ponderStores: "own",
  pgliteDirectory: "memory",
  databaseSchema: "public",
  switchesWhenReady: false,
  subgraphLimits: defaultSubgraphLimits,
  port: 42069,
  logLevel: "info",
};

const keysOf = (changes: Partial<Config>) => Object.keys(contractSources({ ...config, ...changes }));

describe("contract entries", () => {
  test("of the root chain", () => {
    expect(keysOf({})).toEqual([
      "subgraph/ENSv1RegistryOld",
      "subgraph/ENSv1Registry",
      "subgraph/Resolver",
      "subgraph/DNSResolver",
      "subgraph/BaseRegistrar",
      "subgraph/LegacyEthRegistrarController",
      "subgraph/WrappedEthRegistrarController",
      "subgraph/UnwrappedEthRegistrarController",
      "subgraph/NameWrapper",
    ]);
  });

  test("of the second generation: registries of any address, tokens and records of the factory's proxies", () => {
    const sources = contractSources({ ...config, datasources: namespaces["sepolia-v2"], plugins: ["ensv2"] });
    const addresses = Object.entries(sources).map(([key, { chain }]) => [key, chain["sepolia"]?.address]);
    const factory = "0xda70306c98e97ece36f997a21368e53298572991";
    const proxies = expect.objectContaining({ address: factory, parameter: "proxyAddress" });
    expect(addresses).toEqual([
      ["ensv2/ensv2/Registries", undefined],
      ["ensv2/ensv2/RootRegistry", "0xb458d6a3a77919449d03e7a6903c26827c1ec43f"],
      ["ensv2/ensv2/ETHRegistry", "0xd4ebcbbdf463c9c45784603db0ddd499bc44a8b4"],
      ["ensv2/ensv2/VerifiableFactory", factory],
      ["ensv2/ensv2/ProxyTokens", proxies],
      ["ensv2/ensv2/ProxyRecords", proxies],
      ["ensv2/ensv2/ETHRegistrar", "0xf633e7fc17e2bbe0d0965d18ec1821dcb754a3d3"],
      ["ensv2/ensv2/ETHRenewerV1", "0xf2ece44980778966b8a0fccb3a9e339440f6e045"],
      ["ensv2/ensv2/LabelStore", "0xed8246ff02203a4d4cb262bd78beaa7408a57cae"],
    ]);
  });

  test("of two sets of the second generation read each registry's log once", () => {
    const table = namespaces["sepolia-v2"];
    const address: Hex = `0x${"aa".repeat(20)}`;
    const former = {
      chainId: 11155111,
      contracts: {
        RootRegistry: { address, startBlock: 11_000_000 },
        VerifiableFactory: { address, startBlock: 11_000_000 },
      },
    };
    const sources = contractSources({
      ...config,
      datasources: { ...table, ensv2Former: former },
      plugins: ["ensv2"],
    });
    expect([
      sources["ensv2/ensv2/Registries"]?.chain,
      sources["ensv2/ensv2Former/Registries"]?.chain,
      sources["ensv2/ensv2Former/RootRegistry"]?.chain,
    ]).toEqual([
      { sepolia: { startBlock: 11_820_291 } },
      { sepolia: { startBlock: 11_000_000, endBlock: 11_820_290 } },
      { sepolia: { address, startBlock: 11_000_000 } },
    ]);
  });

  test("come in the fixed order of handlers, whatever the order of PLUGINS", () => {
    const keys = keysOf({ plugins: ["registrars", "threedns", "lineanames", "basenames", "subgraph"] });
    const plugins = [...new Set(keys.map((key) => key.slice(0, key.indexOf("/"))))];
    expect(plugins).toEqual(["subgraph", "basenames", "lineanames", "threedns", "registrars"]);
    expect(keysOf({ plugins: ["subgraph", "basenames", "lineanames", "threedns", "registrars"] })).toEqual(
      keys,
    );
  });

  test("contain chain, address and blocks of their contract", () => {
    const sources = contractSources({ ...config, plugins: ["basenames", "threedns"] });
    expect(sources["basenames/RegistrarController"]?.chain).toEqual({
      base: {
        address: "0x4ccb0bb02fcaba27e82a56646e81d8c5bc4119a5",
        startBlock: 18_619_035,
        endBlock: 35_936_564,
      },
    });
    expect(sources["basenames/Resolver"]?.chain).toEqual({ base: { startBlock: 17_571_480 } });
    expect(sources["threedns/threednsOptimism/Resolver"]?.chain).toEqual({
      optimism: { address: "0xf97aac6c8dbaebcb54ff166d79706e3af7a813c8", startBlock: 110_393_959 },
    });
  });

  test("of all resolvers switch at the same block as those of the names", () => {
    const sources = contractSources({
      ...config,
      plugins: ["subgraph", "basenames", "lineanames", "threedns", "protocol-acceleration"],
    });
    expect(sources["protocol-acceleration/EarlyResolver"]?.chain).toEqual({
      base: { startBlock: 17_522_624, endBlock: 17_571_479 },
    });
    expect(sources["protocol-acceleration/Resolver"]?.chain).toEqual({
      mainnet: { startBlock: 3_327_417 },
      base: { startBlock: 17_571_480 },
      linea: { startBlock: 6_682_888 },
      optimism: { startBlock: 110_393_959 },
    });
    expect(sources["basenames/Resolver"]?.chain).toEqual({ base: { startBlock: 17_571_480 } });
    expect(sources["threedns/threednsBase/Resolver"]?.chain).toEqual({
      base: { startBlock: 17_522_624, endBlock: 17_571_479 },
    });
    expect(sources["threedns/threednsOptimism/Resolver"]?.chain).toEqual({
      optimism: { startBlock: 110_393_959 },
    });
  });

  test("have no early resolvers if all resolvers of a chain start at one block", () => {
    const keys = keysOf({ datasources: namespaces.sepolia, plugins: ["protocol-acceleration"] });
    expect(keys).toContain("protocol-acceleration/Resolver");
    expect(keys).not.toContain("protocol-acceleration/EarlyResolver");
  });

  test("omit what the namespace does not have", () => {
    const keys = keysOf({ datasources: namespaces["ens-test-env"], plugins: ["registrars"] });
    expect(keys).toEqual([
      "registrars/ensroot/BaseRegistrar",
      "registrars/ensroot/LegacyEthRegistrarController",
      "registrars/ensroot/WrappedEthRegistrarController",
      "registrars/ensroot/UnwrappedEthRegistrarController",
    ]);
  });

  test("omit text records of DNS resolvers in subgraph mode", () => {
    expect(keysOf({ isSubgraphCompatible: true })).not.toContain("subgraph/DNSResolver");
  });

  test("omit contracts that start after END_BLOCK, and truncate the others", () => {
    const sources = contractSources({ ...config, blockRange: { endBlock: 9_380_400 } });
    expect(sources["subgraph/ENSv1Registry"]?.chain).toEqual({
      mainnet: {
        address: "0x00000000000c2e074ec69a0dfb2997ba6c7d2e1e",
        startBlock: 9_380_380,
        endBlock: 9_380_400,
      },
    });
    expect(Object.keys(sources)).not.toContain("subgraph/BaseRegistrar");
  });
});

describe("what Ponder hashes", () => {
  const hashed = (changes: Partial<Config>) => JSON.stringify(contractSources({ ...config, ...changes }));

  test.each<[string, Partial<Config>]>([
    ["the namespace", { namespace: "sepolia" }],
    ["the plugins", { plugins: ["subgraph", "registrars"] }],
    ["the label set", { labelSet: { labelSetId: "other", labelSetVersion: 0 } }],
    ["the label set's version", { labelSet: { labelSetId: "subgraph", labelSetVersion: 1 } }],
    ["subgraph mode", { isSubgraphCompatible: true }],
    ["the first block", { blockRange: { startBlock: 4_000_000 } }],
  ])("changes with %s", (_, changes) => {
    expect(hashed(changes)).not.toBe(hashed({}));
  });

  test.each<[string, Partial<Config>]>([
    ["the label service's address", { labelsUrl: "file:///labels.sqlite" }],
    ["the schema", { databaseSchema: "names_v2" }],
    ["the chains' RPC", { chains: [{ id: 1, name: "mainnet", rpc: { http: ["http://localhost:8545"] } }] }],
  ])("stays with %s", (_, changes) => {
    expect(hashed(changes)).toBe(hashed({}));
  });
});

type Range = { address?: `0x${string}`; startBlock: number; endBlock?: number };

const address = namespaces.mainnet["threednsBase"]?.contracts["Resolver"]?.address ?? "0x";
const entry = (chain: Record<string, Range>) =>
  ({ abi: [], chain, rowRules: {} }) as unknown as ContractEntry;
const planned = (entries: [string, PlannedEntry["resolver"], ContractEntry][]): PlannedEntry[] =>
  entries.map(([key, resolver, entry]) => ({ key, entry, ...(resolver ? { resolver } : {}) }));
const chainsOf = (entries: PlannedEntry[]) =>
  Object.fromEntries(entries.map(({ key, entry: { chain } }) => [key, chain]));
const rangesOf = (entries: Parameters<typeof planned>[0]) =>
  chainsOf(withoutRepeatedResolvers(planned(entries)));

test("a resolver contract ends where the entry for all contracts of its chain starts", () => {
  expect(
    rangesOf([
      ["basenames/Resolver", "records", entry({ base: { startBlock: 17_571_480 } })],
      ["threedns/threednsBase/Resolver", "records", entry({ base: { address, startBlock: 17_522_624 } })],
    ]),
  ).toEqual({
    "basenames/Resolver": { base: { startBlock: 17_571_480 } },
    "threedns/threednsBase/Resolver": {
      base: { address, startBlock: 17_522_624, endBlock: 17_571_479 },
    },
  });
});

test("it is dropped if that entry does not start after it", () => {
  expect(
    rangesOf([
      ["basenames/Resolver", "records", entry({ base: { startBlock: 5 } })],
      ["threedns/threednsBase/Resolver", "records", entry({ base: { address, startBlock: 5 } })],
    ]),
  ).toEqual({ "basenames/Resolver": { base: { startBlock: 5 } } });
});

test("other chains, other events and other plugins are unaffected", () => {
  const entries = planned([
    ["basenames/Resolver", "records", entry({ base: { startBlock: 5 } })],
    ["threedns/threednsOptimism/Resolver", "records", entry({ optimism: { address, startBlock: 9 } })],
    ["threedns/threednsBase/DNSResolver", "dns", entry({ base: { address, startBlock: 9 } })],
    ["protocol-acceleration/base/Resolver", "every", entry({ base: { startBlock: 9 } })],
    ["registrars/basenames/BaseRegistrar", undefined, entry({ base: { address, startBlock: 9 } })],
  ]);
  expect(withoutRepeatedResolvers(entries)).toEqual(entries);
});

test("two plugins on one chain index all contracts once", () => {
  expect(
    rangesOf([
      ["subgraph/Resolver", "records", entry({ local: { startBlock: 7 } })],
      ["basenames/Resolver", "records", entry({ local: { startBlock: 3 } })],
      ["lineanames/Resolver", "records", entry({ local: { startBlock: 0 } })],
    ]),
  ).toEqual({
    "subgraph/Resolver": { local: { startBlock: 7 } },
    "basenames/Resolver": { local: { startBlock: 3, endBlock: 6 } },
    "lineanames/Resolver": { local: { startBlock: 0, endBlock: 2 } },
  });
});

test("a resolver contract has no address if acceleration reads every contract of the chain", () => {
  const entries = planned([
    ["threedns/threednsOptimism/Resolver", "records", entry({ optimism: { address, startBlock: 5 } })],
    [
      "threedns/threednsOptimism/DNSResolver",
      "dns",
      entry({ optimism: { address, startBlock: 5, endBlock: 9 } }),
    ],
    ["threedns/threednsBase/Resolver", "records", entry({ base: { address, startBlock: 3, endBlock: 4 } })],
    ["protocol-acceleration/EarlyResolver", "every", entry({ base: { startBlock: 3, endBlock: 4 } })],
    ["protocol-acceleration/Resolver", "every", entry({ optimism: { startBlock: 5 } })],
    ["tokenscope/threednsOptimism/ThreeDNSToken", undefined, entry({ optimism: { address, startBlock: 5 } })],
  ]);
  const shared = chainsOf(withSharedFilters(entries));
  expect(shared).toEqual({
    "threedns/threednsOptimism/Resolver": { optimism: { startBlock: 5 } },
    "threedns/threednsOptimism/DNSResolver": { optimism: { startBlock: 5, endBlock: 9 } },
    "threedns/threednsBase/Resolver": { base: { startBlock: 3, endBlock: 4 } },
    "protocol-acceleration/EarlyResolver": { base: { startBlock: 3, endBlock: 4 } },
    "protocol-acceleration/Resolver": { optimism: { startBlock: 5 } },
    "tokenscope/threednsOptimism/ThreeDNSToken": { optimism: { address, startBlock: 5 } },
  });
});

test("it keeps its address on chains that acceleration does not read", () => {
  const entries = planned([
    ["threedns/threednsOptimism/Resolver", "records", entry({ optimism: { address, startBlock: 5 } })],
    ["protocol-acceleration/Resolver", "every", entry({ mainnet: { startBlock: 5 } })],
  ]);
  expect(withSharedFilters(entries)).toEqual(entries);
});

test("knows which logs may be its own, by contract and event", () => {
  const isOwn = ownLogs(contractSources(config), "mainnet");
  // ERC-721 Transfer(address,address,uint256) of the .eth registrar, which ERC-20 tokens emit too.
  const transfer = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef";
  expect(isOwn({ address: "0x57f1887a8BF19b14fC0dF6Fd9B2acc9Af147eA85", topics: [transfer] })).toBe(true);
  expect(isOwn({ address: "0x6B175474E89094C44Da98b954EedeAC495271d0F", topics: [transfer] })).toBe(false);
  // TextChanged(bytes32,string,string,string) of any resolver.
  const text = "0x448bc014f1536726cf8d54ff3d6481ed3cbc683c2591ca204274009afa09b1a1";
  expect(isOwn({ address: `0x${"12".repeat(20)}`, topics: [text] })).toBe(true);
  expect(isOwn({ address: `0x${"12".repeat(20)}`, topics: [] })).toBe(false);
  expect(ownLogs(contractSources(config), "base")({ address: `0x${"12".repeat(20)}`, topics: [text] })).toBe(
    false,
  );
});
