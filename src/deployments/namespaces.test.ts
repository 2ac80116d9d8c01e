import { labelhash } from "viem";
import { describe, expect, test } from "vitest";
import { currencies } from "./currencies.ts";
import {
  findManagedName,
  indexedSubregistries,
  managedLabels,
  namespaces,
  tokenIssuers,
} from "./namespaces.ts";

test("Sepolia's Base names end in basetest.eth", () => {
  expect(findManagedName(namespaces.sepolia, "basenames")).toEqual({
    name: "basetest.eth",
    node: "0x646204f07e7fcd394a508306bf1148a1e13d14287fa33839bf9ad63755f547c6",
  });
});

test("only deployments with a registrar manage a name", () => {
  const managed = Object.entries(namespaces.mainnet).flatMap(([id, { managedName }]) =>
    managedName ? [id] : [],
  );
  expect(managed).toEqual(["ensroot", "basenames", "lineanames"]);
  expect(() => findManagedName(namespaces.mainnet, "seaport")).toThrow('"seaport" manages no name');
});

test("a deployment's resolvers on the root chain are contracts of the root datasource", () => {
  expect(namespaces.mainnet["ensroot"]?.contracts["LineanamesL1Resolver2"]).toEqual({
    address: "0x1507ce9421232fdbd302f5ebe4590f8d77febbff",
    startBlock: 24_640_923,
  });
});

describe("token issuers", () => {
  test("of mainnet are three registrars, two wrappers and the 3DNS token on two chains", () => {
    const issuers = tokenIssuers(namespaces.mainnet).map((issuer) => [
      issuer.chainId,
      issuer.address,
      issuer.assetNamespace,
      issuer.isNameWrapper,
      issuer.mintsOverLivingTokens,
      issuer.managedNode?.slice(0, 10),
    ]);
    expect(issuers).toEqual([
      [1, "0x57f1887a8bf19b14fc0df6fd9b2acc9af147ea85", "erc721", false, false, "0x93cdeb70"],
      [1, "0xd4416b13d2b3a9abae7acd5d6c2bbdbe25686401", "erc1155", true, false, undefined],
      [8453, "0x03c4738ee98ae44591e1a4a4f3cab6641d95dd9a", "erc721", false, false, "0xff1e3c0e"],
      [59144, "0x6e84390dcc5195414ec91a8c56a5c91021b95704", "erc721", false, false, "0x527aac89"],
      [59144, "0xa53cca02f98d590819141aa85c891e2af713c223", "erc1155", true, false, undefined],
      [10, "0xbb7b805b257d7c76ca9435b3ffe780355e4c4b17", "erc1155", false, true, undefined],
      [8453, "0xbb7b805b257d7c76ca9435b3ffe780355e4c4b17", "erc1155", false, true, undefined],
    ]);
  });
});

test("mainnet has registrars of eth, base.eth and linea.eth", () => {
  const found = indexedSubregistries(namespaces.mainnet).map(({ subregistryId, namesPlugin, node }) => [
    subregistryId,
    namesPlugin,
    node.slice(0, 10),
  ]);
  expect(found).toEqual([
    ["eip155:1:0x57f1887a8bf19b14fc0df6fd9b2acc9af147ea85", "subgraph", "0x93cdeb70"],
    ["eip155:8453:0x03c4738ee98ae44591e1a4a4f3cab6641d95dd9a", "basenames", "0xff1e3c0e"],
    ["eip155:59144:0x6e84390dcc5195414ec91a8c56a5c91021b95704", "lineanames", "0x527aac89"],
  ]);
});

describe("currencies", () => {
  const mainnet = currencies(namespaces.mainnet);

  test.each([
    [1, "0x0000000000000000000000000000000000000000", "ETH"],
    [1, "0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48", "USDC"],
    [1, "0xA0B86991C6218B36C1D19D4A2E9EB0CE3606EB48", "USDC"],
    [1, "0xa0b86a33e6417c5dd4baf8c54e5de49e293e9169", undefined],
    [1, "0xc02aaa39b223fe8d0a0e5c4f27ead9083c756cc2", "WETH"],
    [8453, "0x833589fcd6edb6e08f4c7c32d4f71b54bda02913", "USDC"],
    [10, "0x833589fcd6edb6e08f4c7c32d4f71b54bda02913", undefined],
    [59144, "0x4af15ec2a0bd43db75dd04e62faa3b8ef36b00d5", "DAI"],
  ] as const)("on chain %i, %s is %s", (chainId, token, currency) => {
    expect(mainnet(chainId, token)).toBe(currency);
  });

  test("a network can have its own", () => {
    const token = `0x${"c1".repeat(20)}` as const;
    const contracts = { USDC: { address: token, startBlock: 0 } };
    expect(currencies({ seaport: { chainId: 5, contracts } })(5, token)).toBe("USDC");
  });
});

test("labels of the names that deployments manage are known by hash, from no label set", () => {
  const known = managedLabels(namespaces.mainnet);
  for (const label of ["eth", "base", "linea"]) expect(known.get(labelhash(label))).toBe(label);
  const own = { ...namespaces.mainnet, own: { chainId: 1, managedName: "names.example", contracts: {} } };
  expect(managedLabels(own).get(labelhash("example"))).toBe("example");
});
