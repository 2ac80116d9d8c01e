import { setImmediate as turn } from "node:timers/promises";
import { expect, test } from "vitest";
import { createHealLine } from "./heal.ts";

const slow = () => {
  for (const end = performance.now() + 10; performance.now() < end; );
};

test("heals run at once, and those after a slow one in a later turn of the event loop, in order", async () => {
  const inLine = createHealLine();
  const healed: string[] = [];
  inLine(() => healed.push("first"));
  expect(healed).toEqual(["first"]);

  inLine(slow);
  inLine(slow);
  inLine(() => healed.push("second"));
  inLine(() => healed.push("third"));
  expect(healed).toEqual(["first"]);
  await turn(); // The second slow one.
  expect(healed).toEqual(["first"]);
  await turn();
  expect(healed).toEqual(["first", "second", "third"]);

  inLine(() => healed.push("fourth"));
  expect(healed).toHaveLength(4);
});
