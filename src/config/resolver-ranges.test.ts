import { expect, test } from "vitest";
import { namespaces } from "../deployments/namespaces.ts";
import type { ContractEntry, PlannedEntry } from "./contract-entry.ts";
import { withoutRepeatedResolvers, withSharedFilters } from "./resolver-ranges.ts";

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

test("a resolver contract ends where all contracts of its chain begin", () => {
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

test("it falls away where all contracts were there before it", () => {
  expect(
    rangesOf([
      ["basenames/Resolver", "records", entry({ base: { startBlock: 5 } })],
      ["threedns/threednsBase/Resolver", "records", entry({ base: { address, startBlock: 5 } })],
    ]),
  ).toEqual({ "basenames/Resolver": { base: { startBlock: 5 } } });
});

test("other chains, other events and other plugins are left alone", () => {
  const entries = planned([
    ["basenames/Resolver", "records", entry({ base: { startBlock: 5 } })],
    ["threedns/threednsOptimism/Resolver", "records", entry({ optimism: { address, startBlock: 9 } })],
    ["threedns/threednsBase/DNSResolver", "dns", entry({ base: { address, startBlock: 9 } })],
    ["protocol-acceleration/base/Resolver", "every", entry({ base: { startBlock: 9 } })],
    ["registrars/basenames/BaseRegistrar", undefined, entry({ base: { address, startBlock: 9 } })],
  ]);
  expect(withoutRepeatedResolvers(entries)).toEqual(entries);
});

test("two plugins on one chain take all contracts once", () => {
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

test("a resolver contract has no address where acceleration reads every contract of the chain", () => {
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
