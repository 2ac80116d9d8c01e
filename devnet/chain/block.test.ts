import type { Hex } from "viem";
import { expect, test } from "vitest";
import { headerHash } from "../../src/rpc/block-proofs.ts";
import type { EmittedLog } from "../events.ts";
import { readRecording } from "../recording.ts";
import { buildBlock, recordedBlocks } from "./block.ts";

const recording = readRecording(new URL("../recording/a", import.meta.url).pathname);
const parent = recordedBlocks(recording).at(-1)!;
const sender: Hex = `0x${"11".repeat(20)}`;
const log: EmittedLog = {
  address: "0x9a676e781a523b5d0c0e43731313a708cb607508",
  topics: ["0xd4735d920b0f87494915f556dd9b54c8f309026070caea5c737245152564d266", `0x${"22".repeat(32)}`],
  data: `0x${"00".repeat(32)}`,
};
const planned = {
  from: sender,
  nonce: 3,
  to: log.address,
  value: 5n,
  logs: [log, log],
};
const build = (entropy = "1", transactions = [planned, { ...planned, nonce: 4, logs: [log] }]) =>
  buildBlock({ parent, chainId: 15658733, timestamp: 1_800_000_000, transactions, entropy });

test("headerHash reproduces the hash of every recorded block", () => {
  for (const block of recording.blocks) expect(headerHash(block as never)).toBe(block["hash"]);
});

test("a built block follows its parent and has the fields of a recorded one", () => {
  const block = build();
  expect(block).toMatchObject({ number: 1667, parentHash: parent.hash, timestamp: 1_800_000_000 });
  expect(Object.keys(block.fields)).toEqual(Object.keys(recording.blocks[0]!));
  expect(headerHash(block.fields as never)).toBe(block.hash);
});

test("transactions of one sender have different hashes", () => {
  const hashes = build("1", [planned, { ...planned, nonce: 4 }]).transactions.map(({ hash }) => hash);
  expect(new Set(hashes).size).toBe(2);
});

test("logs are numbered through the block and name their block and transaction", () => {
  const block = build();
  const logs = block.logs;
  expect(logs.map(({ logIndex, transactionIndex }) => [logIndex, transactionIndex])).toEqual([
    ["0x0", "0x0"],
    ["0x1", "0x0"],
    ["0x2", "0x1"],
  ]);
  const [first, second] = block.transactions.map(({ hash }) => hash);
  expect(logs.map(({ transactionHash }) => transactionHash)).toEqual([first, first, second]);
  expect(new Set(logs.map(({ blockHash }) => blockHash))).toEqual(new Set([block.hash]));
  expect(block.fields["transactions"]).toEqual([first, second]);
});

test("a block without transactions has the empty bloom and the empty roots", () => {
  const { fields } = build("1", []);
  expect(fields["logsBloom"]).toBe(`0x${"0".repeat(512)}`);
  expect(fields["transactionsRoot"]).toBe(
    "0x56e81f171bcc55a6ff8345e692c0f86e5b48e01b996cadc001622fb5e363b421",
  );
});

test("equal input gives equal blocks, different entropy a different hash", () => {
  const [one, same, other] = [build("1"), build("1"), build("2")];
  expect(same).toEqual(one);
  expect(other.hash).not.toBe(one.hash);
});
