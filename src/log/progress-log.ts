import { formatSpan } from "./json-log.ts";

/**
 * Reports the progress of a long task, in rows or bytes. `fraction` is 0 to 1, or undefined if the end is unknown. Most
 * calls print nothing.
 */
export type ReportProgress = (step: string, done: number, fraction: number | undefined) => void;

/** Output of progress and remarks: standard error. */
export type Output = { write(text: string): unknown };

const intervalMs = 10_000;

const formatRows = (rows: number) => `${rows.toLocaleString("en-US")} rows`;

/** Formats a number of bytes for progress lines: "6,371 MB". */
export const formatMegabytes = (bytes: number) => `${Math.round(bytes / 1e6).toLocaleString("en-US")} MB`;

/** Writes a line with the speed and the remaining time every ten seconds. `format` gives an amount its unit. */
export function createProgressLog(
  output: Output,
  {
    format = formatRows,
    now = () => performance.now(),
  }: { format?: typeof formatRows; now?: () => number } = {},
): ReportProgress {
  let step: { name: string; since: number; first: number; firstFraction: number } | undefined;
  let lastShown = 0;
  return (name, done, fraction) => {
    const time = now();
    if (step?.name !== name) {
      step = { name, since: time, first: done, firstFraction: fraction ?? 0 };
      lastShown = time;
    }
    if (time - lastShown < intervalMs) return;
    lastShown = time;
    const seconds = (time - step.since) / 1000;
    const speed = Math.round((done - step.first) / seconds);
    const part = (fraction ?? 0) - step.firstFraction;
    const percent = fraction === undefined ? "" : ` ${String(Math.floor(fraction * 100)).padStart(3)}%`;
    const left =
      fraction === undefined || part <= 0 ? "" : `, ${formatSpan(((1 - fraction) * seconds) / part)} left`;
    output.write(`${name}${percent} ${format(done)}, ${format(speed)}/s${left}\n`);
  };
}
