import type { Hex } from "viem";
import { expect, test } from "vitest";
import { createScopes } from "../../test/support/scope.ts";
import {
  resolverAddressRecord,
  resolverRecord,
  resolverTextRecord,
} from "../schema/protocol-acceleration.ts";
import {
  clearRecords,
  saveRecords,
  setAddressRecord,
  setAddrRecord,
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
  };
}

test("keeps the last value of each coin type, and none for a cleared one", async () => {
  const { next, addresses } = harness();
  await setAddressRecord(next(), { node, coinType: 0n, address: "0x76A9" });
  await setAddressRecord(next(), { node, coinType: 60n, address: alice });
  await setAddressRecord(next(), { node, coinType: 0n, address: "0x00" });
  await setAddressRecord(next(), { node, coinType: 2n ** 256n - 1n, address: "0x01" });
  await setAddressRecord(next(), { node, coinType: 2n ** 256n - 1n, address: "0x" });
  expect(addresses()).toEqual([
    [0n, "0x00"],
    [60n, alice],
  ]);
});

test("treats zero in AddrChanged as a cleared record, unless an event with twenty zero bytes preceded it", async () => {
  const cleared = harness();
  await setAddrRecord(cleared.next(), { node, address: alice });
  await setAddrRecord(cleared.next(), { node, address: zero });
  expect(cleared.addresses()).toEqual([]);

  const explicit = harness();
  await setAddressRecord(explicit.next(), { node, coinType: 60n, address: zero });
  await setAddrRecord(explicit.next(), { node, address: zero });
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
  await setAddressRecord(next(), { node, coinType: 60n, address: alice });
  await setAddressRecord(next(), { node, coinType: 0n, address: "0x01" });
  await setTextRecord(next(), { node, key: "avatar", value: "a" });
  await saveRecords(next(), node, () => ({ name: "vitalik.eth" }));
  await setAddressRecord(next(), { node: other, coinType: 60n, address: alice });
  await clearRecords(next(), { node, version: 1n });
  expect(addresses()).toEqual([[60n, alice]]);
  expect(texts()).toEqual([]);
  expect(records()).toMatchObject([
    { node, name: null, version: 1n, coinTypes: null, textKeys: null },
    { node: other, version: null, coinTypes: [60n] },
  ]);
  await setTextRecord(next(), { node, key: "avatar", value: "b" });
  expect(texts()).toEqual([["avatar", "b"]]);
});
