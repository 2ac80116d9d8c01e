// Runs the label service's command line; the last line of standard output is what it cost:
//   node bench/labels/measured.ts <command> [options]
import { writeSync } from "node:fs";

const started = performance.now();
process.on("exit", () => {
  const { user, system } = process.cpuUsage();
  const wallSeconds = (performance.now() - started) / 1000;
  const { maxRSS } = process.resourceUsage();
  writeSync(
    1,
    `${JSON.stringify({ cpuSeconds: (user + system) / 1e6, wallSeconds, peakBytes: maxRSS * 1024 })}\n`,
  );
});
await import("../../labels-service/cli.ts");
