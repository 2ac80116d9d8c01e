import { expect, test } from "vitest";
import { readLimits } from "./limits.ts";

test("has defaults for all limits", () => {
  expect(readLimits({ SUBGRAPH_MAX_ROWS: " ", OTHER: "x" })).toEqual({
    bodyBytes: 1_048_576,
    tokens: 30_000,
    depth: 100,
    fields: 20_000,
    rows: 2_000_000,
    listValues: 10_000,
    skip: 4_294_967_295,
    responseBytes: 67_108_864,
    timeoutMs: 10_000,
    concurrency: 6,
    queue: 256,
  });
});

test("takes limits from the environment", () => {
  expect(readLimits({ SUBGRAPH_MAX_SKIP: "5000", SUBGRAPH_TIMEOUT_MS: "2000" })).toMatchObject({
    skip: 5_000,
    timeoutMs: 2_000,
  });
});

test("names every variable that is out of bounds", () => {
  const read = () =>
    readLimits({ SUBGRAPH_CONCURRENCY: "0", SUBGRAPH_QUEUE: "many", SUBGRAPH_MAX_DEPTH: "1.5" });
  expect(read).toThrow(/SUBGRAPH_MAX_DEPTH[\s\S]*SUBGRAPH_CONCURRENCY[\s\S]*SUBGRAPH_QUEUE/);
});
