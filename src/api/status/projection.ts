import type { Snapshot } from "./snapshot.ts";

/** A snapshot seen from `projectedAt` on: no progress since it was taken and a new block on every chain just now. */
export type Projection = { projectedAt: number; worstCaseDistance: number };

/** Projects a snapshot to `now`; both times and the distance are in (Unix) seconds. */
export function project(
  snapshot: Pick<Snapshot, "snapshotTime" | "slowestChainIndexingCursor">,
  now: number,
): Projection {
  const projectedAt = Math.max(now, snapshot.snapshotTime);
  return { projectedAt, worstCaseDistance: projectedAt - snapshot.slowestChainIndexingCursor };
}
