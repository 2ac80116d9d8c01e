import { setImmediate as turn } from "node:timers/promises";
import { expect, test } from "vitest";
import { letOthersWork } from "./turns.ts";

test("slices of eight requests never run in the same turn of the event loop", async () => {
  let resumed = 0;
  const request = async () => {
    for (let slice = 0; slice < 3; slice++) {
      await letOthersWork();
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
