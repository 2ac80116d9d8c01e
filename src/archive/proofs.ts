import { headerHash, receiptsRoot } from "../rpc/block-proofs.ts";
import { mayContain } from "../rpc/log-answers.ts";
import type { ArchivedBlock } from "./segment.ts";

/** How far a block is proven: what is recomputed from the archive alone, each level on top of the one before. */
export type Proof = "bloom" | "header" | "receipts";

/** What contradicts itself in a block, or how far the block is proven. */
export function proofOf(block: ArchivedBlock): { proof: Proof } | { problem: string } {
  const { header, logs, transactions, receipts } = block;
  const name = `block ${Number(header.number)}`;
  let last = -1;
  for (const [index, , address, topics] of logs) {
    if (index <= last) return { problem: `log ${index} of ${name} is repeated or out of order` };
    last = index;
    const isInBloom =
      mayContain(header.logsBloom, address) && topics.every((one) => mayContain(header.logsBloom, one));
    if (!isInBloom) return { problem: `log ${index} of ${name} is not in the block's bloom` };
  }
  const indexes = transactions.map(([index]) => index);
  if (indexes.some((index, i) => i > 0 && index <= (indexes[i - 1] ?? 0)))
    return { problem: `the transactions of ${name} are out of order` };
  const isHeaderProven = headerHash(header) === header.hash;
  if (receipts === undefined) return { proof: isHeaderProven ? "header" : "bloom" };
  if (rootOf(block) !== header["receiptsRoot"])
    return {
      problem: `the receipts of ${name} do not have the root that its header names: a log is missing, changed or misplaced`,
    };
  return { proof: isHeaderProven ? "receipts" : "bloom" };
}

// Undefined if the logs are not those of the receipts: the root covers neither their indexes nor the places of their transactions.
function rootOf({ receipts = [], transactions, logs }: ArchivedBlock): string | undefined {
  let next = 0;
  const all = receipts.map(([type, statusOrRoot, cumulativeGasUsed, logCount]) => {
    const own = logs
      .slice(next, next + logCount)
      .map(([, , address, topics, data]) => ({ address, topics, data }));
    next += logCount;
    return { type, statusOrRoot, cumulativeGasUsed, logs: own };
  });
  const places = receipts.flatMap(([, , , logCount], place) => Array<number>(logCount).fill(place));
  const isWhole =
    next === logs.length && logs.every(([index, place], i) => index === i && place === places[i]);
  const isInOrder =
    transactions.length === receipts.length && transactions.every(([index], i) => index === i);
  return isWhole && isInOrder ? receiptsRoot(all) : undefined;
}
