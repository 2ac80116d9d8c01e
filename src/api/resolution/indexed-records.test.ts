import { expect, test } from "vitest";
import { type IndexedRecords, indexedRecords, liveSelection, unset } from "./indexed-records.ts";
import type { Selection } from "./selection.ts";

const alice = `0x${"a1".repeat(20)}`;
const bob = `0x${"b0".repeat(20)}`;
const zero = `0x${"00".repeat(20)}`;
const x = `0x${"01".repeat(32)}` as const;

const read = (records: Partial<IndexedRecords>, selection: Selection, hasDefaultAddress = false) =>
  indexedRecords({ ...unset, ...records }, selection, { hasDefaultAddress });

test.each<[string, Partial<IndexedRecords>, Selection, object]>([
  ["nothing that is not selected", { name: "alice.eth", contenthash: "0xe301" }, {}, {}],
  ["a name", { name: "alice.eth" }, { name: true }, { name: "alice.eth" }],
  ["no name that is not normalised (ENSIP-15)", { name: "Alice.eth" }, { name: true }, { name: null }],
  [
    "texts, null where unset",
    { texts: { url: "https://ens.domains" } },
    { texts: ["url", "avatar"] },
    { texts: { url: "https://ens.domains", avatar: null } },
  ],
  ["a content hash", { contenthash: "0xe301" }, { contenthash: true }, { contenthash: "0xe301" }],
  ["a public key", { pubkeyX: x, pubkeyY: x }, { pubkey: true }, { pubkey: { x, y: x } }],
  ["no half of a public key", { pubkeyX: x }, { pubkey: true }, { pubkey: null }],
  ["the hash of a DNS zone", { dnszonehash: "0xe301" }, { dnszonehash: true }, { dnszonehash: "0xe301" }],
])("gives %s", (_, records, selection, expected) => {
  expect(read(records, selection)).toEqual(expected);
});

// ENSIP-11: 60 is Ethereum, 2147492101 Base, 2147483658 OP Mainnet; ENSIP-19: 2147483648 is the default of EVM chains.
const addresses = { "2147483648": alice, "2147492101": bob, "2147483658": zero, "0": "0x76a914" };
const asked = { addresses: [60n, 2147492101n, 2147483658n, 0n, 2n] };

test("the default address stands in for EVM chains without a record, if the resolver does so (ENSIP-19)", () => {
  expect(read({ addresses }, asked, true)).toEqual({
    addresses: { "60": alice, "2147492101": bob, "2147483658": null, "0": "0x76a914", "2": null },
  });
  expect(read({ addresses }, asked)).toEqual({
    addresses: { "60": null, "2147492101": bob, "2147483658": null, "0": "0x76a914", "2": null },
  });
});

test("only the chain knows versions, ABIs and interfaces", () => {
  const live: Selection = { version: true, abi: 1n, interfaces: ["0x01ffc9a7"] };
  const selection = { ...live, name: true, texts: ["url"] };
  expect(liveSelection(selection)).toEqual(live);
  expect(indexedRecords(unset, selection, { hasDefaultAddress: false })).toEqual({
    name: null,
    texts: { url: null },
  });
});
