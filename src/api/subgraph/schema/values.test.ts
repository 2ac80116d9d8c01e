import { parseValue } from "graphql";
import { expect, test } from "vitest";
import { coerce, nameOf, readValue, show } from "./inputs.ts";

test.each([
  ["ID", 5, "5"],
  ["ID", "0xAb", "0xAb"],
  ["ID", 1.5, undefined],
  ["String", "a", "a"],
  ["String", 5, undefined],
  ["String", Symbol("eth"), undefined],
  ["Boolean", true, "true"],
  ["Boolean", "true", undefined],
  ["Int", 2_147_483_647, "2147483647"],
  ["Int", 2_147_483_648, undefined],
  ["Int", "5", undefined],
  ["BigInt", "-5", "-5"],
  ["BigInt", 9_223_372_036_854_775_807n, "9223372036854775807"],
  ["BigInt", 9_223_372_036_854_775_808n, undefined],
  ["BigInt", "9223372036854775808", "9223372036854775808"],
  ["BigInt", "1e3", undefined],
  ["BigInt", "", undefined],
  ["Bytes", "0xABcd", "0xabcd"],
  ["Bytes", "ABcd", "0xabcd"],
  ["Bytes", "0x", "0x"],
  ["Bytes", 5, undefined],
] as const)("reads %s from %s", (scalar, value, text) => {
  expect(coerce(scalar, value)).toBe(text);
});

test.each(["0x0", "0xzz", "0X00", "é"])("refuses %s as bytes", (value) => {
  expect(() => coerce("Bytes", value)).toThrow("Failed to decode `Bytes` value");
});

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

test("shows values in messages shortened to one line", () => {
  expect(show({ a: [1n, Symbol("up"), "x\ny"] })).toBe('{"a":["1","up","x\\ny"]}');
  expect(show("y".repeat(100))).toBe(`"${"y".repeat(56)}...`);
});
