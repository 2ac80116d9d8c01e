import { expect, test } from "vitest";
import { createFaults } from "./server.ts";

const hundred = (faults: ReturnType<typeof createFaults>) =>
  Array.from({ length: 100 }, () => faults.statusFor(["eth_getLogs"]));

test("the same seed fails the same share of requests", () => {
  const [one, other] = [createFaults(), createFaults()];
  for (const faults of [one, other]) faults.set({ fail: { rate: 0.3, seed: 9 } });
  const statuses = hundred(one);
  expect(hundred(other)).toEqual(statuses);
  const failed = statuses.filter((status) => status === 503).length;
  expect(failed).toBeGreaterThan(15);
  expect(failed).toBeLessThan(45);
});

test.each([{ delayMs: -1 }, { fail: { rate: 2 } }, { fail: { status: 200 } }, { sleep: 5 }])(
  "%j is refused",
  (change) => {
    expect(() => createFaults().set(change as never)).toThrow();
  },
);
