import type { ChainSnapshot } from "./snapshot.ts";
import {
  highestKnownTimestamp,
  type OmnichainSnapshot,
  omnichainStatusOf,
  type Snapshot,
} from "./snapshot.ts";

/**
 * What is wrong with a snapshot, one sentence for each broken rule; empty if it is valid. Blocks are compared by number
 * alone, since fast chains produce several blocks in one second.
 */
export function brokenInvariants(snapshot: Snapshot): string[] {
  const { omnichainSnapshot, slowestChainIndexingCursor, snapshotTime } = snapshot;
  const chains = Object.values(omnichainSnapshot.chains);
  if (chains.length === 0) return ["no chain is indexed"];

  const faults = Object.entries(omnichainSnapshot.chains).flatMap(([chainId, chain]) =>
    chainFaults(chain).map((fault) => `chain ${chainId}: ${fault}`),
  );
  faults.push(...omnichainFaults(omnichainSnapshot));
  if (slowestChainIndexingCursor !== omnichainSnapshot.omnichainIndexingCursor) {
    faults.push("slowestChainIndexingCursor differs from omnichainIndexingCursor");
  }
  if (snapshotTime < highestKnownTimestamp(chains)) faults.push("snapshotTime is before a known block");
  return faults;
}

function chainFaults(chain: ChainSnapshot): string[] {
  const { config } = chain;
  const start = config.startBlock.number;
  const end = config.configType === "definite" ? config.endBlock.number : undefined;
  const faults: string[] = [];
  const require = (holds: boolean, fault: string) => {
    if (!holds) faults.push(fault);
  };

  require(end === undefined || start <= end, "the end block is below the start block");
  if (chain.chainStatus === "chain-queued") return faults;

  const latest = chain.latestIndexedBlock.number;
  require(start <= latest, "latestIndexedBlock is below the start block");
  switch (chain.chainStatus) {
    case "chain-backfill":
      require(latest <= chain.backfillEndBlock.number, "latestIndexedBlock is above backfillEndBlock");
      require(end === undefined ||
        chain.backfillEndBlock.number === end, "backfillEndBlock differs from endBlock");
      break;
    case "chain-following":
      require(end === undefined, "a chain with an end block is following");
      require(latest <= chain.latestKnownBlock.number, "latestIndexedBlock is above latestKnownBlock");
      break;
    case "chain-completed":
      require(end !== undefined, "a chain without an end block is completed");
      require(end === undefined || latest <= end, "latestIndexedBlock is above the end block");
  }
  return faults;
}

function omnichainFaults({ omnichainStatus, omnichainIndexingCursor, chains }: OmnichainSnapshot): string[] {
  const all = Object.values(chains);
  const indexed = all.flatMap((chain) =>
    chain.chainStatus === "chain-queued" ? [] : [chain.latestIndexedBlock.timestamp],
  );
  const queued = all.filter((chain) => chain.chainStatus === "chain-queued");
  const targets = all.flatMap((chain) =>
    chain.chainStatus === "chain-backfill" ? [chain.backfillEndBlock.timestamp] : [],
  );
  const faults: string[] = [];

  if (queued.some((chain) => omnichainIndexingCursor >= chain.config.startBlock.timestamp)) {
    faults.push("the cursor has passed the start of a queued chain");
  }
  if (targets.length > 0 && omnichainIndexingCursor > Math.max(...targets)) {
    faults.push("the cursor is past every backfillEndBlock");
  }
  if (indexed.length > 0 && omnichainIndexingCursor !== Math.max(...indexed)) {
    faults.push("the cursor is not the newest indexed block");
  }
  if (omnichainStatus !== omnichainStatusOf(all)) {
    faults.push(`${omnichainStatus} does not fit the chains`);
  }
  return faults;
}
