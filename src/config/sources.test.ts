import type { Hex } from "viem";
import { describe, expect, test } from "vitest";
import { namespaces } from "../deployments/namespaces.ts";
import { type Config, parseEnvironment } from "./environment.ts";
import { contractSources } from "./sources.ts";

const rpc = { RPC_URL_1: "http://localhost:8545" };
const environment = {
  NAMESPACE: "mainnet",
  PLUGINS: "subgraph",
  LABELS_URL: "http://localhost:3223",
  ...rpc,
};
const config = parseEnvironment(environment, () => "");

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
      ["ensv2/ensv2/LabelStore", "0xed8246ff02203a4d4cb262bd78beaa7408a57cae"],
      ["ensv2/ensv2/StandaloneHCAFactory", "0x6bad0176236e97b346b5dd13bcc8325b931ee8ab"],
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

  test("of all resolvers begin with the first resolver of a chain", () => {
    const sources = contractSources({
      ...config,
      plugins: ["subgraph", "basenames", "lineanames", "threedns", "protocol-acceleration"],
    });
    expect(sources["protocol-acceleration/Resolver"]?.chain).toEqual({
      mainnet: { startBlock: 3_327_417 },
      base: { startBlock: 17_522_624 },
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
    [
      "a version of the label set to which the index is healed",
      { labelSet: { labelSetId: "subgraph", labelSetVersion: 1 }, firstLabelSetVersion: 0 },
    ],
    ["the chains' RPC", { chains: [{ id: 1, name: "mainnet", rpc: { http: ["http://localhost:8545"] } }] }],
  ])("stays with %s", (_, changes) => {
    expect(hashed(changes)).toBe(hashed({}));
  });
});
