import { type ChainName, chainIds } from "../../devnet/recorded-chains.ts";
import type { Snapshot } from "../../src/api/status/snapshot.ts";
import { brokenInvariants } from "../../src/api/status/snapshot.ts";

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
