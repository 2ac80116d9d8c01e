import { relative } from "node:path";
import type { Reporter } from "vitest/reporters";

/** Prints the ten files of a larger run that took longest, set-up included. No verdict depends on it. */
export const slowestFiles = (): Reporter => ({
  onTestRunEnd(modules) {
    if (modules.length <= 10) return;
    const seconds = modules.map((module) => {
      const { duration, setupDuration, collectDuration } = module.diagnostic();
      return [(duration + setupDuration + collectDuration) / 1_000, module.moduleId] as const;
    });
    const slowest = seconds.toSorted(([a], [b]) => b - a).slice(0, 10);
    console.log("\nThe ten slowest files:");
    for (const [time, path] of slowest)
      console.log(`${time.toFixed(1).padStart(7)} s  ${relative(process.cwd(), path)}`);
  },
});
