import { availableParallelism } from "node:os";
import { basename } from "node:path";
import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";

const stand = (name: string) => fileURLToPath(new URL(`test/support/${name}`, import.meta.url));
// Attacks that need neither an EVM node nor a service of their own.
const inProcess = "test/hostile/{documents,fuzz,labels,raw}-*.test.ts";

// Replaces modules, which would last beyond it.
const replacesModules = "src/plugins/made-up-deployment.test.ts";

// Measure times under a load of their own: no other test file runs beside them.
const alone = ["test/e2e/subgraph-protection.test.ts", "test/e2e/database-outage.test.ts"];

// Files that take longest, in this order. Vitest begins with the largest files.
const longest = [
  // Unit tests.
  "v2-names",
  "preflight",
  "chain-check",
  "labels-files",
  "where",
  "raw-connections",
  // End-to-end tests.
  "restart-head",
  "lying-nodes",
  "startup",
  "crash",
  "deep-reorg",
  "contract-reads",
  "demo",
  "status",
  "call-traces",
  "chains-live",
  "chains-history",
  "reorg",
  "anvil",
  "namespaces",
  "rehearse",
];

// Begins with these, so that no worker is left alone with a long file at the end.
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const place = ({ moduleId }: TestSpecification) => {
      const found = longest.indexOf(basename(moduleId, ".test.ts"));
      return found < 0 ? longest.length : found;
    };
    return (await super.sort(files)).sort((a, b) => place(a) - place(b));
  }
}

const workers = Math.max(2, availableParallelism() - 1);

// Limits for standstill, not for speed: no verdict depends on how busy the machine is.
const unit = {
  testTimeout: 120_000,
  hookTimeout: 120_000,
  expect: { poll: { timeout: 100_000 } },
  sequence: { groupOrder: 0 },
};
const registry = { alias: { "ponder:registry": stand("registry.ts") } };

const endToEnd = {
  testTimeout: 600_000,
  hookTimeout: 600_000,
  expect: { poll: { timeout: 300_000 } },
  globalSetup: "test/support/shared-postgres.ts",
};

export default defineConfig({
  test: {
    // Of two processors Vitest would use one.
    maxWorkers: workers,
    // As many: workers that end when idle may be ended a second time between two projects, which fails the run.
    minWorkers: workers,
    sequence: { sequencer: LongestFirst },
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
            "deploy/**/*.test.ts",
            "devnet/**/*.test.ts",
            "examples/**/*.test.ts",
            "cli/**/*.test.ts",
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
