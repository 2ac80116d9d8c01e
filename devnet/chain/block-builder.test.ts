import { keccak256, parseTransaction, recoverTransactionAddress, serializeTransaction } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { expect, test } from "vitest";
import { headerHash } from "../../src/rpc/block-proofs.ts";
import type { EmittedLog } from "../events.ts";
import { type Answer, readRecording } from "../recording.ts";
import { buildBlock, logsBloom } from "./block-builder.ts";
import { serveRecording } from "./served-block.ts";

const recording = readRecording(new URL("../recording/a", import.meta.url).pathname);
const parent = serveRecording(recording).at(-1)!;
const sender = privateKeyToAccount(`0x${"11".repeat(32)}`);
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

test("logsBloom reproduces the bloom of every recorded receipt and block", () => {
  const logsOf = Map.groupBy(recording.receipts, (receipt) => receipt["blockHash"]);
  for (const receipt of recording.receipts) {
    expect(logsBloom(receipt["logs"] as EmittedLog[])).toBe(receipt["logsBloom"]);
  }
  for (const block of recording.blocks) {
    const logs = (logsOf.get(block["hash"]) ?? []).flatMap((receipt) => receipt["logs"] as EmittedLog[]);
    expect(logsBloom(logs)).toBe(block["logsBloom"]);
  }
});

test("a built block follows its parent and has the fields of a recorded one", async () => {
  const block = await build();
  expect(block).toMatchObject({ number: 1667, parentHash: parent.hash, timestamp: 1_800_000_000 });
  expect(Object.keys(block.fields)).toEqual(Object.keys(recording.blocks[0]!));
  expect(headerHash(block.fields as never)).toBe(block.hash);
});

test("transactions are signed by their senders and hash to their hashes", async () => {
  const block = await build();
  for (const { json, hash } of block.transactions) {
    const fields = JSON.parse(json);
    const serialized = serializeTransaction(
      {
        type: "eip1559",
        chainId: Number(fields.chainId),
        nonce: Number(fields.nonce),
        gas: BigInt(fields.gas),
        maxFeePerGas: BigInt(fields.maxFeePerGas),
        maxPriorityFeePerGas: BigInt(fields.maxPriorityFeePerGas),
        to: fields.to,
        value: BigInt(fields.value),
        data: fields.input,
      },
      { r: fields.r, s: fields.s, yParity: Number(fields.yParity) },
    );
    expect(keccak256(serialized)).toBe(hash);
    expect(fields.hash).toBe(hash);
    const signer = await recoverTransactionAddress({ serializedTransaction: serialized as `0x02${string}` });
    expect(signer.toLowerCase()).toBe(fields.from);
    expect(parseTransaction(serialized).value).toBe(5n);
  }
});

test("logs are numbered through the block and name their block and transaction", async () => {
  const block = await build();
  const logs = block.logs.map(({ json }) => JSON.parse(json) as Answer);
  expect(logs.map(({ logIndex, transactionIndex }) => [logIndex, transactionIndex])).toEqual([
    ["0x0", "0x0"],
    ["0x1", "0x0"],
    ["0x2", "0x1"],
  ]);
  const [first, second] = block.transactions.map(({ hash }) => hash);
  expect(logs.map(({ transactionHash }) => transactionHash)).toEqual([first, first, second]);
  expect(new Set(logs.map(({ blockHash }) => blockHash))).toEqual(new Set([block.hash]));
  expect(JSON.parse(block.jsonWithTransactions).transactions.map(({ hash }: Answer) => hash)).toEqual([
    first,
    second,
  ]);
});

test("a block without transactions has the empty bloom and the empty roots", async () => {
  const { fields } = await build("1", []);
  expect(fields["logsBloom"]).toBe(`0x${"0".repeat(512)}`);
  expect(fields["transactionsRoot"]).toBe(
    "0x56e81f171bcc55a6ff8345e692c0f86e5b48e01b996cadc001622fb5e363b421",
  );
});

test("equal input gives equal blocks, different entropy a different hash", async () => {
  const [one, same, other] = await Promise.all([build("1"), build("1"), build("2")]);
  expect(same).toEqual(one);
  expect(other.hash).not.toBe(one.hash);
});
