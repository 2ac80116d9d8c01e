import { describe, expect, test } from "vitest";
import { createJsonLog, escapeControls, formatSpan } from "./json-log.ts";

describe("text for logs and terminals", () => {
  test.each([
    ["plain, é, 名前, 👍", "plain, é, 名前, 👍"],
    ["a\nb\r\0", "a\\u000ab\\u000d\\u0000"],
    ["\x1b[31mred", "\\u001b[31mred"],
    ["\u0085\u2028\u2029\u202e\u200f", "\\u0085\\u2028\\u2029\\u202e\\u200f"],
    ["\u{e0041}", "\\udb40\\udc41"],
    ["\ud800", "\\ud800"],
  ])("of %j is %j", (text, escaped) => {
    expect(escapeControls(text)).toBe(escaped);
  });

  test("is one JSON line per log entry", () => {
    const lines: string[] = [];
    createJsonLog({ write: (line) => lines.push(line) }, () => new Date(0))("info", "x", {
      path: 'a\n"\u2028',
    });
    expect(lines).toEqual([
      '{"time":"1970-01-01T00:00:00.000Z","level":"info","message":"x","path":"a\\n\\"\\u2028"}\n',
    ]);
    expect(JSON.parse(lines[0]!).path).toBe('a\n"\u2028');
  });
});

test.each([
  [28_492_364, "330 days"],
  [7_300, "2 h"],
  [600, "10 min"],
  [12, "12 s"],
])("%i seconds are %s", (seconds, text) => {
  expect(formatSpan(seconds)).toBe(text);
});
