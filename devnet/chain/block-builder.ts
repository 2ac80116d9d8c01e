import {
  bytesToHex,
  concatHex,
  type Hex,
  hexToBytes,
  keccak256,
  numberToHex,
  parseTransaction,
  stringToHex,
} from "viem";
import type { LocalAccount } from "viem/accounts";
import { headerHash, receiptsRoot } from "../../src/rpc/block-proofs.ts";
import type { EmittedLog } from "../events.ts";
import type { Answer } from "../recording.ts";
import { type ServedBlock, serveBlock } from "./served-block.ts";
import { emptyBloom, emptyTrieRoot } from "./stand-ins.ts";

/** A transaction to be mined: who sends how much where, and the logs its execution leaves in order. */
export type PlannedTransaction = {
  from: LocalAccount;
  nonce: number;
  to: Hex;
  /** Wei. */
  value: bigint;
  logs: EmittedLog[];
};

/** A block to be built. `entropy` goes into mixHash, so that two branches never share a hash. */
export type PlannedBlock = {
  parent: ServedBlock;
  chainId: number;
  /** Unix seconds. */
  timestamp: number;
  transactions: readonly PlannedTransaction[];
  entropy: string;
};

/**
 * Builds the block that follows `parent`: signed EIP-1559 transactions, receipts with logs and their root, the real logs bloom and a
 * header that hashes to its hash. The roots of state and transactions are commitments, but not trie roots.
 */
export async function buildBlock(planned: PlannedBlock): Promise<ServedBlock> {
  const { chainId, transactions } = planned;
  const signed = await Promise.all(transactions.map((transaction) => sign(chainId, transaction)));
  const header = headerOf(planned, signed);
  const hash = headerHash(header) as Hex;
  const block: Answer = {
    hash,
    ...header,
    totalDifficulty: "0x0",
    size: numberToHex(600 + signed.reduce((sum, { size }) => sum + size, 0)),
    uncles: [],
    transactions: signed.map((transaction) => transaction.hash),
    withdrawals: [],
  };
  const place = { blockHash: hash, blockNumber: header.number, blockTimestamp: header.timestamp };
  const answers = signed.map(({ fields }, index) => ({
    ...fields,
    ...place,
    transactionIndex: numberToHex(index),
  }));
  return serveBlock(block, answers, receiptsOf(transactions, signed, place));
}

type Signed = Awaited<ReturnType<typeof sign>>;
type Place = { blockHash: Hex; blockNumber: Hex; blockTimestamp: Hex };

function headerOf({ parent, timestamp, transactions, entropy }: PlannedBlock, signed: readonly Signed[]) {
  const logs = transactions.flatMap((planned) => planned.logs);
  const hashes = signed.map(({ hash }) => hash);
  return {
    parentHash: parent.hash,
    sha3Uncles: emptyUncles,
    miner: zeroAddress,
    stateRoot: commitment("state", [parent.hash, ...hashes]),
    transactionsRoot: hashes.length === 0 ? emptyTrieRoot : commitment("transactions", hashes),
    receiptsRoot: receiptsRoot(
      gasAfterEach(signed).map((gas, index) => ({
        ...{ type: "0x2", statusOrRoot: "0x1", cumulativeGasUsed: gas },
        logs: transactions[index]?.logs ?? [],
      })),
    ),
    logsBloom: logsBloom(logs),
    difficulty: "0x0",
    number: numberToHex(parent.number + 1),
    gasLimit: "0x3b9aca00",
    gasUsed: numberToHex(signed.reduce((sum, { gas }) => sum + gas, 0n)),
    timestamp: numberToHex(timestamp),
    extraData: "0x",
    mixHash: commitment("mix", [keccak256(`0x${Buffer.from(entropy).toString("hex")}`), parent.hash]),
    nonce: "0x0000000000000000",
    baseFeePerGas: "0x7",
    withdrawalsRoot: emptyTrieRoot,
    blobGasUsed: "0x0",
    excessBlobGas: "0x0",
    parentBeaconBlockRoot: `0x${"0".repeat(64)}`,
  } as const;
}

function receiptsOf(
  transactions: readonly PlannedTransaction[],
  signed: readonly Signed[],
  place: Place,
): Answer[] {
  let logIndex = 0;
  const gasAfter = gasAfterEach(signed);
  return signed.map(({ hash: transactionHash, gas }, index) => {
    const { from, to, logs } = transactions[index] as PlannedTransaction;
    const inTransaction = { transactionHash, transactionIndex: numberToHex(index) };
    return {
      type: "0x2",
      status: "0x1",
      cumulativeGasUsed: gasAfter[index],
      logs: logs.map((log) => ({
        ...log,
        ...place,
        ...inTransaction,
        logIndex: numberToHex(logIndex++),
        removed: false,
      })),
      logsBloom: logsBloom(logs),
      ...inTransaction,
      blockHash: place.blockHash,
      blockNumber: place.blockNumber,
      gasUsed: numberToHex(gas),
      effectiveGasPrice: "0x3b9aca07",
      from: from.address.toLowerCase(),
      to,
      contractAddress: null,
    };
  });
}

/** Gas that a block used up to and with each transaction. */
function gasAfterEach(signed: readonly Signed[]): Hex[] {
  let sum = 0n;
  return signed.map(({ gas }) => {
    sum += gas;
    return numberToHex(sum);
  });
}

/** Bloom filter over addresses and topics of logs (Ethereum yellow paper, 4.3.1): 2048 bits, three per item. */
export function logsBloom(logs: readonly EmittedLog[]): Hex {
  if (logs.length === 0) return emptyBloom;
  const bloom = new Uint8Array(256);
  for (const item of logs.flatMap(({ address, topics }) => [address, ...topics])) {
    const digest = hexToBytes(keccak256(item));
    for (const at of [0, 2, 4]) {
      const bit = (((digest[at] as number) << 8) | (digest[at + 1] as number)) & 2047;
      const byte = 255 - (bit >> 3);
      bloom[byte] = (bloom[byte] as number) | (1 << (bit & 7));
    }
  }
  return bytesToHex(bloom);
}

async function sign(chainId: number, { from, nonce, to, value, logs }: PlannedTransaction) {
  // No index reads call data: it stands for the logs, so that no two transactions share a hash.
  const input = keccak256(stringToHex(JSON.stringify(logs)));
  const gas = 60_000n + BigInt(logs.length) * 30_000n;
  const fees = { maxFeePerGas: 3_000_000_000n, maxPriorityFeePerGas: 1_000_000_000n };
  const serialized = await from.signTransaction({
    type: "eip1559",
    chainId,
    nonce,
    to,
    data: input,
    value,
    gas,
    ...fees,
  });
  const { r, s, yParity } = parseTransaction(serialized) as { r: Hex; s: Hex; yParity: number };
  const hash = keccak256(serialized);
  const parity = numberToHex(yParity);
  return {
    hash,
    gas,
    size: (serialized.length - 2) / 2,
    fields: {
      type: "0x2",
      chainId: numberToHex(chainId),
      nonce: numberToHex(nonce),
      gas: numberToHex(gas),
      maxFeePerGas: numberToHex(fees.maxFeePerGas),
      maxPriorityFeePerGas: numberToHex(fees.maxPriorityFeePerGas),
      to,
      value: numberToHex(value),
      accessList: [],
      input,
      r: quantityWithZero(r),
      s: quantityWithZero(s),
      yParity: parity,
      v: parity,
      hash,
      from: from.address.toLowerCase(),
      gasPrice: "0x3b9aca07",
    },
  };
}

const quantityWithZero = (value: Hex): Hex => numberToHex(BigInt(value));

const commitment = (purpose: string, parts: Hex[]): Hex =>
  keccak256(concatHex([keccak256(`0x${Buffer.from(purpose).toString("hex")}`), ...parts]));

/** Keccak of the RLP of an empty list: the uncle hash of every block since the merge. */
const emptyUncles = "0x1dcc4de8dec75d7aab85b567b6ccd41ad312451b948a7413f0a142fd40d49347";
const zeroAddress = "0x0000000000000000000000000000000000000000";
