import { readFileSync } from "node:fs";
import { fromRlp, type Hex, keccak256, toRlp } from "viem";
import { expect, test } from "vitest";
import { areComplete, headerHash, receiptsRoot } from "./block-proofs.ts";

// Blocks of October 2026 as the public endpoints of the chains return them, without transactions.
const headers = JSON.parse(
  readFileSync(new URL("../../test/fixtures/layer-two-headers.json", import.meta.url), "utf8"),
) as Record<string, Record<string, string>>;

test.each(Object.entries(headers))("a header of %s hashes to the hash of its block", (_, header) => {
  const { hash, ...fields } = header;
  expect(headerHash(fields)).toBe(hash);
  expect(headerHash({ ...header, timestamp: "0x1" })).not.toBe(hash);
});

test("fields that a later fork puts at the end of a header are found, up to two", () => {
  const { hash: _, ...fields } = headers["linea"] as Record<string, string>;
  const items = [
    ...["parentHash", "sha3Uncles", "miner", "stateRoot", "transactionsRoot", "receiptsRoot", "logsBloom"],
    ...["difficulty", "number", "gasLimit", "gasUsed", "timestamp", "extraData", "mixHash", "nonce"],
    ...["baseFeePerGas", "withdrawalsRoot", "blobGasUsed", "excessBlobGas", "parentBeaconBlockRoot"],
    "requestsHash",
  ].map((field) => (fields[field] === "0x0" ? "0x" : evenHex(fields[field] as string)));
  // As EIP-7928 and EIP-7843 propose: the hash of the access list, and the number of the slot.
  const later = { blockAccessListHash: `0x${"ab".repeat(32)}`, slotNumber: "0x1234" } as const;
  for (const names of [["blockAccessListHash"], ["blockAccessListHash", "slotNumber"]] as const) {
    const ending = names.map((name) => later[name]);
    const hash = keccak256(toRlp([...items, ...ending] as Hex[]));
    const named = Object.fromEntries(names.map((name) => [name, later[name]]));
    const header = { ...fields, slotNumber: later.slotNumber, ...named, hash };
    expect(headerHash(header)).toBe(hash);
    expect(headerHash({ ...header, timestamp: "0x1" })).not.toBe(hash);
  }
});

const evenHex = (hex: string) => (hex.length % 2 === 0 ? hex : `0x0${hex.slice(2)}`);

// A trie of one leaf: its path is the RLP of place 0, as two nibbles (yellow paper, appendix D).
const rootOf = (receipt: Hex) => keccak256(toRlp(["0x2080", receipt]));
const canyon = { type: "0x7e", depositReceiptVersion: "0x1" };
const noBloom = "00".repeat(256);

test.each([
  // OP stack specification, deposits: nonce since Regolith outside of the root, both since Canyon.
  ["deposit of the OP stack since Canyon", canyon, "7ef9010d", "833d3bbf01"],
  ["deposit of the OP stack before Canyon", { type: "0x7e" }, "7ef90108", ""],
  ["transaction of Arbitrum from before Nitro", { type: "0x78" }, "f90108", ""],
  ["deposit of Arbitrum", { type: "0x64" }, "64f90108", ""],
  ["message to Scroll", { type: "0x7e" }, "7ef90108", ""],
])("the receipt of a %s", (_, fields, start, end) => {
  const receipt = { status: "0x1", cumulativeGasUsed: "0xb741", logs: [], depositNonce: "0x3d3bbf" };
  const encoded: Hex = `0x${start}0182b741b90100${noBloom}c0${end}`;
  expect(fromRlp(`0x${encoded.slice(encoded.indexOf("f9"))}`)).toHaveLength(end === "" ? 4 : 6);
  expect(receiptsRoot([{ ...receipt, ...fields }])).toBe(rootOf(encoded));
});

test.each([
  ["with a status", 1, 4_370_000, { status: "0x1" }, true],
  ["of a chain that began later", 11_155_111, 12, { status: "0x1" }, true],
  // EIP-609: until block 4,370,000 of Ethereum receipts have a state root, which not every node returns.
  ["without a state root, from before Byzantium", 1, 4_369_999, { status: "0x1" }, false],
  ["with a state root, from before Byzantium", 1, 4_369_999, { root: `0x${"ab".repeat(32)}` }, true],
  ["with neither", 10, 1, {}, false],
  ["without gas", 10, 1, { status: "0x1", cumulativeGasUsed: undefined }, false],
  ["of a deposit without a version", 8453, 1, { status: "0x1", type: "0x7e" }, false],
  ["of a deposit with its version", 8453, 1, { status: "0x1", ...canyon }, true],
])("a receipt %s on chain %i can contradict a header: %#", (_, chainId, block, more, isComplete) => {
  const receipt = { type: "0x2", cumulativeGasUsed: "0x5208", logs: [], ...more };
  expect(areComplete([receipt], { chainId, block })).toBe(isComplete);
});
