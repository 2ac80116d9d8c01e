import { Gauge, Registry } from "prom-client";
import { expect, test } from "vitest";
import { ponderProcess } from "./ponder-process.ts";

const gaugeNames = [
  "ponder_historical_total_blocks",
  "ponder_historical_total_indexing_seconds",
  "ponder_sync_block",
  "ponder_sync_block_timestamp",
  "ponder_sync_is_realtime",
  "ponder_sync_is_complete",
] as const;

function globalsOf({ command = "start", admin = undefined as unknown } = {}) {
  const registers = [new Registry()];
  const metrics = Object.fromEntries(
    gaugeNames.map((name) => [name, new Gauge({ name, help: name, labelNames: ["chain"], registers })]),
  ) as Record<(typeof gaugeNames)[number], Gauge<"chain">>;
  const logged: unknown[] = [];
  const stops: (() => void)[] = [];
  const shutdown = { add: (stop: () => void) => stops.push(stop) };
  const scope = {
    PONDER_COMMON: {
      options: { command },
      logger: { warn: (line: unknown) => logged.push(line) },
      metrics,
      shutdown,
      apiShutdown: shutdown,
    },
    PONDER_NAMESPACE_BUILD: { schema: "names", viewsSchema: undefined },
    PONDER_INDEXING_BUILD: {
      chains: [
        { id: 1, name: "mainnet", rpc: "https://rpc/secret" },
        { id: 8453, name: "base", rpc: "https://rpc/secret" },
      ],
    },
    PONDER_DATABASE: { driver: { dialect: admin === undefined ? "pglite" : "postgres", admin } },
  };
  return { scope, metrics, logged, stops };
}

test("reads the sync figures of each chain by its id", async () => {
  const { scope, metrics } = globalsOf();
  metrics.ponder_historical_total_blocks.set({ chain: "base" }, 101);
  metrics.ponder_historical_total_indexing_seconds.set({ chain: "base" }, 900);
  metrics.ponder_sync_block.set({ chain: "base" }, 260);
  metrics.ponder_sync_block_timestamp.set({ chain: "base" }, 1_700_002_600);
  metrics.ponder_sync_is_realtime.set({ chain: "base" }, 1);
  expect(await ponderProcess(scope).readMetrics()).toEqual(
    new Map([
      [1, { isRealtime: false, isComplete: false }],
      [
        8453,
        {
          historicalTotalBlocks: 101,
          historicalTotalSeconds: 900,
          syncBlock: 260,
          syncBlockTimestamp: 1_700_002_600,
          isRealtime: true,
          isComplete: false,
        },
      ],
    ]),
  );
});

test("tells what process it is", () => {
  const { scope, logged, stops } = globalsOf();
  const ponder = ponderProcess(scope);
  expect(ponder.isIndexer).toBe(true);
  expect(ponderProcess(globalsOf({ command: "serve" }).scope).isIndexer).toBe(false);
  expect([ponder.schema, ponder.viewsSchema]).toEqual(["names", undefined]);
  expect([...ponder.chainNames]).toEqual([
    [1, "mainnet"],
    [8453, "base"],
  ]);
  ponder.log("one line");
  expect(logged).toEqual([{ msg: "one line" }]);
  ponder.onStop(() => undefined);
  expect(stops).toHaveLength(2);
});

test("writes through the pool of a server, and not at all to an embedded database", async () => {
  expect(ponderProcess(globalsOf().scope).write).toBeUndefined();
  const statements: unknown[] = [];
  class Pool {
    private readonly answers = ["done"];
    async query(...statement: unknown[]) {
      statements.push(statement);
      return this.answers[0];
    }
  }
  const { write } = ponderProcess(globalsOf({ admin: new Pool() }).scope);
  expect(await write?.("select $1", [1])).toBe("done");
  expect(statements).toEqual([["select $1", [1]]]);
});

test("names what a release of Ponder no longer has", () => {
  expect(() => ponderProcess({})).toThrow("PONDER_COMMON");
  const { scope } = globalsOf();
  const { ponder_sync_block: _, ...others } = scope.PONDER_COMMON.metrics;
  expect(() =>
    ponderProcess({ ...scope, PONDER_COMMON: { ...scope.PONDER_COMMON, metrics: others } }),
  ).toThrow("ponder_sync_block");
});
