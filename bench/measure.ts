import { readFileSync } from "node:fs";
import { isAnswered } from "../devnet/indexing-service.ts";
import { waitFor } from "../devnet/wait.ts";

/** A number for the reader, without decimals. */
export const whole = (value: number): string => Math.round(value).toLocaleString("en-US");

/** The value that so large a share of the others does not exceed; NaN of none. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = Float64Array.from(values).sort();
  return sorted[Math.floor((sorted.length - 1) * share)] ?? Number.NaN;
}

/** Seconds since a reading of `performance.now()`. */
export const secondsSince = (begun: number): number => (performance.now() - begun) / 1_000;

/** Settles once the service at a port is ready. */
export const untilReady = (port: number) =>
  waitFor("/ready", isAnswered(`http://127.0.0.1:${port}/ready`), { timeoutMs: 86_400_000, everyMs: 20 });

/** Megabytes that a process holds in memory; 0 once it has ended. */
export const residentMegabytes = (pid: number | undefined) =>
  megabytesIn(`/proc/${pid}/status`, /VmRSS:\s+(\d+)/);

/** Megabytes in the line of a file of /proc that matches; 0 without the file. */
export function megabytesIn(path: string, pattern: RegExp): number {
  try {
    return Number(pattern.exec(readFileSync(path, "utf8"))?.[1] ?? 0) / 1024;
  } catch {
    return 0;
  }
}

/**
 * Processor seconds that a process has taken, with those of its children that have ended if wanted; 0 once it has
 * ended.
 */
export function readProcessorSeconds(pid: number | undefined, { withEnded = false } = {}): number {
  try {
    // Fields 14 and 15, of ended children 16 and 17, in hundredths of a second; the second field may contain spaces.
    const fields = readFileSync(`/proc/${pid}/stat`, "utf8")
      .replace(/^.*\) /s, "")
      .split(" ");
    const own = fields.slice(11, withEnded ? 15 : 13);
    return own.reduce((sum, field) => sum + Number(field), 0) / 100;
  } catch {
    return 0;
  }
}
