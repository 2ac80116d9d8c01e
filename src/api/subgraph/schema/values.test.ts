import { parseValue } from "graphql";
import { expect, test } from "vitest";
import { nameOf, readValue } from "./inputs.ts";

test("reads literals with variables substituted", () => {
  const variables = new Map<string, string | null>([
    ["given", "x"],
    ["nothing", null],
  ]);
  const value = readValue(
    parseValue(
      '{ a: [1, 12345678901234567890, 1.5, "s", true, null], b: $given, c: $nothing, d: $absent, __proto__: 1 }',
    ),
    variables,
    5,
  );
  expect(Object.entries(value as object)).toEqual([
    ["a", [1, 12_345_678_901_234_567_890n, 1.5, "s", true, null]],
    ["b", "x"],
    ["c", null],
    ["d", null],
    ["__proto__", 1],
  ]);
});

test("distinguishes enum names from strings, and accepts both as names", () => {
  const bare = readValue(parseValue("createdAt"), new Map(), 1);
  expect([typeof bare, nameOf(bare), nameOf("createdAt"), nameOf(5)]).toEqual([
    "symbol",
    "createdAt",
    "createdAt",
    undefined,
  ]);
});
