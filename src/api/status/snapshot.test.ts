import { expect, test } from "vitest";
import { createSnapshot, latestIndexedBlock } from "./snapshot.ts";

const config = { configType: "indefinite" as const, startBlock: { timestamp: 1489165544, number: 3327417 } };
const omnichain = {
  omnichainStatus: "omnichain-following" as const,
  chains: {
    "1": {
      chainStatus: "chain-following" as const,
      config,
      latestIndexedBlock: { timestamp: 1768400387, number: 24231905 },
      latestKnownBlock: { timestamp: 1768400399, number: 24231906 },
    },
    "10": {
      chainStatus: "chain-queued" as const,
      config: { configType: "indefinite" as const, startBlock: { timestamp: 1768400390, number: 9 } },
    },
  },
  omnichainIndexingCursor: 1768400387,
};

test("is stamped with the clock", () => {
  expect(createSnapshot(omnichain, 1768400407)).toEqual({
    strategy: "omnichain",
    slowestChainIndexingCursor: 1768400387,
    snapshotTime: 1768400407,
    omnichainSnapshot: omnichain,
  });
});

test("is stamped with the newest known block when the clock lags behind it", () => {
  expect(createSnapshot(omnichain, 1768400000).snapshotTime).toBe(1768400399);
});

test("counts ends and backfill targets as known blocks", () => {
  const target = {
    ...omnichain,
    chains: {
      "1": {
        chainStatus: "chain-backfill" as const,
        config,
        latestIndexedBlock: { timestamp: 1768400387, number: 24231905 },
        backfillEndBlock: { timestamp: 1768400500, number: 24231915 },
      },
      "10": {
        chainStatus: "chain-queued" as const,
        config: {
          configType: "definite" as const,
          startBlock: { timestamp: 1768400390, number: 9 },
          endBlock: { timestamp: 1768400600, number: 99 },
        },
      },
    },
  };
  expect(createSnapshot(target, 1).snapshotTime).toBe(1768400600);
});

test("tells the latest indexed block of a chain that has started", () => {
  const snapshot = createSnapshot(omnichain, 1768400407);
  expect(latestIndexedBlock(snapshot, 1)).toEqual({ timestamp: 1768400387, number: 24231905 });
  expect(latestIndexedBlock(snapshot, 10)).toBeUndefined();
  expect(latestIndexedBlock(snapshot, 8453)).toBeUndefined();
});
