import { expect, test } from "vitest";
import { createKeyFilter } from "./key-filter.ts";

const key = (index: number) => `0x${index.toString(16).padStart(64, "0")}`;

test("knows every key that was added, and few others, as it grows", () => {
  const filter = createKeyFilter();
  const keys = Array.from({ length: 300_000 }, (_, index) => key(index));
  for (const one of keys) filter.add(one);
  expect(keys.every((one) => filter.mayHave(one))).toBe(true);
  const others = Array.from({ length: 20_000 }, (_, index) => key(1_000_000 + index));
  expect(others.filter((one) => filter.mayHave(one)).length).toBeLessThan(20_000 * 0.05);
});
