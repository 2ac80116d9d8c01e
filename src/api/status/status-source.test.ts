import { expect, test } from "vitest";
import type { Snapshot } from "./snapshot.ts";
import { createStatusSource, type Reading } from "./status-source.ts";

function reading(cursor: number, run = "first"): Reading {
  const snapshot: Snapshot = {
    strategy: "omnichain",
    slowestChainIndexingCursor: cursor,
    snapshotTime: 9_000,
    omnichainSnapshot: {
      omnichainStatus: "omnichain-following",
      chains: {
        "1": {
          chainStatus: "chain-following",
          config: { configType: "indefinite", startBlock: { timestamp: 1_000, number: 1 } },
          latestIndexedBlock: { timestamp: cursor, number: cursor },
          latestKnownBlock: { timestamp: cursor, number: cursor },
        },
      },
      omnichainIndexingCursor: cursor,
    },
  };
  return { run, snapshot };
}

function sourceOf(answers: (Reading | undefined | Error)[], save?: (reading: Reading) => Promise<void>) {
  const logged: string[] = [];
  const source = createStatusSource({
    read: async () => {
      const answer = answers.shift();
      if (answer instanceof Error) throw answer;
      return answer;
    },
    save,
    log: (message) => logged.push(message),
  });
  const cursor = () => source.current()?.snapshot.slowestChainIndexingCursor;
  return { source, logged, cursor };
}

test("has nothing until a first reading succeeds", async () => {
  const { source } = sourceOf([undefined, reading(2_000)]);
  expect(source.current()).toBeUndefined();
  await source.refresh();
  expect(source.current()).toBeUndefined();
  await source.refresh();
  expect(source.current()?.snapshot).toEqual(reading(2_000).snapshot);
});

test("holds the JSON text of the snapshot", async () => {
  const { source } = sourceOf([reading(2_000)]);
  await source.refresh();
  expect(source.current()?.json).toBe(
    '{"strategy":"omnichain","slowestChainIndexingCursor":2000,"snapshotTime":9000,"omnichainSnapshot":{"omnichainStatus":"omnichain-following","chains":{"1":{"chainStatus":"chain-following","config":{"configType":"indefinite","startBlock":{"timestamp":1000,"number":1}},"latestIndexedBlock":{"timestamp":2000,"number":2000},"latestKnownBlock":{"timestamp":2000,"number":2000}}},"omnichainIndexingCursor":2000}}',
  );
});

test("keeps the snapshot when a reading fails, and logs the reason once", async () => {
  const { source, logged, cursor } = sourceOf([
    reading(2_000),
    new Error("connection lost"),
    new Error("connection lost"),
    undefined,
    new Error("connection lost"),
  ]);
  for (let i = 0; i < 5; i++) await source.refresh();
  expect(cursor()).toBe(2_000);
  expect(logged).toEqual([
    "Could not read the indexing status: connection lost",
    "Could not read the indexing status: connection lost",
  ]);
});

test("drops a snapshot that breaks an invariant", async () => {
  const broken = reading(3_000);
  broken.snapshot.snapshotTime = 2_999;
  const { source, logged, cursor } = sourceOf([reading(2_000), broken]);
  await source.refresh();
  await source.refresh();
  expect(cursor()).toBe(2_000);
  expect(logged).toEqual(["Dropped an indexing status: snapshotTime is before a known block."]);
});

test("never moves the cursor of one run back", async () => {
  const { source, logged, cursor } = sourceOf([reading(2_000), reading(1_990), reading(2_010)]);
  await source.refresh();
  await source.refresh();
  expect(cursor()).toBe(2_000);
  await source.refresh();
  expect(cursor()).toBe(2_010);
  expect(logged).toEqual([]);
});

test("follows a restarted indexing process back to where it resumes", async () => {
  const { source, cursor } = sourceOf([reading(2_000), reading(1_500, "second")]);
  await source.refresh();
  await source.refresh();
  expect(cursor()).toBe(1_500);
});

test("saves what comes into force, and nothing else", async () => {
  const saved: number[] = [];
  const { source } = sourceOf([reading(2_000), reading(1_990), reading(2_010)], async ({ snapshot }) => {
    saved.push(snapshot.slowestChainIndexingCursor);
  });
  for (let i = 0; i < 3; i++) await source.refresh();
  expect(saved).toEqual([2_000, 2_010]);
});

test("serves a snapshot that cannot be saved", async () => {
  const { source, logged, cursor } = sourceOf([reading(2_000)], async () => {
    throw new Error("read-only");
  });
  await source.refresh();
  expect(cursor()).toBe(2_000);
  expect(logged).toEqual(["Could not save the indexing status: read-only"]);
});

test("refreshes by itself until it is stopped", async () => {
  let reads = 0;
  const source = createStatusSource({
    read: async () => {
      reads += 1;
      return undefined;
    },
    log: () => undefined,
  });
  source.start(1);
  while (reads < 3) await new Promise((resolve) => setTimeout(resolve, 1));
  source.stop();
  const atStop = reads;
  await new Promise((resolve) => setTimeout(resolve, 30));
  expect(reads).toBeLessThanOrEqual(atStop + 1);
});
