import type { Hex } from "viem";
import type { Answer, Recording } from "../recording.ts";

/** A log as `eth_getLogs` returns it, with the fields that filters read and its JSON. */
export type ServedLog = { address: string; topics: string[]; json: string };

/** A transaction and its receipt as JSON. */
export type ServedTransaction = { hash: Hex; json: string; receipt: string };

/** A block with every response about it serialised beforehand. */
export type ServedBlock = {
  number: number;
  hash: Hex;
  parentHash: Hex;
  /** Unix seconds. */
  timestamp: number;
  /** The block's fields as the node returned them, with transaction hashes. */
  fields: Answer;
  json: string;
  jsonWithTransactions: string;
  transactions: ServedTransaction[];
  logs: ServedLog[];
};

/** Serialises a block; transactions and receipts are in block order, and the receipts contain the logs. */
export function serveBlock(block: Answer, transactions: Answer[], receipts: Answer[]): ServedBlock {
  return {
    number: Number(block["number"]),
    hash: block["hash"] as Hex,
    parentHash: block["parentHash"] as Hex,
    timestamp: Number(block["timestamp"]),
    fields: block,
    json: JSON.stringify(block),
    jsonWithTransactions: JSON.stringify({ ...block, transactions }),
    transactions: transactions.map((transaction, index) => ({
      hash: transaction["hash"] as Hex,
      json: JSON.stringify(transaction),
      receipt: JSON.stringify(receipts[index] ?? null),
    })),
    logs: receipts.flatMap((receipt) => (receipt["logs"] as Answer[]).map(serveLog)),
  };
}

/** All blocks of a recording in ascending order of their numbers, ready to be served. */
export function serveRecording({ blocks, transactions, receipts }: Recording): ServedBlock[] {
  const transactionsOf = Map.groupBy(transactions, (transaction) => transaction["blockHash"]);
  const receiptOf = new Map(receipts.map((receipt) => [receipt["transactionHash"], receipt]));
  return blocks
    .map((block) => {
      const own = (transactionsOf.get(block["hash"]) ?? []).sort(byIndex);
      return serveBlock(
        block,
        own,
        own.map((transaction) => receiptOf.get(transaction["hash"]) ?? { logs: [] }),
      );
    })
    .sort((a, b) => a.number - b.number);
}

const byIndex = (a: Answer, b: Answer) => Number(a["transactionIndex"]) - Number(b["transactionIndex"]);

function serveLog(log: Answer): ServedLog {
  return {
    address: (log["address"] as string).toLowerCase(),
    topics: log["topics"] as string[],
    json: JSON.stringify(log),
  };
}
