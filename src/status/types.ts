import { z } from "zod/v4";
import type { BlockRef, Head } from "../ponder/checkpoints.ts";

// What is known of the index at a moment: how far each chain is, and its last blocks.

const seconds = z.int().describe("Unix seconds");
const block = z.strictObject({ timestamp: seconds, number: z.int().min(0) });

const indefinite = z.strictObject({ configType: z.literal("indefinite"), startBlock: block });
const definite = z.strictObject({ configType: z.literal("definite"), startBlock: block, endBlock: block });
const either = z.union([indefinite, definite]);

const chainSchema = z.union([
  z.strictObject({ chainStatus: z.literal("chain-queued"), config: either }),
  z.strictObject({
    chainStatus: z.literal("chain-backfill"),
    config: either,
    latestIndexedBlock: block,
    backfillEndBlock: block,
  }),
  z.strictObject({
    chainStatus: z.literal("chain-following"),
    config: indefinite,
    latestIndexedBlock: block,
    latestKnownBlock: block,
  }),
  z.strictObject({ chainStatus: z.literal("chain-completed"), config: definite, latestIndexedBlock: block }),
]);

/** Schema of a snapshot, as its JSON text is sent and saved. */
export const snapshotSchema = z.strictObject({
  strategy: z.literal("omnichain"),
  slowestChainIndexingCursor: seconds,
  snapshotTime: seconds,
  omnichainSnapshot: z.strictObject({
    omnichainStatus: z.enum([
      "omnichain-unstarted",
      "omnichain-backfill",
      "omnichain-following",
      "omnichain-completed",
    ]),
    chains: z.record(z.string(), chainSchema).describe("By chain id"),
    omnichainIndexingCursor: seconds,
  }),
});

/** Indexing status of all chains at `snapshotTime`; all times are Unix seconds. */
export type Snapshot = z.output<typeof snapshotSchema>;
/** Status of all chains together; `chains` is keyed by decimal chain ids. */
export type OmnichainSnapshot = Snapshot["omnichainSnapshot"];
/** Status of one chain; its members depend on its `chainStatus`. */
export type ChainSnapshot = z.output<typeof chainSchema>;

/** The last indexed block of a chain; undefined before the first. */
export const findIndexedBlock = (chain: ChainSnapshot | undefined): BlockRef | undefined =>
  chain === undefined || chain.chainStatus === "chain-queued" ? undefined : chain.latestIndexedBlock;

/** Whether the backfill of all chains is over: they are followed, or complete. */
export function isBackfilled({ omnichainSnapshot: { omnichainStatus } }: Snapshot): boolean {
  return omnichainStatus === "omnichain-following" || omnichainStatus === "omnichain-completed";
}

/** The last indexed blocks by chain id, of those whose hashes are stored. */
export type HeadBlocks = Readonly<Record<string, Head>>;

/** Since when (Unix seconds) the index cannot be relied on, and why, as a sentence. */
export type Staleness = { since: number; reason: string };

/** The newest snapshot and its heads (`headsOf`, `blocks`); `stale` if it is too old, or contradicted by the chain. */
export type CurrentStatus = {
  snapshot: Snapshot;
  heads?: string;
  blocks?: HeadBlocks | undefined;
  stale?: Staleness | undefined;
};

/** The hash of a chain's last indexed block, if it is the block whose hash is known. */
export const headHash = (known: Head | undefined, { number, timestamp }: BlockRef): string | undefined =>
  known?.number === number && known.timestamp === timestamp ? known.hash : undefined;

/** A block of a chain by its number. */
export type WantedBlock = { chainId: string; number: number };

/** How many blocks a status lacks up to a block. */
export function missingBlocks({ chainId, number }: WantedBlock, status: CurrentStatus | undefined): number {
  const indexed = findIndexedBlock(status?.snapshot.omnichainSnapshot.chains[chainId]);
  return indexed === undefined ? Number.POSITIVE_INFINITY : number - indexed.number;
}
