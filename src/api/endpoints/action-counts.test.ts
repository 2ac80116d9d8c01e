import { expect, test } from "vitest";
import { createActionCounts } from "./action-counts.ts";
import type { ActionCount } from "./registrar-actions-query.ts";

function createCounts(results: (ActionCount | Error)[]) {
  const asked: (ActionCount | undefined)[] = [];
  const countOf = createActionCounts(async (_, before) => {
    asked.push(before);
    const result = results[asked.length - 1];
    if (result === undefined || result instanceof Error) throw result ?? new Error("one count too many");
    return result;
  });
  return { countOf, asked };
}
const first = { settledUpTo: "1", settled: 3, total: 5 };
const second = { settledUpTo: "2", settled: 5, total: 6 };

test("counts once for a head, also when asked at the same time", async () => {
  const { countOf, asked } = createCounts([first]);
  expect(await Promise.all([countOf({}, "1:7"), countOf({}, "1:7")])).toEqual([5, 5]);
  expect(await countOf({}, "1:7")).toBe(5);
  expect(asked).toEqual([undefined]);
});

test("counts on from the former number when the head moved", async () => {
  const { countOf, asked } = createCounts([first, second]);
  await countOf({}, "1:7");
  expect(await countOf({}, "1:8")).toBe(6);
  expect(asked).toEqual([undefined, first]);
});

test("keeps filters apart", async () => {
  const { countOf, asked } = createCounts([first, second]);
  expect(await countOf({ type: "renewal" }, "1:7")).toBe(5);
  expect(await countOf({ type: "registration" }, "1:7")).toBe(6);
  expect(asked).toEqual([undefined, undefined]);
});

test("forgets a count that failed, not the one before it", async () => {
  const { countOf, asked } = createCounts([first, new Error("no database"), second]);
  await countOf({}, "1:7");
  await expect(countOf({}, "1:8")).rejects.toThrow("no database");
  expect(await countOf({}, "1:8")).toBe(6);
  expect(asked).toEqual([undefined, first, first]);
});
