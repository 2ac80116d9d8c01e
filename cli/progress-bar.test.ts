import { text } from "node:stream/consumers";
import { expect, test } from "vitest";
import { createProgressBar } from "./progress-bar.ts";

const progress = (percent: string, more = "") =>
  `12:00:00.000 INFO  Updated backfill indexing progress progress=${percent}%${more} open=http://localhost:42069/\n`;
const clear = "\r\u001b[2K";

test("the newest progress is a bar below the last line, until the backfill is complete", async () => {
  const bar = createProgressBar();
  bar.write("first\n");
  bar.write(progress("25.0", " estimate=1m 02s blocks=50 of 200"));
  bar.write("second\n");
  bar.write(progress("50.0"));
  bar.write("12:00:01.000 INFO  Completed backfill indexing across all chains (8s)\n");
  bar.end("last\n");
  const quarter = `${"█".repeat(6)}${"░".repeat(18)} 25.0 % · 50 of 200 blocks · 1m 02s to go · http://localhost:42069/`;
  const half = `${"█".repeat(12)}${"░".repeat(12)} 50.0 % · http://localhost:42069/`;
  expect(await text(bar)).toBe(
    `first\n${quarter}${clear}second\n${quarter}${clear}${half}${clear}12:00:01.000 INFO  Completed backfill indexing across all chains (8s)\nlast\n`,
  );
});
