import { expect, test } from "vitest";
import type { Shared } from "../ponder/shared.ts";
import { createAnomalyLog } from "./anomalies.ts";

test("logs the first twenty of a kind with their place, then says that the rest is counted", () => {
  const lines: [string, unknown][] = [];
  const report = createAnomalyLog((_level, message, fields) => lines.push([message, fields]), new Map());
  for (let logIndex = 0; logIndex < 30; logIndex++) {
    report({ anomaly: "unknown-node", chainId: 1, transactionHash: "0xab", logIndex });
  }
  report({ anomaly: "unknown-registration", chainId: 1, transactionHash: "0xcd", logIndex: 0 });
  expect(lines).toHaveLength(22);
  expect(lines[19]).toEqual([
    "Skipped or repaired an anomalous event",
    { anomaly: "unknown-node", chainId: 1, transactionHash: "0xab", logIndex: 19 },
  ]);
  expect(lines[20]).toEqual([
    "Further events of this kind are only counted, see /metrics",
    { anomaly: "unknown-node" },
  ]);
  expect(lines[21]?.[1]).toMatchObject({ anomaly: "unknown-registration" });
});

test("keeps the places of the last three of a kind, newest first", () => {
  const examples: Shared["examples"] = new Map();
  const report = createAnomalyLog(() => undefined, examples);
  for (let logIndex = 1; logIndex <= 5; logIndex++) {
    report({ anomaly: "unknown-node", chainId: 1, transactionHash: "0xab", logIndex });
  }
  report({ anomaly: "malformed-name", chainId: 10, transactionHash: "0xcd", logIndex: 7 });
  expect(Object.fromEntries(examples)).toEqual({
    "unknown-node": [5, 4, 3].map((logIndex) => ({ chainId: 1, transactionHash: "0xab", logIndex })),
    "malformed-name": [{ chainId: 10, transactionHash: "0xcd", logIndex: 7 }],
  });
});
