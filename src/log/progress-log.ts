import { formatSpan } from "./json-log.ts";

/**
 * Reports the progress of a long task. `fraction` is 0 to 1, or undefined if the end is unknown. Most calls print
 * nothing.
 */
export type ReportProgress = (step: string, rows: number, fraction: number | undefined) => void;

/** Output of progress and remarks: standard error. */
export type Output = { write(text: string): unknown };

const intervalMs = 10_000;

/** Writes a line with rows/s, or another unit, and the remaining time every ten seconds. */
export function createProgressLog(
  output: Output,
  { unit = "rows", now = () => performance.now() }: { unit?: string; now?: () => number } = {},
): ReportProgress {
  let step: { name: string; since: number; firstRow: number; firstFraction: number } | undefined;
  let lastShown = 0;
  return (name, rows, fraction) => {
    const time = now();
    if (step?.name !== name) {
      step = { name, since: time, firstRow: rows, firstFraction: fraction ?? 0 };
      lastShown = time;
    }
    if (time - lastShown < intervalMs) return;
    lastShown = time;
    const seconds = (time - step.since) / 1000;
    const speed = Math.round((rows - step.firstRow) / seconds);
    const done = (fraction ?? 0) - step.firstFraction;
    const percent = fraction === undefined ? "" : ` ${String(Math.floor(fraction * 100)).padStart(3)}%`;
    const left =
      fraction === undefined || done <= 0 ? "" : `, ${formatSpan(((1 - fraction) * seconds) / done)} left`;
    output.write(
      `${name}${percent} ${rows.toLocaleString("en-US")} ${unit}, ${speed.toLocaleString("en-US")} ${unit}/s${left}\n`,
    );
  };
}
