import type { Log } from "../log/json-log.ts";
import type { Shared } from "../ponder/shared.ts";

const loggedOfEachKind = 20;
const examplesOfEachKind = 3;

/**
 * Logs the first 20 anomalies of each kind: a chain can contain any number. `examples` keeps the last three of each
 * kind.
 */
export function createAnomalyLog(log: Log, examples: Shared["examples"]): (report: AnomalyReport) => void {
  const seen = new Map<string, number>();
  return (report) => {
    const { anomaly, ...where } = report;
    examples.set(anomaly, [where, ...(examples.get(anomaly) ?? [])].slice(0, examplesOfEachKind));
    const count = (seen.get(report.anomaly) ?? 0) + 1;
    seen.set(report.anomaly, count);
    if (count > loggedOfEachKind) return;
    log("warn", "Skipped or repaired an anomalous event", report);
    if (count === loggedOfEachKind) {
      log("warn", "Further events of this kind are only counted, see /metrics", { anomaly: report.anomaly });
    }
  };
}

/** Contradictions and unknowns in a chain's events that a handler skipped or repaired. */
export type Anomaly =
  | "unknown-node"
  | "unknown-registration"
  | "unhealed-reverse-label"
  | "unknown-account"
  | "unreadable-contract"
  | "too-many-reads"
  | "malformed-name"
  | "unknown-lifecycle"
  | "negative-duration"
  | "controller-without-registrar"
  | "contradictory-token-transfer"
  | "odd-token-batch"
  | "odd-token-amount"
  | "malformed-log"
  | "malformed-label"
  | "unknown-entry"
  | "contradictory-entry"
  | "odd-roles"
  | "names-left-out";

/** Where an anomaly happened: enough to find the log on any explorer. */
type AnomalyReport = { anomaly: Anomaly; chainId: number; transactionHash: string; logIndex: number };
