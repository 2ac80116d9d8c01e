import { isDeepStrictEqual } from "node:util";
import { headerHash, receiptsRoot } from "../rpc/block-proofs.ts";
import { isInBloom } from "../rpc/log-answers.ts";
import { ArchiveError, type Proof, rootShare, type Segment } from "./manifest.ts";
import type { ArchivedBlock } from "./segment.ts";

type Proven = { proof: Proof } | { problem: string };

/** What contradicts itself in a block, or how far the block is proven. */
export function proofOf(block: ArchivedBlock): Proven {
  const proven = proofWithoutRoot(block);
  const isWrong = block.receipts !== undefined && rootOf(block) !== block.header["receiptsRoot"];
  if ("problem" in proven || !isWrong) return proven;
  const name = `block ${Number(block.header.number)}`;
  return {
    problem: `the receipts of ${name} do not have the root that its header names: a log is missing, changed or misplaced`,
  };
}

/** The same without what costs most, the root of the receipts. */
function proofWithoutRoot({ header, logs, transactions, receipts }: ArchivedBlock): Proven {
  const name = `block ${Number(header.number)}`;
  let last = -1;
  for (const [index, , address, topics] of logs) {
    if (index <= last) return { problem: `log ${index} of ${name} is repeated or out of order` };
    if (!isInBloom(header, { address, topics }))
      return { problem: `log ${index} of ${name} is not in the block's bloom` };
    last = index;
  }
  const indexes = transactions.map(([index]) => index);
  if (indexes.some((index, i) => i > 0 && index <= (indexes[i - 1] ?? 0)))
    return { problem: `the transactions of ${name} are out of order` };
  if (headerHash(header) !== header.hash) return { proof: "bloom" };
  return { proof: receipts === undefined ? "header" : "receipts" };
}

/** How many blocks are proven how far. Throws an ArchiveError if one contradicts itself. */
export function countProofs(
  blocks: readonly ArchivedBlock[],
  prove: (block: ArchivedBlock) => Proven,
): Record<Proof, number> {
  const counted = { bloom: 0, header: 0, receipts: 0 };
  for (const block of blocks) {
    const proven = prove(block);
    if ("problem" in proven) throw new ArchiveError(`An archived block is wrong: ${proven.problem}.`);
    counted[proven.proof] += 1;
  }
  return counted;
}

/** Throws an ArchiveError if blocks of a segment contradict themselves, or are proven less than the manifest says. */
export function requireProven({ hash, proof }: Segment, blocks: readonly ArchivedBlock[]): void {
  const counted = countProofs(blocks, (block) =>
    Math.random() < rootShare ? proofOf(block) : proofWithoutRoot(block),
  );
  if (isDeepStrictEqual(counted, proof)) return;
  throw new ArchiveError(
    `Segment ${hash.slice(0, 12)}…: the manifest claims another level of proof than its blocks have, such as for a header that was changed.`,
  );
}

// Undefined if the logs are not those of the receipts: the root covers neither their indexes nor the places of their transactions.
function rootOf({ receipts = [], transactions, logs }: ArchivedBlock): string | undefined {
  const ofReceipt = Map.groupBy(logs, ([, sender]) => sender);
  const isWhole =
    logs.every(([index, sender], i) => index === i && sender >= (logs[i - 1]?.[1] ?? 0)) &&
    transactions.length === receipts.length &&
    transactions.every(([index], i) => index === i) &&
    receipts.every(([, , , logCount], index) => logCount === (ofReceipt.get(index)?.length ?? 0));
  if (!isWhole) return undefined;
  return receiptsRoot(
    receipts.map(([type, statusOrRoot, cumulativeGasUsed], index) => ({
      ...{ type, statusOrRoot, cumulativeGasUsed },
      logs: (ofReceipt.get(index) ?? []).map(([, , address, topics, data]) => ({ address, topics, data })),
    })),
  );
}
