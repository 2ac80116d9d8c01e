import { expect, test } from "vitest";
import { createFaults } from "./server.ts";

const hundred = (faults: ReturnType<typeof createFaults>, methods = ["eth_getLogs"]) =>
  Array.from({ length: 100 }, () => faults.statusFor(methods));

test("the same seed fails the same share of requests", () => {
  const [one, other] = [createFaults(), createFaults()];
  for (const faults of [one, other]) faults.set({ fail: { rate: 0.3, seed: 9 } });
  const statuses = hundred(one);
  expect(hundred(other)).toEqual(statuses);
  const failed = statuses.filter((status) => status === 503).length;
  expect(failed).toBeGreaterThan(15);
  expect(failed).toBeLessThan(45);
});

test("methods limit failures to requests that contain one of them", () => {
  const faults = createFaults();
  faults.set({ fail: { methods: ["eth_getLogs"] } });
  expect(faults.statusFor(["eth_chainId"])).toBeUndefined();
  expect(faults.statusFor(["eth_chainId", "eth_getLogs"])).toBe(503);
});

test("a change keeps the settings that it does not name", () => {
  const faults = createFaults();
  faults.set({ delayMs: 20, down: true });
  faults.set({ down: false });
  expect(faults.current()).toEqual({ delayMs: 20, down: false, fail: undefined });
});

test.each([{ delayMs: -1 }, { fail: { rate: 2 } }, { fail: { status: 200 } }, { sleep: 5 }])(
  "%j is refused",
  (change) => {
    expect(() => createFaults().set(change as never)).toThrow();
  },
);
