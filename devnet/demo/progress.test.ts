import { expect, test } from "vitest";
import { describeProgress, measureProgress } from "./progress.ts";

const block = (number: number) => ({ number, timestamp: number });
const config = (start: number) => ({ configType: "indefinite", startBlock: block(start) });

test("blocks of chains that wait for their turn count as missing, those of live chains as indexed", () => {
  const chains = {
    1: {
      chainStatus: "chain-backfill",
      config: config(100),
      latestIndexedBlock: block(150),
      backfillEndBlock: block(300),
    },
    2: { chainStatus: "chain-queued", config: config(0) },
    3: {
      chainStatus: "chain-following",
      config: config(0),
      latestIndexedBlock: block(90),
      latestKnownBlock: block(100),
    },
  };
  const heads = new Map([
    [1, 310],
    [2, 500],
    [3, 100],
  ]);
  expect(measureProgress(chains, heads)).toEqual({ done: 150, all: 800 });
});

test("the expected end follows from the speed; without any there is none", () => {
  const all = 2_000;
  expect(describeProgress({ done: 500, all }, { done: 0, all }, 5)).toBe(
    "25 % of 2,000 blocks are indexed, about 15 s to go",
  );
  expect(describeProgress({ done: 0, all }, { done: 0, all }, 5)).toBe("0 % of 2,000 blocks are indexed");
  expect(describeProgress({ done: all, all }, { done: 0, all }, 5)).toBe(
    "all 2,000 blocks are indexed; the database's indexes are built",
  );
});
