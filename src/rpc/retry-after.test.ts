import { expect, test, vi } from "vitest";
import { readRetryAfter } from "./retry-after.ts";

// RFC 9110, 10.2.3.
test.each([
  ["120", 120_000],
  ["Fri, 31 Dec 1999 23:59:59 GMT", 4_000],
  ["Fri, 31 Dec 1999 23:59:50 GMT", 0],
  ["-1s", undefined],
  ["soon", undefined],
  [undefined, undefined],
])("%s is %s ms", (text, expected) => {
  vi.useFakeTimers({ now: Date.UTC(1999, 11, 31, 23, 59, 55) });
  const headers = text === undefined ? {} : { "retry-after": text };
  expect(readRetryAfter(new Response(null, { headers }))).toBe(expected);
  vi.useRealTimers();
});
