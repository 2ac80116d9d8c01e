/** Shows how far a long task is. */
export type Progress = {
  /** `fraction` is 0 to 1, or undefined when the end is not known. Cheap: most calls print nothing. */
  report(step: string, rows: number, fraction: number | undefined): void;
  /** Ends the step's line or bar. */
  finish(): void;
};

/** Where progress and remarks go: standard error. */
export type Output = { isTTY?: boolean | undefined; write(text: string): unknown };

const barWidth = 24;

/** Shows a bar with rows/s and the time left on a terminal, and a plain line every ten seconds elsewhere. */
export function createProgress(output: Output, now: () => number = () => performance.now()): Progress {
  const isTerminal = output.isTTY === true;
  const intervalMs = isTerminal ? 200 : 10_000;
  let step: { name: string; since: number; firstRow: number; firstFraction: number } | undefined;
  let lastShown = 0;
  let isBarOpen = false;

  const finish = () => {
    if (isBarOpen) output.write("\n");
    isBarOpen = false;
    step = undefined;
  };

  return {
    report: (name, rows, fraction) => {
      const time = now();
      if (step?.name !== name) {
        finish();
        step = { name, since: time, firstRow: rows, firstFraction: fraction ?? 0 };
        lastShown = time;
      }
      if (time - lastShown < intervalMs) return;
      lastShown = time;
      const seconds = (time - step.since) / 1000;
      const speed = Math.round((rows - step.firstRow) / seconds);
      const done = (fraction ?? 0) - step.firstFraction;
      const left = fraction === undefined || done <= 0 ? undefined : ((1 - fraction) * seconds) / done;
      const facts = [
        `${rows.toLocaleString("en-US")} rows`,
        `${speed.toLocaleString("en-US")} rows/s`,
        ...(left === undefined ? [] : [`${duration(left)} left`]),
      ].join(", ");
      const percent = fraction === undefined ? "" : ` ${String(Math.floor(fraction * 100)).padStart(3)}%`;
      output.write(
        isTerminal ? `\r\x1b[K${name} ${bar(fraction)}${percent} ${facts}` : `${name}${percent} ${facts}\n`,
      );
      isBarOpen = isTerminal;
    },
    finish,
  };
}

function bar(fraction: number | undefined): string {
  const filled = Math.round(Math.min(fraction ?? 0, 1) * barWidth);
  return `[${"#".repeat(filled)}${"-".repeat(barWidth - filled)}]`;
}

/** Seconds as people read them: "8 s", "3 min 5 s", "2 h 7 min". */
export function duration(seconds: number): string {
  const whole = Math.round(seconds);
  if (whole < 60) return `${whole} s`;
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${whole % 60} s`;
  return `${Math.floor(whole / 3600)} h ${Math.floor((whole % 3600) / 60)} min`;
}
