import { describe, expect, test } from "vitest";
import type { ChainSnapshot, OmnichainStatus, Snapshot } from "./snapshot.ts";
import { brokenInvariants } from "./snapshot.ts";

const at = (number: number) => ({ timestamp: 1_000_000 + number * 10, number });
const from = (start: number) => ({ configType: "indefinite" as const, startBlock: at(start) });
const range = (start: number, end: number) => ({
  configType: "definite" as const,
  startBlock: at(start),
  endBlock: at(end),
});

function snapshotOf(
  omnichainStatus: OmnichainStatus,
  cursor: number,
  chains: Record<string, ChainSnapshot>,
  snapshotTime = 2_000_000,
): Snapshot {
  return {
    strategy: "omnichain",
    slowestChainIndexingCursor: cursor,
    snapshotTime,
    omnichainSnapshot: { omnichainStatus, chains, omnichainIndexingCursor: cursor },
  };
}

const following: ChainSnapshot = {
  chainStatus: "chain-following",
  config: from(100),
  latestIndexedBlock: at(250),
  latestKnownBlock: at(251),
};
const backfill: ChainSnapshot = {
  chainStatus: "chain-backfill",
  config: from(100),
  latestIndexedBlock: at(120),
  backfillEndBlock: at(300),
};
const completed: ChainSnapshot = {
  chainStatus: "chain-completed",
  config: range(100, 200),
  latestIndexedBlock: at(200),
};
const queued: ChainSnapshot = { chainStatus: "chain-queued", config: from(900) };

describe("a valid snapshot breaks no invariant", () => {
  test.each([
    ["unstarted", snapshotOf("omnichain-unstarted", 1_008_999, { "1": queued })],
    ["backfill", snapshotOf("omnichain-backfill", 1_001_200, { "1": backfill, "2": queued })],
    ["following", snapshotOf("omnichain-following", 1_002_500, { "1": following, "2": completed })],
    ["completed", snapshotOf("omnichain-completed", 1_002_000, { "1": completed })],
    [
      "several blocks in one second",
      snapshotOf("omnichain-following", 1_002_500, {
        "1": { ...following, latestKnownBlock: { timestamp: 1_002_500, number: 253 } },
      }),
    ],
    [
      "one block as the whole range",
      snapshotOf("omnichain-completed", 1_001_000, {
        "1": { ...completed, config: range(100, 100), latestIndexedBlock: at(100) },
      }),
    ],
  ])("%s", (_, snapshot) => {
    expect(brokenInvariants(snapshot)).toEqual([]);
  });
});

describe("a broken invariant is reported", () => {
  test.each([
    [
      "chain 1: the end block is below the start block",
      snapshotOf("omnichain-unstarted", 1_000_999, {
        "1": { chainStatus: "chain-queued", config: range(100, 99) },
      }),
    ],
    [
      "chain 1: latestIndexedBlock is below the start block",
      snapshotOf("omnichain-backfill", 1_000_990, { "1": { ...backfill, latestIndexedBlock: at(99) } }),
    ],
    [
      "chain 1: latestIndexedBlock is above backfillEndBlock",
      snapshotOf("omnichain-backfill", 1_001_200, {
        "1": { ...backfill, backfillEndBlock: { timestamp: 1_001_200, number: 119 } },
      }),
    ],
    [
      "chain 1: backfillEndBlock differs from endBlock",
      snapshotOf("omnichain-backfill", 1_001_200, { "1": { ...backfill, config: range(100, 200) } }),
    ],
    [
      "chain 1: latestIndexedBlock is above latestKnownBlock",
      snapshotOf("omnichain-following", 1_002_500, { "1": { ...following, latestKnownBlock: at(249) } }),
    ],
    [
      "chain 1: a chain with an end block is following",
      snapshotOf("omnichain-following", 1_002_500, { "1": { ...following, config: range(100, 900) } }),
    ],
    [
      "chain 1: a chain without an end block is completed",
      snapshotOf("omnichain-completed", 1_002_000, { "1": { ...completed, config: from(100) } }),
    ],
    [
      "chain 1: latestIndexedBlock is above the end block",
      snapshotOf("omnichain-completed", 1_002_010, { "1": { ...completed, latestIndexedBlock: at(201) } }),
    ],
    [
      "the cursor has passed the start of a queued chain",
      snapshotOf("omnichain-backfill", 1_001_200, {
        "1": backfill,
        "2": { chainStatus: "chain-queued", config: from(120) },
      }),
    ],
    [
      "the cursor is past every backfillEndBlock",
      snapshotOf("omnichain-backfill", 1_002_000, {
        "1": { ...backfill, backfillEndBlock: at(150) },
        "2": completed,
      }),
    ],
    [
      "the cursor is not the newest indexed block",
      snapshotOf("omnichain-backfill", 1_001_199, { "1": backfill }),
    ],
    [
      "omnichain-backfill does not fit the chains",
      snapshotOf("omnichain-backfill", 1_002_500, { "1": following }),
    ],
    [
      "snapshotTime is before a known block",
      snapshotOf("omnichain-following", 1_002_500, { "1": following }, 1_002_509),
    ],
    [
      "slowestChainIndexingCursor differs from omnichainIndexingCursor",
      { ...snapshotOf("omnichain-backfill", 1_001_200, { "1": backfill }), slowestChainIndexingCursor: 1 },
    ],
    ["no chain is indexed", snapshotOf("omnichain-unstarted", 0, {})],
  ])("%s", (fault, snapshot) => {
    expect(brokenInvariants(snapshot)).toEqual([fault]);
  });
});
