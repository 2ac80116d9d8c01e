import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";
import { inLongRuns } from "./test/support/rounds.ts";
import { slowestFiles } from "./test/support/slowest-files.ts";

// Attacks that need neither an EVM node nor a service of their own.
const inProcess = "test/hostile/{documents,{fuzz,labels,raw}-*}.test.ts";

// Replaces modules, which would last beyond it.
const replacesModules = "src/plugins/made-up-deployment.test.ts";

// They wait for databases and services in turn.
const workers = availableParallelism() + 1;

// Limits for standstill, not for speed: no verdict depends on how busy the machine is.
const [long] = inLongRuns([1_800]);
const unit = {
  testTimeout: (long ?? 20) * 1_000,
  hookTimeout: (long ?? 60) * 1_000,
  expect: { poll: { timeout: 15_000 } },
  sequence: { groupOrder: 0 },
};
const resolve = {
  alias: { "ponder:registry": fileURLToPath(new URL("test/support/registry.ts", import.meta.url)) },
};
const seconds = long ?? 120;
const endToEnd = {
  testTimeout: seconds * 1_000,
  hookTimeout: seconds * 1_000,
  expect: { poll: { timeout: seconds * 500 } },
};

export default defineConfig({
  test: {
    maxWorkers: workers,
    // As many: workers that end when idle may be ended a second time between two projects, which fails the run.
    minWorkers: workers,
    globalSetup: "test/support/shared-postgres.ts",
    reporters: ["default", slowestFiles()],
    // One group after the other.
    projects: [
      {
        resolve,
        test: {
          ...unit,
          name: "unit",
          exclude: [replacesModules],
          include: [
            ...["src", "labels-service", "deploy", "devnet", "examples", "client", "cli"].map(
              (folder) => `${folder}/**/*.test.ts`,
            ),
            inProcess,
          ],
        },
      },
      { resolve, test: { ...unit, name: "unit-alone", include: [replacesModules] } },
      {
        test: {
          ...endToEnd,
          name: "e2e",
          include: ["e2e", "hostile", ...inLongRuns(["long"])].map((folder) => `test/${folder}/**/*.test.ts`),
          exclude: [inProcess],
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
});
