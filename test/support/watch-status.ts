import { type ChainName, chainIds } from "../../devnet/recorded-chains.ts";
import type { ChainSnapshot, OmnichainSnapshot, Snapshot } from "../../src/status/types.ts";

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

/** The faults of the rules that do not hold. */
const broken = (...rules: [holds: boolean, fault: string][]): string[] =>
  rules.flatMap(([holds, fault]) => (holds ? [] : [fault]));

function chainFaults(chain: ChainSnapshot): string[] {
  const { config } = chain;
  const start = config.startBlock.number;
  const end = config.configType === "definite" ? config.endBlock.number : undefined;
  const range = broken([end === undefined || start <= end, "the end block is below the start block"]);
  if (chain.chainStatus === "chain-queued") return range;
  const latest = chain.latestIndexedBlock.number;
  range.push(...broken([start <= latest, "latestIndexedBlock is below the start block"]));
  if (chain.chainStatus === "chain-backfill") {
    const target = chain.backfillEndBlock.number;
    return [
      ...range,
      ...broken(
        [latest <= target, "latestIndexedBlock is above backfillEndBlock"],
        [end === undefined || target === end, "backfillEndBlock differs from endBlock"],
      ),
    ];
  }
  const isFollowing = chain.chainStatus === "chain-following";
  const max = isFollowing ? chain.latestKnownBlock.number : (end ?? latest);
  return [
    ...range,
    ...broken(
      [isFollowing === (end === undefined), "only a chain with an end block completes, any other follows"],
      [latest <= max, "latestIndexedBlock is above the newest block that it can be"],
    ),
  ];
}

function omnichainFaults({ omnichainStatus, omnichainIndexingCursor, chains }: OmnichainSnapshot): string[] {
  const all = Object.values(chains);
  const cursor = omnichainIndexingCursor;
  const indexed = all.flatMap((chain) =>
    chain.chainStatus === "chain-queued" ? [] : [chain.latestIndexedBlock.timestamp],
  );
  const starts = all.flatMap((chain) =>
    chain.chainStatus === "chain-queued" ? [chain.config.startBlock.timestamp] : [],
  );
  const targets = all.flatMap((chain) =>
    chain.chainStatus === "chain-backfill" ? [chain.backfillEndBlock.timestamp] : [],
  );
  return broken(
    [cursor < Math.min(...starts), "the cursor has passed the start of a queued chain"],
    [targets.length === 0 || cursor <= Math.max(...targets), "the cursor is past every backfillEndBlock"],
    [indexed.length === 0 || cursor === Math.max(...indexed), "the cursor is not the newest indexed block"],
    [omnichainStatus === statusOf(all), `${omnichainStatus} does not fit the chains`],
  );
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
