import { setImmediate as turn } from "node:timers/promises";
import { expect, test } from "vitest";
import { createQueue } from "../database/queue.ts";
import { createTurns, yieldToEventLoop } from "./turns.ts";

test("slices of eight requests never run in the same turn of the event loop", async () => {
  let resumed = 0;
  const request = async () => {
    for (let slice = 0; slice < 3; slice++) {
      await yieldToEventLoop();
      resumed += 1;
    }
  };
  const all = Promise.all(Array.from({ length: 8 }, request));
  const perTurn: number[] = [];
  for (let before = 0; before < 24; before = resumed) {
    await turn();
    perTurn.push(resumed - before);
  }
  await all;
  expect(resumed).toBe(24);
  expect(Math.max(...perTurn)).toBe(1);
});

const limits = {
  concurrency: 1,
  spare: 0,
  queue: 1,
  queuePerClient: 1,
  quickMs: 1_000,
  slow: 1,
  slowQueue: 1,
};

test("turns go to the client whose slices took the least time", async () => {
  const { forClient } = createQueue(limits);
  let now = 0;
  const yieldToEventLoop = createTurns(() => now);
  const order: string[] = [];
  const slices = (client: string, { count, milliseconds }: { count: number; milliseconds: number }) =>
    forClient(client, () =>
      Array.from({ length: count }, async () => {
        await yieldToEventLoop();
        order.push(client);
        now += milliseconds;
      }),
    );
  const long = { count: 6, milliseconds: 10 };
  const short = { count: 40, milliseconds: 0.2 };
  await Promise.all([...slices("long", long), ...slices("other", long), ...slices("short", short)]);
  // 40 short slices take as long as one long one less two milliseconds.
  expect(order.slice(0, 42).toSorted()).toEqual(["long", "other", ...Array<string>(40).fill("short")]);
  expect(order.slice(42)).toEqual(Array.from({ length: 5 }, () => ["long", "other"]).flat());
});

test("a client that comes later has no credit for the time before", async () => {
  const { forClient } = createQueue(limits);
  let now = 0;
  const yieldToEventLoop = createTurns(() => now);
  const order: string[] = [];
  const slice = (client: string) =>
    forClient(client, async () => {
      await yieldToEventLoop();
      order.push(client);
      now += 10;
    });
  const first = Array.from({ length: 20 }, () => slice("first"));
  await first[9];
  await Promise.all([...first, ...Array.from({ length: 5 }, () => slice("second"))]);
  const since = order.slice(order.indexOf("second"));
  expect(since.slice(0, 8).filter((client) => client === "second").length).toBeLessThanOrEqual(5);
  expect(since.slice(0, 6)).toContain("first");
});

test("a client whose slice was interrupted for long waits for ten milliseconds of others, not for as long", async () => {
  const { forClient } = createQueue(limits);
  let now = 0;
  const yieldToEventLoop = createTurns(() => now);
  const order: string[] = [];
  const slice = (client: string, milliseconds: number) =>
    forClient(client, async () => {
      await yieldToEventLoop();
      order.push(client);
      now += milliseconds;
    });
  const others = Array.from({ length: 100 }, () => slice("other", 1));
  await slice("one", 90);
  const before = order.length;
  await slice("one", 90);
  await Promise.all(others);
  expect(order.slice(before).indexOf("one")).toBeLessThanOrEqual(11);
});
