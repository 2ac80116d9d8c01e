import { type Log, seeOperations } from "../log/json-log.ts";

/** Receives, in words, what this configuration cannot prove of a chain. */
export type Believe = (what: readonly string[], level?: "info" | "warn") => void;

/** Adds what is taken on trust to `believed`, and logs what is new. */
export const createBelieve =
  ({ chain, log, believed }: { chain: string; log: Log; believed: Set<string> }): Believe =>
  (what, level = "warn") => {
    const fresh = what.filter((one) => !believed.has(one));
    if (fresh.length === 0) return;
    for (const one of fresh) believed.add(one);
    const section = seeOperations("When a node leaves out logs");
    log(level, `Accepted without proof: ${fresh.join("; ")}`, { chain, section });
  };

/**
 * What this number of RPC URLs cannot prove if a `share` (0 to 1) of the log ranges is compared, and if logs need
 * proofs.
 */
export function believedOfUrls(urls: number, share: number, needsProofs = false): string[] {
  const logs = "logs of the backfill";
  const beyond = share === 0 ? logs : `${logs} beyond a sample of ${Number((share * 100).toFixed(2))} %`;
  const ofRanges = share < 1 ? [beyond] : urls === 1 ? [`that ${logs} lack no block`] : [];
  const ofBlocks =
    urls === 1 && (needsProofs || share === 1) ? ["which blocks of the backfill are the chain's"] : [];
  const ofCalls = urls === 1 || share === 0 ? ["what contracts return to handlers"] : [];
  return [...ofRanges, ...ofBlocks, ...ofCalls];
}
