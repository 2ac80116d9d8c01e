import type { Hex } from "viem";
import { expect, test } from "vitest";
import { createScopes } from "../../test/support/scope.ts";
import {
  domainResolverRelation,
  migratedNode,
  resolverAddressRecord,
  resolverRecord,
  resolverTextRecord,
  reverseNameEvent,
  reverseNameRecord,
} from "../schema/protocol-acceleration.ts";
import {
  clearRecords,
  migrateSubname,
  saveRecords,
  setAddressRecord,
  setAddrRecord,
  setFormerRelation,
  setRelation,
  setReverseName,
  setTextRecord,
} from "./resolver-records.ts";

const node: Hex = `0x${"01".repeat(32)}`;
const other: Hex = `0x${"02".repeat(32)}`;
const zero: Hex = `0x${"0".repeat(40)}`;
const alice: Hex = `0x${"a".repeat(40)}`;

function harness() {
  const { next, store } = createScopes();
  return {
    next,
    addresses: () => store.rows(resolverAddressRecord).map(({ coinType, value }) => [coinType, value]),
    texts: () => store.rows(resolverTextRecord).map(({ key, value }) => [key, value]),
    records: () => store.rows(resolverRecord),
    relations: () =>
      store
        .rows(domainResolverRelation)
        .map(({ address, domainId, resolver: at }) => [address, domainId, at]),
    migrated: () => store.rows(migratedNode),
    reverse: () => store.rows(reverseNameRecord),
    reverseEvents: () => store.rows(reverseNameEvent),
  };
}

test("keeps the last value of each coin type, and none for a cleared one", async () => {
  const { next, addresses } = harness();
  await setAddressRecord(next(), { node, coinType: 0n, newAddress: "0x76A9" });
  await setAddressRecord(next(), { node, coinType: 60n, newAddress: alice });
  await setAddressRecord(next(), { node, coinType: 0n, newAddress: "0x00" });
  await setAddressRecord(next(), { node, coinType: 2n ** 256n - 1n, newAddress: "0x01" });
  await setAddressRecord(next(), { node, coinType: 2n ** 256n - 1n, newAddress: "0x" });
  expect(addresses()).toEqual([
    [0n, "0x00"],
    [60n, alice],
  ]);
});

test("treats zero in AddrChanged as a cleared record, unless an event with twenty zero bytes preceded it", async () => {
  const cleared = harness();
  await setAddrRecord(cleared.next(), { node, a: alice });
  await setAddrRecord(cleared.next(), { node, a: zero });
  expect(cleared.addresses()).toEqual([]);

  const explicit = harness();
  await setAddressRecord(explicit.next(), { node, coinType: 60n, newAddress: zero });
  await setAddrRecord(explicit.next(), { node, a: zero });
  expect(explicit.addresses()).toEqual([[60n, zero]]);
});

test("keeps texts under keys of any length, and none under unusable keys", async () => {
  const { next, texts, records } = harness();
  const long = "k".repeat(100_000);
  await setTextRecord(next(), { node, key: long, value: "x" });
  await setTextRecord(next(), { node, key: "avatar", value: "a" });
  await setTextRecord(next(), { node, key: "avatar", value: "b" });
  await setTextRecord(next(), { node, key: "gone", value: "a" });
  await setTextRecord(next(), { node, key: "gone", value: "" });
  await setTextRecord(next(), { node, key: "unreadable", value: undefined });
  await setTextRecord(next(), { node, key: "", value: "a" });
  await setTextRecord(next(), { node, key: "nul\0", value: "a" });
  await setTextRecord(next(), { node, key: "nul", value: "a\0" });
  expect(texts()).toEqual([
    [long, "x"],
    ["avatar", "b"],
  ]);
  expect(records()).toHaveLength(1);
});

test("a new version clears all of the node's records, and no other node's", async () => {
  const { next, addresses, texts, records } = harness();
  await setAddressRecord(next(), { node, coinType: 60n, newAddress: alice });
  await setAddressRecord(next(), { node, coinType: 0n, newAddress: "0x01" });
  await setTextRecord(next(), { node, key: "avatar", value: "a" });
  const more = { contenthash: "0xe301", pubkeyX: "0x01", pubkeyY: "0x02", dnszonehash: "0x03" } as const;
  const lists = { abiContentTypes: [1n], dataKeys: ["a"] };
  await saveRecords(next(), node, () => ({ name: "vitalik.eth", ...more, ...lists }));
  await setAddressRecord(next(), { node: other, coinType: 60n, newAddress: alice });
  await clearRecords(next(), { node, newVersion: 1n });
  expect(addresses()).toEqual([[60n, alice]]);
  expect(texts()).toEqual([]);
  expect(records()).toMatchObject([
    {
      ...{ node, name: null, version: 1n, coinTypes: null, textKeys: null },
      ...Object.fromEntries(Object.keys({ ...more, ...lists }).map((key) => [key, null])),
    },
    { node: other, version: null, coinTypes: [60n] },
  ]);
  await setTextRecord(next(), { node, key: "avatar", value: "b" });
  expect(texts()).toEqual([["avatar", "b"]]);
});

const registry: Hex = "0x00000000000c2e074ec69a0dfb2997ba6c7d2e1e";
const old: Hex = `0x${"a".repeat(40)}`;
const resolver: Hex = `0x${"b".repeat(40)}`;
const root: Hex = `0x${"0".repeat(64)}`;
const eth: Hex = "0x93cdeb708b7545dc668eb9280176169d1c33cfd8ed6f04690a0bcc88a93fc4ae";
const ethLabelhash: Hex = "0x4f5b812789fc606be1b3b16908db13fc7a9adf7ca72641f84d75b47069d3d7f0";

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
