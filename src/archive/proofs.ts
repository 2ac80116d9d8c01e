import { isDeepStrictEqual } from "node:util";
import { headerHash, provenLogs } from "../rpc/block-proofs.ts";
import { type Header, isInBloom } from "../rpc/log-answers.ts";
import { ArchiveError, type Proof, rootShare, type Segment } from "./manifest.ts";
import { type ArchivedBlock, rpcLogs } from "./segment.ts";

type Proven = { proof: Proof } | { problem: string };

/** What contradicts itself in a block, or how far the block is proven. */
export function proofOf(block: ArchivedBlock): Proven {
  const proven = proofWithoutRoot(block);
  if ("problem" in proven || block.receipts === undefined || hasRoot(block)) return proven;
  const name = `block ${Number(block.header.number)}`;
  return {
    problem: `the receipts of ${name} do not have the root that its header names: a log is missing, changed or misplaced`,
  };
}

/** The same without what costs most, the root of the receipts. */
function proofWithoutRoot({ header, logs, transactions, receipts }: ArchivedBlock): Proven {
  const name = `block ${Number(header.number)}`;
  let last = -1;
  for (const log of logs) {
    const index = Number(log.logIndex);
    if (index <= last) return { problem: `log ${index} of ${name} is repeated or out of order` };
    if (!isInBloom(header, log)) return { problem: `log ${index} of ${name} is not in the block's bloom` };
    last = index;
  }
  const indexes = transactions.map(({ transactionIndex }) => Number(transactionIndex));
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

// Whether logs and transactions are exactly those of receipts that have the root.
function hasRoot(block: ArchivedBlock): boolean {
  const { header, transactions, receipts = [] } = block;
  const logs = Map.groupBy(rpcLogs(block), ({ transactionIndex }) => Number(transactionIndex));
  const whole = receipts.map((receipt, index) => ({
    ...{ ...receipt, transactionHash: transactions[index]?.hash, logs: logs.get(index) ?? [] },
  }));
  const hashes = transactions.map(({ hash }) => hash);
  const proven = provenLogs(whole, { ...header, transactions: hashes } as unknown as Header);
  return proven?.length === block.logs.length && hashes.length === receipts.length;
}
