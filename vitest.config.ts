import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

const stand = (name: string) => fileURLToPath(new URL(`test/support/${name}`, import.meta.url));

export default defineConfig({
  test: {
    // Of two processors Vitest would use one.
    maxWorkers: Math.max(2, availableParallelism() - 1),
    minWorkers: 1,
    projects: [
      {
        resolve: { alias: { "ponder:registry": stand("registry.ts") } },
        test: {
          name: "unit",
          include: [
            "src/**/*.test.ts",
            "labels-service/**/*.test.ts",
            "devnet/**/*.test.ts",
            "scripts/**/*.test.ts",
          ],
          testTimeout: 20_000,
          hookTimeout: 60_000,
        },
      },
      {
        test: {
          name: "e2e",
          include: ["test/e2e/**/*.test.ts", "test/hostile/**/*.test.ts"],
          testTimeout: 240_000,
          hookTimeout: 180_000,
          globalSetup: "test/support/shared-postgres.ts",
          // After the unit tests: these start processes and look at the clock.
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
});
