import { setImmediate as turn } from "node:timers/promises";
import { expect, test } from "vitest";
import { createHealLine } from "./heal.ts";

const slow = () => {
  for (const end = performance.now() + 10; performance.now() < end; );
};

test("heals after a slow one run in a later turn of the event loop, in order", async () => {
  const line = createHealLine();
  const healed: string[] = [];
  line.observe(0.1);
  expect(line.isFormed()).toBe(false);

  line.observe(10);
  expect(line.isFormed()).toBe(true);
  line.join(slow);
  line.join(() => healed.push("first"));
  line.join(() => healed.push("second"));
  await turn(); // The slow one.
  expect(healed).toEqual([]);
  await turn();
  expect(healed).toEqual(["first", "second"]);
  expect(line.isFormed()).toBe(false);
});
