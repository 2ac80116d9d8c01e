import { expect, test } from "vitest";
import { defaultSubgraphLimits, subgraphLimitsFrom } from "./limits.ts";

test("uses the values that are set, and defaults for the rest", () => {
  const faults: string[] = [];
  expect(
    subgraphLimitsFrom({ SUBGRAPH_MAX_SKIP: "0", SUBGRAPH_TIMEOUT_MS: "2000", OTHER: "x" }, faults),
  ).toEqual({ ...defaultSubgraphLimits, skip: 0, timeoutMs: 2000 });
  expect(faults).toEqual([]);
});

test("names every variable that is out of its bounds", () => {
  const faults: string[] = [];
  subgraphLimitsFrom(
    { SUBGRAPH_CONCURRENCY: "0", SUBGRAPH_QUEUE: "many", SUBGRAPH_MAX_DEPTH: "1.5", TRUST_PROXY: "true" },
    faults,
  );
  expect(faults).toEqual([
    "SUBGRAPH_MAX_DEPTH must be a whole number between 10 and 255.",
    "SUBGRAPH_CONCURRENCY must be a whole number between 1 and 1000.",
    "SUBGRAPH_QUEUE must be a whole number between 0 and 100000.",
    "TRUST_PROXY must be a whole number between 0 and 16.",
  ]);
});
