import { setImmediate as turn } from "node:timers/promises";
import { expect, test } from "vitest";
import { forClient, yieldToEventLoop } from "./turn.ts";

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

test("many slices of one client delay those of another by one", async () => {
  const order: string[] = [];
  const slices = (client: string, count: number) =>
    forClient(client, () =>
      Array.from({ length: count }, async () => {
        await yieldToEventLoop();
        order.push(client);
      }),
    );
  await Promise.all([...slices("many", 6), ...slices("one", 1), ...slices("two", 2)]);
  expect(order).toEqual(["many", "one", "two", "many", "two", "many", "many", "many", "many"]);
});
