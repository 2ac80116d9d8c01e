import { expect, test } from "vitest";
import { createProgressLog, formatMegabytes } from "./progress-log.ts";

function watch(format?: (amount: number) => string) {
  let time = 0;
  const written: string[] = [];
  const report = createProgressLog(
    { write: (text) => written.push(text) },
    { now: () => time, ...(format && { format }) },
  );
  const wait = (milliseconds: number) => {
    time += milliseconds;
  };
  return { report, written, wait };
}

test("progress is a line every ten seconds, without an estimate if the size is unknown", () => {
  const { report, written, wait } = watch();
  for (let i = 0; i < 25; i++) {
    report("reading", i * 1000, undefined);
    wait(1000);
  }
  expect(written).toEqual(["reading 10,000 rows, 1,000 rows/s\n", "reading 20,000 rows, 1,000 rows/s\n"]);
});

test("progress restarts with each step", () => {
  const { report, written, wait } = watch();
  report("reading", 0, 0);
  wait(10_000);
  report("writing", 0, 0);
  wait(10_000);
  report("writing", 50_000, 0.5);
  expect(written).toEqual(["writing  50% 50,000 rows, 5,000 rows/s, 10 s left\n"]);
});

test("progress of a resumed download has its own speed, and the time that is left", () => {
  const { report, written, wait } = watch(formatMegabytes);
  report("downloading", 2_000_000_000, 0.5);
  wait(10_000);
  report("downloading", 2_500_000_000, 0.625);
  expect(written).toEqual(["downloading  62% 2,500 MB, 50 MB/s, 30 s left\n"]);
});
