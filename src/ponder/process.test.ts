import { Gauge, Registry } from "prom-client";
import { expect, test } from "vitest";
import {
  mapOwnStacksOnly,
  metricsRegistry,
  ponderLogger,
  ponderProcess,
  shareMetricsText,
} from "./process.ts";

const gaugeNames = [
  ...(["ponder_historical_total_blocks", "ponder_historical_total_indexing_seconds"] as const),
  ...(["ponder_sync_block", "ponder_sync_block_timestamp"] as const),
  ...(["ponder_sync_is_realtime", "ponder_sync_is_complete"] as const),
];

function globalsOf({ command = "start" } = {}) {
  const registers = [new Registry()];
  const metrics = Object.fromEntries(
    gaugeNames.map((name) => [name, new Gauge({ name, help: name, labelNames: ["chain"], registers })]),
  ) as Record<(typeof gaugeNames)[number], Gauge<"chain">>;
  const keep = () => undefined;
  const stops: (() => void)[] = [];
  const shutdown = { add: (stop: () => void) => stops.push(stop) };
  const scope = {
    PONDER_COMMON: {
      options: { command },
      logger: { info: keep, warn: keep as (line?: unknown) => void, error: keep },
      metrics: { ...metrics, registry: registers[0] },
      shutdown,
      apiShutdown: shutdown,
    },
    PONDER_NAMESPACE_BUILD: { schema: "names" },
    PONDER_INDEXING_BUILD: {
      chains: Object.entries({ mainnet: 1, base: 8453 }).map(([name, id]) => ({ id, name })),
    },
    PONDER_DATABASE: { driver: { admin: { query: async (...statement: unknown[]) => statement } } },
  };
  return { scope, metrics, stops };
}

test("reads the sync figures of each chain by its id", async () => {
  const { scope, metrics } = globalsOf();
  metrics.ponder_historical_total_blocks.set({ chain: "base" }, 101);
  metrics.ponder_historical_total_indexing_seconds.set({ chain: "base" }, 900);
  metrics.ponder_sync_block.set({ chain: "base" }, 260);
  metrics.ponder_sync_block_timestamp.set({ chain: "base" }, 1_700_002_600);
  metrics.ponder_sync_is_realtime.set({ chain: "base" }, 1);
  const figures = await ponderProcess(scope).readMetrics();
  expect(figures.get(1)).toEqual({ isRealtime: false, isComplete: false });
  expect(figures.get(8453)).toEqual({
    ...{ historicalTotalBlocks: 101, historicalTotalSeconds: 900 },
    ...{ syncBlock: 260, syncBlockTimestamp: 1_700_002_600, isRealtime: true, isComplete: false },
  });
});

test("describes the process it is in, and writes through its pool", async () => {
  const { scope, stops } = globalsOf();
  const ponder = ponderProcess(scope);
  expect([ponder.isIndexer, ponder.schema]).toEqual([true, "names"]);
  expect(await ponder.write("select $1", [1])).toEqual(["select $1", [1]]);
  const byName = { mainnet: "a", base: "b" };
  expect([ponder.ofChain(byName, 8453), ponder.ofChain(byName, 10)]).toEqual(["b", undefined]);
  ponder.onStop(() => undefined);
  expect(stops).toHaveLength(2);
  expect(ponderProcess(globalsOf({ command: "serve" }).scope).isIndexer).toBe(false);
  expect([ponderLogger(scope), metricsRegistry(scope)]).toEqual([
    scope.PONDER_COMMON.logger,
    scope.PONDER_COMMON.metrics.registry,
  ]);
  expect([ponderLogger({}), metricsRegistry({})]).toEqual([undefined, undefined]);
});

test("writes the text of metrics out once a second", async () => {
  let [time, written] = [0, 0];
  const registry = { metrics: async () => `text ${++written}` };
  shareMetricsText(registry, () => time);
  expect(await Promise.all([registry.metrics(), registry.metrics()])).toEqual(["text 1", "text 1"]);
  time = 999;
  expect(await registry.metrics()).toBe("text 1");
  time = 1_000;
  expect(await registry.metrics()).toBe("text 2");
});

test("names what another release of Ponder lacks, and the release it expects", () => {
  expect(() => ponderProcess({})).toThrow(
    /^Unsupported Ponder version: the global object lacks PONDER_COMMON.* PONDER_DATABASE.*Install Ponder [0-9.]+, which/,
  );
  const { scope } = globalsOf();
  const { ponder_sync_block: _, ...others } = scope.PONDER_COMMON.metrics;
  const changed = { ...scope, PONDER_COMMON: { ...scope.PONDER_COMMON, metrics: others } };
  expect(() => ponderProcess(changed)).toThrow(
    "the global object lacks PONDER_COMMON.metrics.ponder_sync_block.get. Install Ponder ",
  );
  expect(() => ponderLogger({ PONDER_COMMON: {} })).toThrow("PONDER_COMMON lacks logger.info");
});

test("looks up positions for stacks with a file of this project, and for no others", () => {
  const errors: NonNullable<Parameters<typeof mapOwnStacksOnly>[0]> = {
    prepareStackTrace: () => "looked up",
  };
  mapOwnStacksOnly(errors);
  const stackOf = (...files: string[]) => {
    const frames = files.map((file) => ({ getFileName: () => file, toString: () => `${file}:1:2` }));
    return errors.prepareStackTrace?.(new TypeError("gone"), frames as never);
  };
  expect(stackOf("node:net", "/app/src/api/app.ts")).toBe("looked up");
  expect(stackOf("node:net", "/app/node_modules/pg/lib/client.js")).toBe(
    "TypeError: gone\n    at node:net:1:2\n    at /app/node_modules/pg/lib/client.js:1:2",
  );
});
