// How much of the chain's time a read costs, and how much may be spent ahead. Events that cause reads cost a few
// thousand gas: without this, one full block of them would stall the index for minutes.
const prices = {
  // Text records of unconfigured contracts: 100 at once, then one a second. Transactions with accounts: 30, then one in ten seconds.
  text: { costMs: 1_000n, aheadMs: 100_000n },
  transaction: { costMs: 10_000n, aheadMs: 300_000n },
};

/** Reads that anybody can cause. */
export type ReadKind = keyof typeof prices;

/** The time of the chain, in milliseconds, at which all reads are paid for, and the transaction of the latest. */
export type Allowance = { paidAt: bigint; transactionHash: `0x${string}` };

/**
 * What is left after a read for an event, whose time is in seconds; undefined if the read is not granted. Of one transaction, a
 * read of its addresses counts once: then the allowance is `before` itself.
 */
export function spend<A extends Allowance>(
  kind: ReadKind,
  before: A | null | undefined,
  { timestamp, transactionHash }: { timestamp: bigint; transactionHash: `0x${string}` },
): A | Allowance | undefined {
  const { costMs, aheadMs } = prices[kind];
  if (kind === "transaction" && before?.transactionHash === transactionHash) return before;
  const now = timestamp * 1_000n;
  const paidAt = (before && before.paidAt > now ? before.paidAt : now) + costMs;
  return paidAt > now + aheadMs ? undefined : { paidAt, transactionHash };
}
