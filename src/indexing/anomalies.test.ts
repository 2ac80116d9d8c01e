import { expect, test } from "vitest";
import { createAnomalyLog } from "./anomalies.ts";

test("logs the first twenty of a kind with their place, then says that the rest is counted", () => {
  const lines: [string, unknown][] = [];
  const report = createAnomalyLog((_level, message, fields) => lines.push([message, fields]));
  for (let logIndex = 0; logIndex < 30; logIndex++) {
    report({ anomaly: "unknown-node", chainId: 1, transactionHash: "0xab", logIndex });
  }
  report({ anomaly: "unknown-registration", chainId: 1, transactionHash: "0xcd", logIndex: 0 });
  expect(lines).toHaveLength(22);
  expect(lines[19]).toEqual([
    "Skipped or repaired an odd event",
    { anomaly: "unknown-node", chainId: 1, transactionHash: "0xab", logIndex: 19 },
  ]);
  expect(lines[20]).toEqual([
    "Further events of this kind are only counted, see /metrics",
    { anomaly: "unknown-node" },
  ]);
  expect(lines[21]?.[1]).toMatchObject({ anomaly: "unknown-registration" });
});
