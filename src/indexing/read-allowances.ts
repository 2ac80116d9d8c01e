import { readAllowance } from "../schema/protocol-acceleration.ts";
import type { Scope } from "./scope.ts";

// How much of the chain's time a read costs, and how much may be spent ahead. Events that cause reads cost a few
// thousand gas: without this, one full block of them would stall the index for minutes.
const prices = {
  /** A text record of an unconfigured contract: 100 at once, then one per second. */
  text: { costMs: 1_000n, aheadMs: 100_000n },
  /** The addresses in a transaction that names accounts: 30 at once, then one per ten seconds. */
  transaction: { costMs: 10_000n, aheadMs: 300_000n },
};

/**
 * Whether the event may cause a read, and accounts for it; an anomaly if not. It depends on the chain alone, so that every
 * index of the same blocks reads the same. Of one transaction, a read of its addresses counts once.
 */
export async function isReadGranted(scope: Scope, kind: keyof typeof prices): Promise<boolean> {
  const { db, chainId, transactionHash } = scope;
  const { costMs, aheadMs } = prices[kind];
  const key = { chainId, kind };
  const row = await db.find(readAllowance, key);
  if (kind === "transaction" && row?.transactionHash === transactionHash) return true;
  const now = scope.timestamp * 1_000n;
  const paidAt = (row !== null && row.paidAt > now ? row.paidAt : now) + costMs;
  if (paidAt > now + aheadMs) {
    scope.report("too-many-reads", scope);
    return false;
  }
  const spent = { paidAt, transactionHash };
  await db
    .insert(readAllowance)
    .values({ ...key, ...spent })
    .onConflictDoUpdate(spent);
  return true;
}
