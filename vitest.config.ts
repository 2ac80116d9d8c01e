import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

const stand = (name: string) => fileURLToPath(new URL(`test/support/${name}`, import.meta.url));
// Attacks that need neither an EVM node nor a service of their own.
const inProcess = "test/hostile/{documents,fuzz,labels,raw}-*.test.ts";

// Replaces modules, which would last beyond it.
const replacesModules = "src/plugins/made-up-deployment.test.ts";

// Measure times under a load of their own: no other test file runs beside them.
const alone = ["test/e2e/subgraph-protection.test.ts", "test/e2e/database-outage.test.ts"];

const workers = Math.max(2, availableParallelism() - 1);

const unit = {
  testTimeout: 20_000,
  hookTimeout: 60_000,
  sequence: { groupOrder: 0 },
};
const registry = { alias: { "ponder:registry": stand("registry.ts") } };

const endToEnd = {
  testTimeout: 240_000,
  hookTimeout: 300_000,
  globalSetup: "test/support/shared-postgres.ts",
};

export default defineConfig({
  test: {
    // Of two processors Vitest would use one.
    maxWorkers: workers,
    // As many: workers that end when idle may be ended a second time between two projects, which fails the run.
    minWorkers: workers,
    // One group after the other.
    projects: [
      {
        resolve: registry,
        test: {
          ...unit,
          name: "unit",
          exclude: [replacesModules],
          include: [
            "src/**/*.test.ts",
            "labels-service/**/*.test.ts",
            "devnet/**/*.test.ts",
            "scripts/**/*.test.ts",
            inProcess,
          ],
        },
      },
      {
        resolve: registry,
        test: { ...unit, name: "unit-alone", include: [replacesModules] },
      },
      {
        test: {
          ...endToEnd,
          name: "e2e",
          include: ["test/e2e/**/*.test.ts", "test/hostile/**/*.test.ts"],
          exclude: [inProcess, ...alone],
          sequence: { groupOrder: 1 },
        },
      },
      {
        test: {
          ...endToEnd,
          name: "e2e-alone",
          include: alone,
          pool: "forks",
          poolOptions: { forks: { singleFork: true } },
          sequence: { groupOrder: 2 },
        },
      },
    ],
  },
});
