import type { Change } from "../../devnet/rpc/liar.ts";
import { openChangedChain } from "../../test/support/ponder/changed-chain.ts";

const urlSets = [
  { name: "1 + 0", liars: 1, honest: 0 },
  { name: "1 + 1", liars: 1, honest: 1 },
  { name: "2 + 1", liars: 2, honest: 1 },
  { name: "archive, 0 + 1", liars: 0, honest: 1 },
];

// A liar that shows its change in receipts too contradicts nothing but the block's hash.
const of = ["logs", "logs and receipts"] as const;
const changes: readonly Change[] = [
  ...(["topics", "data", "address", "transactionHash", "swap"] as const).flatMap((kind) =>
    of.map((one) => ({ kind, rate: 0.1, of: one })),
  ),
  ...(["timestamp", "hide"] as const).map((kind) => ({ kind, rate: 0.1, of: of[1] })),
  { kind: "call", rate: 0.1, of: of[0] },
];

/**
 * Follows a chain by URLs and archives that change its content, and prints what comes of each change. Wrong rows that
 * nothing is said of must not be, nor beside an honest URL such as are said to be believed. The checks of RPC answers
 * are the product's; what is asked is what Ponder asks. Returns in how many runs there were some.
 */
export async function followChanges(seeds: number): Promise<number> {
  if (seeds === 0) return 0;
  const chain = await openChangedChain();
  let failures = 0;
  console.log(
    "| Changed | URLs (lying + honest) | Silent | Believed | Unverified | Refused | Equal |\n|---|---|---|---|---|---|---|",
  );
  for (const change of changes) {
    for (const set of urlSets) {
      if (set.liars === 0 && change.of === "logs") continue;
      const counts = { silent: 0, believed: 0, unverified: 0, refused: 0, equal: 0 };
      for (let seed = 1; seed <= seeds; seed++) counts[await chain.run(change, seed, set)] += 1;
      failures += counts.silent + (set.liars > 0 && set.honest > 0 ? counts.believed : 0);
      const name = change.of === "logs" ? change.kind : `${change.kind}, in receipts too`;
      console.log(`| ${name} | ${set.name} | ${Object.values(counts).join(" | ")} |`);
    }
  }
  await chain.close();
  return failures;
}
