import { expect, test, vi } from "vitest";
import { rewriteLog } from "./log-entries.ts";
import { shared } from "./shared.ts";

type Write = (entry: object) => void;

function loggers() {
  const lines: unknown[] = [];
  const loggerOf = (facts: object): object => ({
    ...Object.fromEntries(
      ["error", "warn", "info", "debug", "trace"].map((level) => [
        level,
        (entry: object) => lines.push([level, { ...facts, ...entry }]),
      ]),
    ),
    child: (more: object) => loggerOf({ ...facts, ...more }),
  });
  const logger = loggerOf({}) as Record<string, Write> & { child(facts: object): Record<string, Write> };
  const metrics = { registry: { registerMetric: vi.fn(), removeSingleMetric: vi.fn(), metrics: vi.fn() } };
  const reported = new Error("fetch failed");
  const scope = { PONDER_COMMON: { logger, metrics } };
  rewriteLog(
    { schema: "names", url: "http://localhost:1/", isReported: (error) => error === reported },
    scope,
  );
  return { logger, lines, reported, scope };
}

test("progress is told with blocks once they are known, and where to open the service", () => {
  const { logger, lines, scope } = loggers();
  const told = { msg: "Updated backfill indexing progress", progress: "12.0%", estimate: "4m 02s" };
  logger["info"]?.({ msg: "Created HTTP server", port: 1 });
  logger["info"]?.(told);
  shared(scope).backfill = () => ({ done: 1_234, all: 1_000_000 });
  logger["info"]?.(told);
  const open = "http://localhost:1/";
  expect(lines).toEqual([
    ["info", { msg: "Created HTTP server", port: 1, open }],
    ["info", { ...told, open }],
    ["info", { ...told, blocks: "1,234 of 1,000,000", open }],
  ]);
});

test("warnings about what is reported are lowered, also of loggers made of this one, and paths of ours; errors are not", () => {
  const { logger, lines, reported } = loggers();
  const entry = { msg: "Received JSON-RPC error", error: reported };
  logger["warn"]?.(entry);
  logger.child({ action: "fetch_block_data" })["warn"]?.(entry);
  logger["error"]?.(entry);
  logger["warn"]?.({ ...entry, error: undefined });
  const announced = { msg: "Started returning 200 responses", endpoint: "/ready" };
  logger["info"]?.(announced);
  expect(lines).toEqual([
    ["debug", entry],
    ["debug", { ...entry, action: "fetch_block_data" }],
    ["error", entry],
    ["warn", { ...entry, error: undefined }],
    // A path that this service answers itself.
    ["debug", announced],
  ]);
});

test("a host is named once, however often its URL is repeated", () => {
  const { logger, lines } = loggers();
  const hosts = (names: string[]) => ({ msg: "Connected to JSON-RPC", hostnames: JSON.stringify(names) });
  logger["info"]?.(hosts(["a.example", ...Array<string>(25).fill("localhost")]));
  const outage = { msg: "No RPC URL responds. Indexing waits", hostnames: "localhost, a.example" };
  logger["warn"]?.(outage);
  expect(lines).toEqual([
    ["info", hosts(["a.example", "localhost"])],
    ["warn", outage],
  ]);
});

test("a node that is behind is not an index of another release", () => {
  const { logger, lines } = loggers();
  // As Ponder 0.17.7 throws it (src/database/index.ts).
  const error = Object.assign(new Error('Finalized block for chain "1" cannot move backwards'), {
    name: "MigrationError",
  });
  logger["error"]?.({ msg: "build failed", error });
  expect(lines).toEqual([
    ["error", expect.objectContaining({ msg: expect.stringMatching(/^The node of chain 1 is behind/) })],
  ]);
});
