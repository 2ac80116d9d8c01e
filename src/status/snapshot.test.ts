import { describe, expect, test } from "vitest";
import {
  backfilledBlocks,
  buildSnapshot,
  type ChainFacts,
  computeDistances,
  findSlowest,
  project,
} from "./snapshot.ts";

const at = (number: number) => ({ timestamp: 1_000_000 + number * 10, number });

type Given = { at?: number; target?: number; known?: number; sync?: ChainFacts["sync"] };

// The state of a chain from block 100 on, its last indexed block and its target or head. `second`: of the newest block
// of another chain.
function stateOf({ at: indexed, target, known, sync = "backfill" }: Given, second?: number, end?: number) {
  const blockOf = (number: number | undefined) => (number === undefined ? undefined : at(number));
  const facts: ChainFacts = {
    chainId: 1,
    startBlock: at(100),
    endBlock: blockOf(end),
    latestIndexedBlock: blockOf(indexed),
    backfillEndBlock: blockOf(target),
    latestKnownBlock: blockOf(known),
    sync,
  };
  const latestIndexedBlock = { number: 1, timestamp: 1_000_000 + (second ?? 0) };
  const other: ChainFacts = { ...chain(2), startBlock: latestIndexedBlock, latestIndexedBlock };
  const snapshot = buildSnapshot(second === undefined ? [facts] : [facts, other], 0)!;
  const { chainStatus, config, ...blocks } = snapshot.omnichainSnapshot.chains["1"]!;
  const [startBlock, endBlock] = [at(100), blockOf(end)];
  const open = { configType: "indefinite", startBlock };
  expect(config).toEqual(endBlock ? { configType: "definite", startBlock, endBlock } : open);
  for (const block of Object.values(blocks)) expect(block).toEqual(at(block.number));
  return [chainStatus.replace("chain-", ""), ...Object.values(blocks).map(({ number }) => number)].join(" ");
}

test.each<[string, Given, number | undefined, string]>([
  ["queued before its first block", {}, undefined, "queued"],
  ["queued while the others are before its start", {}, 999, "queued"],
  ["at its start once the others have passed it", { target: 150 }, 1_000, "backfill 100 150"],
  ["in backfill once its start is indexed", { at: 100, target: 150 }, 1_000, "backfill 100 150"],
  ["in backfill at its target", { at: 150, target: 150 }, 1_500, "backfill 150 150"],
  ["followed once it goes live", { at: 150, target: 150, sync: "live" }, 1_500, "following 150 150"],
  ["never ahead of its target", { at: 160, target: 150 }, undefined, "backfill 160 160"],
  ["never ahead of its head", { at: 160, known: 155, sync: "live" }, undefined, "following 160 160"],
])("a chain without an end is %s", (_, given, second, state) => {
  expect(stateOf(given, second)).toBe(state);
});

test.each<[string, Given, number | undefined, string]>([
  ["headed for its end", { at: 120, target: 150 }, undefined, "backfill 120 200"],
  ["not completed while others lag behind", { at: 120, sync: "complete" }, 2_000, "backfill 120 200"],
  ["completed without events in its last blocks", { at: 120, sync: "complete" }, 2_001, "completed 200"],
  ["completed by a live block past its end", { at: 203, sync: "live" }, undefined, "completed 200"],
  ["never following", { at: 150, sync: "live" }, 1_500, "backfill 150 200"],
  ["not completed by another at its end's second", { at: 150, sync: "live" }, 2_000, "backfill 150 200"],
  ["completed once all have passed its end", { at: 150, sync: "live" }, 2_001, "completed 200"],
])("a chain with an end is %s", (_, given, second, state) => {
  expect(stateOf(given, second, 200)).toBe(state);
});

test("blocks of the same second are compared by number", () => {
  const [latestIndexedBlock, latestKnownBlock] = [at(160), { ...at(160), number: 163 }];
  const facts: ChainFacts = {
    chainId: 1,
    startBlock: at(100),
    latestIndexedBlock,
    latestKnownBlock,
    sync: "live",
  };
  expect(buildSnapshot([facts], 0)?.omnichainSnapshot.chains["1"]).toMatchObject({ latestKnownBlock });
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

const snapshotAt = (facts: readonly ChainFacts[]) => buildSnapshot(facts, 0)?.omnichainSnapshot;

test.each([
  ["omnichain-unstarted", [chain(1), chain(2, later)]],
  ["omnichain-backfill", [chain(1, backfilling), chain(2, later)]],
  ["omnichain-backfill", [chain(1, backfilling), chain(2, completed)]],
  ["omnichain-following", [chain(1, following), chain(2, later)]],
  ["omnichain-following", [chain(1, following), chain(2, completed)]],
  ["omnichain-following", [chain(1, following), chain(2, backfilling)]],
  ["omnichain-completed", [chain(1, completed), chain(2, completed)]],
  [undefined, [chain(1, completed), chain(2, later)]],
] as const)("the status of all chains is %s", (status, facts) => {
  expect(snapshotAt(facts)?.omnichainStatus).toBe(status);
});

test("a chain that pauses is the slowest, and each chain has its own distance", () => {
  const paused = { ...following, latestIndexedBlock: at(150) };
  const snapshot = buildSnapshot([chain(1, following), chain(2, paused), chain(3, completed)], 0)!;
  // Block 150 is 1,000 seconds before block 250.
  expect(findSlowest(snapshot, 999)).toEqual({ time: at(150).timestamp, chainId: "2" });
  expect(findSlowest(snapshot, 1_000)).toEqual({ time: snapshot.slowestChainIndexingCursor });
  expect(computeDistances(snapshot, at(260).timestamp)).toEqual({ "1": 100, "2": 1_100 });
});

describe("the cursor", () => {
  const open = (number: number) => ({ configType: "indefinite", startBlock: at(number) });

  test("stands one second before the earliest start while nothing is indexed", () => {
    expect(snapshotAt([chain(1, later), chain(2)])).toEqual({
      omnichainStatus: "omnichain-unstarted",
      chains: {
        "1": { chainStatus: "chain-queued", config: open(900) },
        "2": { chainStatus: "chain-queued", config: open(100) },
      },
      omnichainIndexingCursor: 1_000_999,
    });
  });

  test("is the newest indexed block of all chains", () => {
    const facts = [chain(1, backfilling), chain(2, { ...backfilling, latestIndexedBlock: at(130) })];
    expect(snapshotAt(facts)?.omnichainIndexingCursor).toBe(1_001_300);
  });

  test("starts chains without events, and completes them, where the backfill has passed them", () => {
    const quiet = [chain(1, { sync: "live" }), chain(2, { sync: "live", endBlock: at(200) })];
    expect(buildSnapshot(quiet, 0, at(200).timestamp)?.omnichainSnapshot).toEqual({
      omnichainStatus: "omnichain-following",
      chains: {
        "1": {
          chainStatus: "chain-following",
          config: open(100),
          latestIndexedBlock: at(100),
          latestKnownBlock: at(100),
        },
        "2": {
          chainStatus: "chain-backfill",
          config: { configType: "definite", startBlock: at(100), endBlock: at(200) },
          latestIndexedBlock: at(100),
          backfillEndBlock: at(200),
        },
      },
      omnichainIndexingCursor: at(100).timestamp,
    });
    const past = buildSnapshot(quiet, 0, at(200).timestamp + 1)?.omnichainSnapshot;
    expect(past?.chains["2"]).toMatchObject({ chainStatus: "chain-completed", latestIndexedBlock: at(200) });
  });

  test("starts a queued chain that it has passed", () => {
    const facts = [chain(1, { ...backfilling, latestIndexedBlock: at(950) }), chain(2, later)];
    expect(snapshotAt(facts)?.chains["2"]).toEqual({
      chainStatus: "chain-backfill",
      config: open(900),
      latestIndexedBlock: at(900),
      backfillEndBlock: at(900),
    });
  });
});

test.each<[string, ChainFacts[], number, number]>([
  ["the clock", [chain(1, following)], 1_768_400_407, 1_768_400_407],
  ["the newest known block", [chain(1, { ...following, latestKnownBlock: at(251) })], 1, 1_002_510],
  ["a target of the backfill", [chain(1, backfilling)], 1, 1_003_000],
  ["a start or an end", [chain(1, backfilling), chain(2, { ...later, endBlock: at(990) })], 1, 1_009_900],
])("a snapshot is dated by %s, whichever is the latest", (_, facts, now, time) => {
  const { omnichainSnapshot, ...dated } = buildSnapshot(facts, now)!;
  const slowestChainIndexingCursor = omnichainSnapshot.omnichainIndexingCursor;
  expect(dated).toEqual({ strategy: "omnichain", slowestChainIndexingCursor, snapshotTime: time });
});

test("a projection measures from now, or the snapshot where that is later, to the cursor", () => {
  const snapshot = { snapshotTime: 1768400407, slowestChainIndexingCursor: 1768400395 };
  expect(project(snapshot, 1768400411)).toEqual({ projectedAt: 1768400411, worstCaseDistance: 16 });
  expect(project(snapshot, 1768400000)).toEqual({ projectedAt: 1768400407, worstCaseDistance: 12 });
});

test("blocks of a backfill are those of chains whose turn has come", () => {
  const ofBackfill = { sync: "backfill", startBlock: at(100) } as const;
  const facts: ChainFacts[] = [
    { ...ofBackfill, chainId: 1, latestIndexedBlock: at(150), backfillEndBlock: at(300) },
    { ...ofBackfill, chainId: 2, startBlock: at(9_000), backfillEndBlock: at(9_999) },
    { chainId: 3, sync: "live", startBlock: at(0), latestIndexedBlock: at(90), latestKnownBlock: at(100) },
  ];
  const chains = buildSnapshot(facts, 0)?.omnichainSnapshot.chains ?? {};
  expect(chains["2"]?.chainStatus).toBe("chain-queued");
  expect(backfilledBlocks(chains)).toEqual({ done: 140, all: 290 });
});
