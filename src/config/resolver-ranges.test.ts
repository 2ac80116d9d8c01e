import { expect, test } from "vitest";
import { namespaces } from "../datasources/datasources.ts";
import type { ContractEntry } from "./contract-entry.ts";
import { withoutRepeatedResolvers, withSharedFilters } from "./resolver-ranges.ts";

type Range = { address?: `0x${string}`; startBlock: number; endBlock?: number };

const address = namespaces.mainnet["threednsBase"]?.contracts["Resolver"]?.address ?? "0x";
const entry = (chain: Record<string, Range>) =>
  ({ abi: [], chain, rowRules: {} }) as unknown as ContractEntry<[]>;
const rangesOf = (entries: [string, ContractEntry<[]>][]) =>
  Object.fromEntries(withoutRepeatedResolvers(entries).map(([key, { chain }]) => [key, chain]));

test("a resolver contract ends where all contracts of its chain begin", () => {
  expect(
    rangesOf([
      ["basenames/Resolver", entry({ base: { startBlock: 17_571_480 } })],
      ["threedns/threednsBase/Resolver", entry({ base: { address, startBlock: 17_522_624 } })],
    ]),
  ).toEqual({
    "basenames/Resolver": { base: { startBlock: 17_571_480 } },
    "threedns/threednsBase/Resolver": {
      base: { address, startBlock: 17_522_624, endBlock: 17_571_479 },
    },
  });
});

test("it falls away where all contracts were there before it", () => {
  expect(
    rangesOf([
      ["basenames/Resolver", entry({ base: { startBlock: 5 } })],
      ["threedns/threednsBase/Resolver", entry({ base: { address, startBlock: 5 } })],
    ]),
  ).toEqual({ "basenames/Resolver": { base: { startBlock: 5 } } });
});

test("other chains, other events and other plugins are left alone", () => {
  const entries: [string, ContractEntry<[]>][] = [
    ["basenames/Resolver", entry({ base: { startBlock: 5 } })],
    ["threedns/threednsOptimism/Resolver", entry({ optimism: { address, startBlock: 9 } })],
    ["threedns/threednsBase/DNSResolver", entry({ base: { address, startBlock: 9 } })],
    ["protocol-acceleration/base/Resolver", entry({ base: { startBlock: 9 } })],
    ["registrars/basenames/BaseRegistrar", entry({ base: { address, startBlock: 9 } })],
  ];
  expect(withoutRepeatedResolvers(entries)).toEqual(entries);
});

test("two plugins on one chain take all contracts once", () => {
  expect(
    rangesOf([
      ["subgraph/Resolver", entry({ local: { startBlock: 7 } })],
      ["basenames/Resolver", entry({ local: { startBlock: 3 } })],
      ["lineanames/Resolver", entry({ local: { startBlock: 0 } })],
    ]),
  ).toEqual({
    "subgraph/Resolver": { local: { startBlock: 7 } },
    "basenames/Resolver": { local: { startBlock: 3, endBlock: 6 } },
    "lineanames/Resolver": { local: { startBlock: 0, endBlock: 2 } },
  });
});

test("a resolver contract has no address where acceleration reads every contract of the chain", () => {
  const entries: [string, ContractEntry<[]>][] = [
    ["threedns/threednsOptimism/Resolver", entry({ optimism: { address, startBlock: 5 } })],
    ["threedns/threednsOptimism/DNSResolver", entry({ optimism: { address, startBlock: 5, endBlock: 9 } })],
    ["threedns/threednsBase/Resolver", entry({ base: { address, startBlock: 3, endBlock: 4 } })],
    ["protocol-acceleration/EarlyResolver", entry({ base: { startBlock: 3, endBlock: 4 } })],
    ["protocol-acceleration/Resolver", entry({ optimism: { startBlock: 5 } })],
    ["tokenscope/threednsOptimism/ThreeDNSToken", entry({ optimism: { address, startBlock: 5 } })],
  ];
  const shared = Object.fromEntries(withSharedFilters(entries).map(([key, { chain }]) => [key, chain]));
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
  const entries: [string, ContractEntry<[]>][] = [
    ["threedns/threednsOptimism/Resolver", entry({ optimism: { address, startBlock: 5 } })],
    ["protocol-acceleration/Resolver", entry({ mainnet: { startBlock: 5 } })],
  ];
  expect(withSharedFilters(entries)).toEqual(entries);
});
