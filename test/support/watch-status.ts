import { type ChainName, chainIds } from "../../devnet/recorded-chains.ts";
import type { ChainSnapshot, OmnichainSnapshot, Snapshot } from "../../src/api/status/snapshot.ts";

type Status = {
  realtimeProjection: { projectedAt: number; worstCaseDistance: number; snapshot: Snapshot };
};

/**
 * Polls the indexing status: checks every response, and remembers each state of the omnichain index and the given
 * chains, in this order.
 */
export function watchStatus(url: string, chains: readonly ChainName[]) {
  const seen: string[] = [];
  const faults = new Set<string>();
  let cursor = 0;
  let isUp = false;
  let isOn = true;
  let last: Snapshot | undefined;

  const look = async () => {
    const response = await fetch(`${url}/api/indexing-status`).catch(() => undefined);
    if (response === undefined) return;
    if (response.status !== 200) {
      if (isUp || (await response.text()) !== '{"responseCode":"error"}') faults.add("an error again");
      return;
    }
    isUp = true;
    const { projectedAt, worstCaseDistance, snapshot } = ((await response.json()) as Status)
      .realtimeProjection;
    last = snapshot;
    for (const fault of brokenInvariants(snapshot)) faults.add(fault);
    if (snapshot.slowestChainIndexingCursor < cursor) faults.add("the cursor went back");
    cursor = snapshot.slowestChainIndexingCursor;
    if (worstCaseDistance !== projectedAt - cursor) faults.add("the distance is not that to the cursor");
    if (projectedAt < snapshot.snapshotTime) faults.add("projected before the snapshot");
    const { omnichainStatus, chains: states } = snapshot.omnichainSnapshot;
    const state = [omnichainStatus, ...chains.map((chain) => states[chainIds[chain]]?.chainStatus)].join(" ");
    if (seen.at(-1) !== state) seen.push(state);
  };
  const done = (async () => {
    while (isOn) {
      await look();
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  })();

  return {
    /** Each state once in a row, as `omnichain-backfill chain-backfill`. */
    seen,
    faults,
    last: () => last,
    /** Forgets the cursor: a restarted service begins at its last checkpoint. */
    forget() {
      cursor = 0;
      isUp = false;
    },
    /** Polls once more, then stops. */
    async stop() {
      isOn = false;
      await done;
      await look();
    },
  };
}

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
  if (chains.flatMap(knownTimes).some((time) => time > snapshotTime))
    faults.push("snapshotTime is before a known block");
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
  if (omnichainStatus !== statusOf(all)) {
    faults.push(`${omnichainStatus} does not fit the chains`);
  }
  return faults;
}

const knownTimes = (chain: ChainSnapshot): number[] =>
  Object.values({ ...chain, ...chain.config }).flatMap((one) =>
    typeof one === "object" && "timestamp" in one ? one.timestamp : [],
  );

function statusOf(chains: readonly ChainSnapshot[]): string {
  const states = chains.map(({ chainStatus }) => chainStatus);
  const started = ["chain-following", "chain-backfill"].find((one) => states.some((state) => state === one));
  const all = states.every((state) => state === "chain-queued") ? "unstarted" : "completed";
  return `omnichain-${started?.replace("chain-", "") ?? all}`;
}
