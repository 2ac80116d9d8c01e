import { describe, expect, test } from "vitest";
import { createProgress, duration } from "./progress.ts";

function watch(isTTY: boolean) {
  let time = 0;
  const written: string[] = [];
  const progress = createProgress({ isTTY, write: (text) => written.push(text) }, () => time);
  const wait = (milliseconds: number) => {
    time += milliseconds;
  };
  return { progress, written, wait };
}

describe("progress", () => {
  test("is a bar with speed and time left on a terminal", () => {
    const { progress, written, wait } = watch(true);
    progress.report("reading", 0, 0);
    wait(100);
    progress.report("reading", 500, 0.125);
    wait(900);
    progress.report("reading", 2000, 0.25);
    progress.finish();
    expect(written).toEqual([
      "\r\x1b[Kreading [######------------------]  25% 2,000 rows, 2,000 rows/s, 3 s left",
      "\n",
    ]);
  });

  test("is a plain line every ten seconds elsewhere, without an estimate if the size is unknown", () => {
    const { progress, written, wait } = watch(false);
    for (let i = 0; i < 25; i++) {
      progress.report("reading", i * 1000, undefined);
      wait(1000);
    }
    progress.finish();
    expect(written).toEqual(["reading 10,000 rows, 1,000 rows/s\n", "reading 20,000 rows, 1,000 rows/s\n"]);
  });

  test("restarts with each step", () => {
    const { progress, written, wait } = watch(false);
    progress.report("reading", 0, 0);
    wait(10_000);
    progress.report("writing", 0, 0);
    wait(10_000);
    progress.report("writing", 50_000, 0.5);
    expect(written).toEqual(["writing  50% 50,000 rows, 5,000 rows/s, 10 s left\n"]);
  });

  test.each([
    [0.4, "0 s"],
    [59, "59 s"],
    [185, "3 min 5 s"],
    [7620, "2 h 7 min"],
  ])("%d seconds are %s", (seconds, text) => {
    expect(duration(seconds)).toBe(text);
  });
});
