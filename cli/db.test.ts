import { expect, test } from "vitest";
import type { IndexState } from "../src/operations/stored-indexes.ts";
import { describeIndexes } from "./db.ts";

const checkpoints = { latestCheckpoint: "", safeCheckpoint: "" };
const index: IndexState = {
  schema: "names_v1",
  description: { release: "1.4.0", namespace: "mainnet", plugins: ["subgraph", "registrars"], settings: {} },
  buildId: "ee6cf54d7c",
  bytes: 12_345_678_901,
  state: "stopped",
  isServable: true,
  isAlive: false,
  aliveAt: 1_700_000_000_000 - 7_200_000,
  heads: [
    { ...checkpoints, chain: "mainnet", chainId: 1, head: { number: 21_000_000, timestamp: 1_699_999_988 } },
    { ...checkpoints, chain: "base", chainId: 8453, head: undefined },
  ],
  names: ["names"],
  readers: ["10.0.0.3 (4 connections)"],
};

test("shows indexes as text", () => {
  expect(describeIndexes([index], 1_700_000_000_000)).toBe(
    [
      "names_v1, release 1.4.0, build ee6cf54d7c, 12 GB, stopped 2 h ago",
      "  mainnet: subgraph, registrars",
      "  chain 1 (mainnet): block 21000000, 12 s old",
      "  chain 8453 (base): no block yet",
      "  served as names",
      "  read from 10.0.0.3 (4 connections)",
    ].join("\n"),
  );
  expect(describeIndexes([], 0)).toBe("The database has no index.");
});

test("shows no raw control characters of what others named", () => {
  const hostile = "\u001b[2J\nnames_v9, release 9\u202e";
  const named = { ...index, schema: hostile, buildId: hostile, names: [hostile], readers: [hostile] };
  const text = describeIndexes([named], 1_700_000_000_000);
  expect(text.split("\n")).toHaveLength(6);
  expect(text).not.toMatch(/[^\n\P{C}]/u);
});
