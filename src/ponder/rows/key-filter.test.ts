import { expect, test } from "vitest";
import { createKeyFilter } from "./key-filter.ts";

const key = (place: number) => `0x${place.toString(16).padStart(64, "0")}`;

test("knows every key that was added, and few others, as it grows", () => {
  const filter = createKeyFilter();
  const keys = Array.from({ length: 300_000 }, (_, place) => key(place));
  for (const one of keys) filter.add(one);
  expect(keys.every((one) => filter.mayHave(one))).toBe(true);
  const others = Array.from({ length: 20_000 }, (_, place) => key(1_000_000 + place));
  expect(others.filter((one) => filter.mayHave(one)).length).toBeLessThan(20_000 * 0.05);
});

test("knows no key at first", () => {
  expect(createKeyFilter().mayHave(key(1))).toBe(false);
});
