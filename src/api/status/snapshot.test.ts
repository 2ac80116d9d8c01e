import { describe, expect, test } from "vitest";
import { type ChainFacts, chainSnapshot, createSnapshot, omnichainSnapshot, project } from "./snapshot.ts";

const upTo = (second: number) => ({ before: second, through: second });
const at = (number: number) => ({ timestamp: 1_000_000 + number * 10, number });

const indefinite: ChainFacts = { chainId: 1, startBlock: at(100), sync: "backfill" };
const definite: ChainFacts = { chainId: 1, startBlock: at(100), endBlock: at(200), sync: "backfill" };

describe("a chain without an end", () => {
  const config = { configType: "indefinite", startBlock: { timestamp: 1_001_000, number: 100 } };

  test("is queued before its first block", () => {
    expect(chainSnapshot(indefinite, undefined)).toEqual({ chainStatus: "chain-queued", config });
  });

  test("is queued while the indexed block is before its start", () => {
    expect(chainSnapshot({ ...indefinite, latestIndexedBlock: at(99) }, upTo(1_000_999))).toEqual({
      chainStatus: "chain-queued",
      config,
    });
  });

  test("is at its start once the other chains have passed it", () => {
    expect(chainSnapshot({ ...indefinite, backfillEndBlock: at(150) }, upTo(1_001_000))).toEqual({
      chainStatus: "chain-backfill",
      config,
      latestIndexedBlock: { timestamp: 1_001_000, number: 100 },
      backfillEndBlock: { timestamp: 1_001_500, number: 150 },
    });
  });

  test("is in backfill from the moment its start block is indexed", () => {
    expect(
      chainSnapshot(
        { ...indefinite, latestIndexedBlock: at(100), backfillEndBlock: at(150) },
        upTo(1_001_000),
      ),
    ).toEqual({
      chainStatus: "chain-backfill",
      config,
      latestIndexedBlock: { timestamp: 1_001_000, number: 100 },
      backfillEndBlock: { timestamp: 1_001_500, number: 150 },
    });
  });

  test("stays in backfill at its target until it goes live", () => {
    const facts = { ...indefinite, latestIndexedBlock: at(150), backfillEndBlock: at(150) };
    expect(chainSnapshot(facts, upTo(1_001_500)).chainStatus).toBe("chain-backfill");
    expect(chainSnapshot({ ...facts, sync: "live" }, upTo(1_001_500)).chainStatus).toBe("chain-following");
  });

  test("shows a target that is never behind the indexed block", () => {
    expect(
      chainSnapshot({ ...indefinite, latestIndexedBlock: at(160), backfillEndBlock: at(150) }, undefined),
    ).toMatchObject({ backfillEndBlock: { timestamp: 1_001_600, number: 160 } });
  });

  test("shows a head that is never behind the indexed block", () => {
    const facts: ChainFacts = { ...indefinite, latestIndexedBlock: at(160), sync: "live" };
    expect(chainSnapshot({ ...facts, latestKnownBlock: at(155) }, undefined)).toEqual({
      chainStatus: "chain-following",
      config,
      latestIndexedBlock: { timestamp: 1_001_600, number: 160 },
      latestKnownBlock: { timestamp: 1_001_600, number: 160 },
    });
  });

  test("compares blocks of the same second by number", () => {
    const facts: ChainFacts = {
      ...indefinite,
      latestIndexedBlock: { timestamp: 1_001_600, number: 160 },
      latestKnownBlock: { timestamp: 1_001_600, number: 163 },
      sync: "live",
    };
    expect(chainSnapshot(facts, undefined)).toMatchObject({
      latestKnownBlock: { timestamp: 1_001_600, number: 163 },
    });
  });
});

describe("a chain with an end", () => {
  const config = {
    configType: "definite",
    startBlock: { timestamp: 1_001_000, number: 100 },
    endBlock: { timestamp: 1_002_000, number: 200 },
  };

  test("has its end as the target of the backfill", () => {
    expect(
      chainSnapshot({ ...definite, latestIndexedBlock: at(120), backfillEndBlock: at(150) }, undefined),
    ).toEqual({
      chainStatus: "chain-backfill",
      config,
      latestIndexedBlock: { timestamp: 1_001_200, number: 120 },
      backfillEndBlock: { timestamp: 1_002_000, number: 200 },
    });
  });

  test("is not completed while its sync is done but its events wait for other chains", () => {
    expect(
      chainSnapshot({ ...definite, latestIndexedBlock: at(120), sync: "complete" }, upTo(1_002_000)),
    ).toMatchObject({ chainStatus: "chain-backfill", latestIndexedBlock: { number: 120 } });
  });

  test("is completed at its end, also if the last blocks contained no event", () => {
    expect(
      chainSnapshot({ ...definite, latestIndexedBlock: at(120), sync: "complete" }, upTo(1_002_001)),
    ).toEqual({
      chainStatus: "chain-completed",
      config,
      latestIndexedBlock: { timestamp: 1_002_000, number: 200 },
    });
  });

  test("is completed by a live block at or past its end, and shows the end", () => {
    expect(
      chainSnapshot({ ...definite, latestIndexedBlock: at(203), sync: "live" }, undefined),
    ).toMatchObject({ chainStatus: "chain-completed", latestIndexedBlock: { number: 200 } });
  });

  test("is never following", () => {
    expect(
      chainSnapshot({ ...definite, latestIndexedBlock: at(150), sync: "live" }, upTo(1_001_500)).chainStatus,
    ).toBe("chain-backfill");
  });

  test("waits for its own end block when another chain is at the same second", () => {
    const facts: ChainFacts = { ...definite, latestIndexedBlock: at(150), sync: "live" };
    expect(chainSnapshot(facts, upTo(1_002_000)).chainStatus).toBe("chain-backfill");
    expect(chainSnapshot(facts, upTo(1_002_001)).chainStatus).toBe("chain-completed");
  });
});

const chain = (chainId: number, facts: Partial<ChainFacts> = {}): ChainFacts => ({
  chainId,
  startBlock: at(100),
  sync: "backfill",
  ...facts,
});
const completed: Partial<ChainFacts> = { endBlock: at(200), latestIndexedBlock: at(200), sync: "complete" };
const following: Partial<ChainFacts> = { latestIndexedBlock: at(250), sync: "live" };
const backfilling: Partial<ChainFacts> = { latestIndexedBlock: at(120), backfillEndBlock: at(300) };
const later: Partial<ChainFacts> = { startBlock: at(900) };

describe("the status of all chains", () => {
  test.each([
    ["omnichain-unstarted", [chain(1), chain(2, later)]],
    ["omnichain-backfill", [chain(1, backfilling), chain(2, later)]],
    ["omnichain-backfill", [chain(1, backfilling), chain(2, completed)]],
    ["omnichain-following", [chain(1, following), chain(2, later)]],
    ["omnichain-following", [chain(1, following), chain(2, completed)]],
    ["omnichain-following", [chain(1, following), chain(2, backfilling)]],
    ["omnichain-completed", [chain(1, completed), chain(2, completed)]],
    [undefined, [chain(1, completed), chain(2, later)]],
  ] as const)("is %s", (status, facts) => {
    expect(omnichainSnapshot(facts, undefined)?.omnichainStatus).toBe(status);
  });
});

describe("the cursor", () => {
  test("stands one second before the earliest start while nothing is indexed", () => {
    expect(omnichainSnapshot([chain(1, later), chain(2)], undefined)).toEqual({
      omnichainStatus: "omnichain-unstarted",
      chains: {
        "1": {
          chainStatus: "chain-queued",
          config: { configType: "indefinite", startBlock: { timestamp: 1_009_000, number: 900 } },
        },
        "2": {
          chainStatus: "chain-queued",
          config: { configType: "indefinite", startBlock: { timestamp: 1_001_000, number: 100 } },
        },
      },
      omnichainIndexingCursor: 1_000_999,
    });
  });

  test("is the newest indexed block of all chains", () => {
    const facts = [chain(1, backfilling), chain(2, { ...backfilling, latestIndexedBlock: at(130) })];
    expect(omnichainSnapshot(facts, undefined)?.omnichainIndexingCursor).toBe(1_001_300);
  });

  test("starts a queued chain that it has passed", () => {
    const facts = [chain(1, { ...backfilling, latestIndexedBlock: at(950) }), chain(2, later)];
    expect(omnichainSnapshot(facts, undefined)?.chains["2"]).toEqual({
      chainStatus: "chain-backfill",
      config: { configType: "indefinite", startBlock: { timestamp: 1_009_000, number: 900 } },
      latestIndexedBlock: { timestamp: 1_009_000, number: 900 },
      backfillEndBlock: { timestamp: 1_009_000, number: 900 },
    });
  });

  test("is not moved by a time without a block", () => {
    expect(omnichainSnapshot([chain(1, backfilling)], 1_001_999)?.omnichainIndexingCursor).toBe(1_001_200);
  });
});

describe("a snapshot", () => {
  const config = {
    configType: "indefinite" as const,
    startBlock: { timestamp: 1489165544, number: 3327417 },
  };
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

  test("is dated by the clock", () => {
    expect(createSnapshot(omnichain, 1768400407)).toEqual({
      strategy: "omnichain",
      slowestChainIndexingCursor: 1768400387,
      snapshotTime: 1768400407,
      omnichainSnapshot: omnichain,
    });
  });

  test("is dated by the newest known block when the clock lags behind it", () => {
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
});

describe("a projection", () => {
  const snapshot = { snapshotTime: 1768400407, slowestChainIndexingCursor: 1768400395 };

  test("measures from now to the cursor", () => {
    expect(project(snapshot, 1768400411)).toEqual({ projectedAt: 1768400411, worstCaseDistance: 16 });
  });

  test("is never before the snapshot", () => {
    expect(project(snapshot, 1768400000)).toEqual({ projectedAt: 1768400407, worstCaseDistance: 12 });
  });
});
