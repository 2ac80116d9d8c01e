import type { Hex } from "viem";
import { expect, test } from "vitest";
import { createScopes } from "../../test/support/scope.ts";
import {
  domainResolverRelation,
  migratedNode,
  reverseNameEvent,
  reverseNameRecord,
} from "../schema/protocol-acceleration.ts";
import { migrateSubname, setFormerRelation, setRelation, setReverseName } from "./resolver-records.ts";

const registry: Hex = "0x00000000000c2e074ec69a0dfb2997ba6c7d2e1e";
const zero: Hex = `0x${"0".repeat(40)}`;
const old: Hex = `0x${"a".repeat(40)}`;
const resolver: Hex = `0x${"b".repeat(40)}`;
const root: Hex = `0x${"0".repeat(64)}`;
const eth: Hex = "0x93cdeb708b7545dc668eb9280176169d1c33cfd8ed6f04690a0bcc88a93fc4ae";
const ethLabelhash: Hex = "0x4f5b812789fc606be1b3b16908db13fc7a9adf7ca72641f84d75b47069d3d7f0";

function harness() {
  const { next, store } = createScopes();
  return {
    next,
    relations: () =>
      store
        .rows(domainResolverRelation)
        .map(({ address, domainId, resolver: at }) => [address, domainId, at]),
    migrated: () => store.rows(migratedNode),
    reverse: () => store.rows(reverseNameRecord),
    reverseEvents: () => store.rows(reverseNameEvent),
  };
}

test("a node has the last resolver set, and none after zero", async () => {
  const { next, relations } = harness();
  await setRelation(next(), { registry, node: eth, resolver: old });
  await setRelation(next(), { registry, node: eth, resolver });
  expect(relations()).toEqual([[registry, eth, resolver]]);
  await setRelation(next(), { registry, node: eth, resolver: zero });
  expect(relations()).toEqual([]);
});

test("the older registry counts until the newer one names the node, which then has no resolver", async () => {
  const { next, relations, migrated } = harness();
  await setFormerRelation(next(), { registry, node: eth, resolver: old });
  expect(relations()).toEqual([[registry, eth, old]]);
  await migrateSubname(next(), { registry, parentNode: root, labelhash: ethLabelhash });
  expect(migrated()).toEqual([{ node: eth }]);
  expect(relations()).toEqual([]);
  await setFormerRelation(next(), { registry, node: eth, resolver: old });
  expect(relations()).toEqual([]);
});

test("a second owner in the newer registry does not change the resolver", async () => {
  const { next, relations } = harness();
  await migrateSubname(next(), { registry, parentNode: root, labelhash: ethLabelhash });
  await setRelation(next(), { registry, node: eth, resolver });
  await migrateSubname(next(), { registry, parentNode: root, labelhash: ethLabelhash });
  expect(relations()).toEqual([[registry, eth, resolver]]);
});

test("an account has the last name that it claimed, for each coin type", async () => {
  const { next, reverse, reverseEvents } = harness();
  const address = old;
  await setReverseName(next(), { address, coinType: 0x80000000n, name: "alice.eth" });
  await setReverseName(next(), { address, coinType: 0x8000000an, name: "al\0ice.eth" });
  await setReverseName(next(), { address, coinType: 60n, name: "x.eth" });
  await setReverseName(next(), { address, coinType: 60n, name: "" });
  expect(reverse()).toEqual([
    { address, coinType: 0x80000000n, value: "alice.eth" },
    { address, coinType: 0x8000000an, value: "al\ufffdice.eth" },
  ]);
  const shared = { address, logIndex: 7, transactionHash: `0x${"a1".repeat(32)}` };
  const event = (block: number, coinType: bigint, name: string | null) => {
    const timestamp = 1_700_000_000 + block;
    return { id: `1-${block}-7`, ...shared, blockNumber: block, timestamp, coinType, name };
  };
  expect(reverseEvents()).toEqual([
    event(1, 0x80000000n, "alice.eth"),
    event(2, 0x8000000an, "al\ufffdice.eth"),
    event(3, 60n, "x.eth"),
    event(4, 60n, null),
  ]);
});
