import { describe, expect, test } from "vitest";
import { countLogs, estimate, type Facts, priceRequests, providers } from "./estimate.ts";

// Worked out by hand from published counts and prices, and from docs/performance.md and docs/archive.md.

const facts: Facts = {
  ...{ namespace: "mainnet", plugins: ["subgraph"], isSubgraphCompatible: true, needsProofs: false },
  ...{ blocks: 20_700_000, hasLabelsFile: true, processor: 1 },
};
const estimateOf = (more: Partial<Facts> = {}) => {
  const all = { ...facts, ...more };
  return estimate(all, countLogs(all)!);
};
const close = ([low, high]: readonly [number, number], digits = 2) => [
  expect.closeTo(low, digits),
  expect.closeTo(high, digits),
];

describe("logs", () => {
  test.each<[Partial<Facts>, [number, number] | undefined]>([
    [{}, [23_856_957, 23_856_957]],
    [{ plugins: ["subgraph", "registrars"] }, [23_856_957, 23_856_957]],
    // 3 * 3.67 M more at least, 273.4 M in all at most.
    [{ plugins: ["subgraph", "basenames"] }, [34_866_957, 273_400_000]],
    [{ plugins: ["basenames", "lineanames"] }, [11_010_000, 249_543_043]],
    [{ namespace: "sepolia", plugins: ["subgraph", "basenames"] }, [1_530_000, 1_530_000]],
    [{ namespace: "ens-test-env" }, undefined],
  ])("of %o", (more, logs) => expect(countLogs({ ...facts, ...more })?.logs).toEqual(logs));
});

// 3.4 M blocks and 30,000 ranges of logs.
test.each([
  ["Alchemy", { units: 69.8e6, dollars: 31.41 }],
  ["Infura", { units: 279.65e6, days: 18.64 }],
  ["QuickNode", { units: 68.6e6, dollars: 49 }],
  ["dRPC", { units: 205.8e6, dollars: 61.74 }],
  ["Google", { units: 4.9e6, days: 4.9 }],
])("a backfill at %s", (name, expected) => {
  const provider = providers.find((one) => one.name === name)!;
  const price = priceRequests(provider, { logs: 30_000, blocks: 3_400_000 });
  const rounded = Object.entries(price).map(([key, value]) => [key, Number(value.toFixed(2))]);
  expect(Object.fromEntries(rounded)).toEqual(expected);
});

test("mainnet's subgraph where nothing was measured", () => {
  const { blocks, requests, hours, disk, receivedGigabytes, memoryGigabytes } = estimateOf();
  // 23,856,957 / 7 and / 2.4.
  expect(blocks).toEqual(close([3_408_136.7, 9_940_398.8], 0));
  // 20.7 M / 10,000, and twice 20.7 M / 2,000.
  expect(requests.logs).toEqual([2_070, 20_700]);
  expect(requests.blocks).toEqual(blocks);
  // 23,856,957 / 11,700 = 2,039 s, and the archive at 12.5 MB/s.
  expect(hours.fetched).toEqual(close([0.566 + 0.047, 0.566 + 0.126]));
  // And 23,856,957 / 9,100 and / 490 seconds.
  expect(hours.recorded).toEqual(close([0.566 + 0.728, 0.566 + 13.524]));
  // All requests at 500 and at 20 a second.
  expect(hours.rpc).toEqual(close([1.895, 138.349]));
  expect(disk.index).toEqual(close([18.08, 18.08]));
  // 757 bytes a log, and 1,600 for each header beyond one in 25 logs.
  expect(disk.cache).toEqual(close([21.99, 32.44]));
  // 88 bytes a log, and 546 for each header beyond one in 7 logs.
  expect(disk.archive).toEqual(close([2.1, 5.67]));
  expect(disk.labels).toEqual([4, 4]);
  expect(receivedGigabytes).toEqual(close([340.8, 3_976.2], 1));
  expect(memoryGigabytes).toBe(1.1);
});

test("measurements take the place of what is assumed", () => {
  expect(estimateOf({ processor: 0.5 }).hours.recorded[0]).toBeCloseTo(1.133 + 0.728, 2);
  // Twice 40.1 GB at 5 MB/s.
  expect(estimateOf({ diskBytesPerSecond: 5e6 }).hours.fetched[0]).toBeCloseTo(4.451 + 0.047, 2);
  const { requests, hours } = estimateOf({ rpcPerSecond: 100, largestRange: 10 });
  expect(requests.logs).toEqual([2_070_000, 4_140_000]);
  expect(hours.rpc).toEqual(close([15.217, 39.112]));
  expect(estimateOf({ hasLabelsFile: false }).disk.labels).toEqual([0, 0]);
  expect(estimateOf({ isSubgraphCompatible: false }).disk.index[0]).toBeCloseTo(18.87, 2);
});

test("a proof of every log takes three requests for a block, and two for a range", () => {
  const { requests } = estimateOf({ needsProofs: true });
  expect(requests.logs).toEqual([4_140, 41_400]);
  expect(requests.blocks).toEqual(close([10_224_410.1, 29_821_196.3], 0));
});
