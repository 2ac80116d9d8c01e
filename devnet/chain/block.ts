import { concatHex, type Hex, keccak256, numberToHex, stringToHex, zeroAddress, zeroHash } from "viem";
import { emptyRoot, headerHash, receiptsRoot } from "../../src/rpc/block-proofs.ts";
import { computeBloom } from "../../src/rpc/log-answers.ts";
import type { EmittedLog } from "../events.ts";
import type { Answer, Recording } from "../recording.ts";

/** A log as `eth_getLogs` returns it. */
export type BlockLog = EmittedLog & Answer;

/** A block, and its transactions, receipts and logs in block order, as a node returns them. */
export type Block = {
  number: number;
  hash: Hex;
  parentHash: Hex;
  /** Unix seconds. */
  timestamp: number;
  /** The block's fields, with transaction hashes. */
  fields: Answer;
  transactions: Answer[];
  receipts: Answer[];
  logs: BlockLog[];
};

/** A block of these answers; the receipts contain its logs. */
export function toBlock(fields: Answer, transactions: Answer[], receipts: Answer[]): Block {
  return {
    number: Number(fields["number"]),
    hash: fields["hash"] as Hex,
    parentHash: fields["parentHash"] as Hex,
    timestamp: Number(fields["timestamp"]),
    fields,
    transactions,
    receipts,
    logs: receipts.flatMap((receipt) => receipt["logs"] as BlockLog[]),
  };
}

/** All blocks of a recording in ascending order of their numbers. */
export function recordedBlocks({ blocks, transactions, receipts }: Recording): Block[] {
  const transactionsOf = Map.groupBy(transactions, (transaction) => transaction["blockHash"]);
  const receiptOf = new Map(receipts.map((receipt) => [receipt["transactionHash"], receipt]));
  return blocks
    .map((fields) => {
      const own = (transactionsOf.get(fields["hash"]) ?? []).sort(byIndex);
      return toBlock(
        fields,
        own,
        own.map((transaction) => receiptOf.get(transaction["hash"]) ?? { logs: [] }),
      );
    })
    .sort((a, b) => a.number - b.number);
}

const byIndex = (a: Answer, b: Answer) => Number(a["transactionIndex"]) - Number(b["transactionIndex"]);

/** A transaction to be mined: who sends how much where, and the logs its execution leaves in order. */
export type PlannedTransaction = {
  from: Hex;
  to: Hex;
  /** Wei. */
  value: bigint;
  logs: EmittedLog[];
  /** The miner counts them. */
  nonce?: number;
  /** Stands for the logs unless given: no index reads call data. */
  input?: Hex;
  /** Follows from the rest unless given. */
  hash?: Hex | undefined;
};

/** A block to be built. `entropy` goes into mixHash, so that two branches never share a hash. */
export type PlannedBlock = {
  parent: Pick<Block, "number" | "hash">;
  chainId: number;
  /** Unix seconds. */
  timestamp: number;
  transactions: readonly PlannedTransaction[];
  entropy: string;
  /** In place of the real blooms. */
  bloom?: string;
};

/**
 * Builds the block that follows `parent`: transactions without a valid signature, receipts with logs and their root,
 * the real logs bloom and a header that hashes to its hash. The roots of state and transactions are commitments, but
 * not trie roots.
 */
export function buildBlock(planned: PlannedBlock): Block {
  const { chainId, transactions } = planned;
  const pending = transactions.map((transaction) => buildPending(chainId, transaction));
  let gasSum = 0n;
  // Gas that the block used up to and with each transaction.
  const gasAfter = pending.map(({ gas }) => {
    gasSum += BigInt(gas);
    return numberToHex(gasSum);
  });
  const header = buildHeader(
    planned,
    pending.map(({ hash }) => hash),
    gasAfter,
  );
  const hash = headerHash(header) as Hex;
  const fields: Answer = {
    hash,
    ...header,
    totalDifficulty: "0x0",
    size: numberToHex(600 + 200 * pending.length),
    uncles: [],
    transactions: pending.map((transaction) => transaction.hash),
    withdrawals: [],
  };
  const place = { blockHash: hash, blockNumber: header.number, blockTimestamp: header.timestamp };
  const answers = pending.map((transaction, index) => ({
    ...transaction,
    ...place,
    transactionIndex: numberToHex(index),
  }));
  let logIndex = 0;
  const receipts = pending.map(({ hash: transactionHash, from, to, gas }, index) => {
    const logs = transactions[index]?.logs ?? [];
    const inBlock = { ...place, transactionHash, transactionIndex: numberToHex(index) };
    return {
      type: "0x2",
      status: "0x1",
      cumulativeGasUsed: gasAfter[index],
      logs: logs.map((log) => ({
        ...log,
        ...inBlock,
        logIndex: numberToHex(logIndex++),
        removed: false,
      })),
      logsBloom: planned.bloom ?? computeBloom(logs),
      ...inBlock,
      gasUsed: gas,
      effectiveGasPrice: "0x3b9aca07",
      from,
      to,
      contractAddress: null,
    };
  });
  return toBlock(fields, answers, receipts);
}

function buildHeader(
  { parent, timestamp, transactions, entropy, bloom }: PlannedBlock,
  hashes: readonly Hex[],
  gasAfter: readonly Hex[],
) {
  return {
    parentHash: parent.hash,
    sha3Uncles: emptyUncles,
    miner: zeroAddress,
    stateRoot: commitment("state", [parent.hash, ...hashes]),
    transactionsRoot: hashes.length === 0 ? emptyRoot : commitment("transactions", hashes),
    receiptsRoot: receiptsRoot(
      transactions.map(({ logs }, index) => ({
        ...{ type: "0x2", status: "0x1", cumulativeGasUsed: gasAfter[index] as Hex },
        logs,
      })),
    ),
    logsBloom: bloom ?? computeBloom(transactions.flatMap(({ logs }) => logs)),
    difficulty: "0x0",
    number: numberToHex(parent.number + 1),
    gasLimit: "0x3b9aca00",
    gasUsed: gasAfter.at(-1) ?? "0x0",
    timestamp: numberToHex(timestamp),
    extraData: "0x",
    mixHash: commitment("mix", [keccak256(stringToHex(entropy)), parent.hash]),
    nonce: "0x0000000000000000",
    baseFeePerGas: "0x7",
    withdrawalsRoot: emptyRoot,
    blobGasUsed: "0x0",
    excessBlobGas: "0x0",
    parentBeaconBlockRoot: zeroHash,
  } as const;
}

/** The fields of a transaction that its block does not determine. */
function buildPending(chainId: number, { from, to, value, logs, nonce = 0, ...given }: PlannedTransaction) {
  const fields = {
    type: "0x2",
    chainId: numberToHex(chainId),
    nonce: numberToHex(nonce),
    gas: numberToHex(60_000 + logs.length * 30_000),
    maxFeePerGas: "0xb2d05e00",
    maxPriorityFeePerGas: "0x3b9aca00",
    to,
    value: numberToHex(value),
    accessList: [],
    input: given.input ?? keccak256(stringToHex(JSON.stringify(logs))),
    r: "0x1",
    s: "0x1",
    yParity: "0x0",
    v: "0x0",
    from,
    gasPrice: "0x3b9aca07",
  } as const;
  return { ...fields, hash: given.hash ?? keccak256(stringToHex(JSON.stringify(fields))) };
}

const commitment = (purpose: string, parts: readonly Hex[]): Hex =>
  keccak256(concatHex([keccak256(stringToHex(purpose)), ...parts]));

/** Keccak of the RLP of an empty list: the uncle hash of every block since the merge. */
const emptyUncles = "0x1dcc4de8dec75d7aab85b567b6ccd41ad312451b948a7413f0a142fd40d49347";
