import { expect, test } from "vitest";
import { hasTag } from "./etag.ts";

// RFC 9110: the table of 8.8.3.2 (weak comparison), and the examples of 13.1.2.
test.each([
  ['W/"1"', 'W/"1"', true],
  ['W/"1"', 'W/"2"', false],
  ['W/"1"', '"1"', true],
  ['"1"', 'W/"1"', true],
  ['"1"', '"1"', true],
  ['"xyzzy"', '"xyzzy"', true],
  ['W/"xyzzy"', '"xyzzy"', true],
  ['"xyzzy", "r2d2xxxx", "c3piozzzz"', '"c3piozzzz"', true],
  ['W/"xyzzy", W/"r2d2xxxx", W/"c3piozzzz"', '"r2d2xxxx"', true],
  ['"xyzzy", "r2d2xxxx", "c3piozzzz"', '"xyz"', false],
  ["*", '"xyzzy"', true],
])("If-None-Match: %s and ETag: %s: %s", (ifNoneMatch, tag, expected) => {
  expect(hasTag(ifNoneMatch, tag)).toBe(expected);
});

// 8.8.3: `entity-tag = [ weak ] opaque-tag`, `weak = %s"W/"`, with commas and nothing among the characters of opaque
// tags. 5.6.1: lists.
test.each([
  [undefined, '"1"', false],
  ["", '""', false],
  ['""', '""', true],
  ['"a,b"', '"a,b"', true],
  ['"a,b"', '"a"', false],
  [' , "1" ,\t"2",', '"2"', true],
  ['"1","2"', '"2"', true],
  [" * ", '"1"', true],
  ['"*"', '"1"', false],
  // Malformed.
  ["1", '"1"', false],
  ['"1', '"1"', false],
  ['"2" *', '"1"', false],
])("If-None-Match: %j and ETag: %s: %s", (ifNoneMatch, tag, expected) => {
  expect(hasTag(ifNoneMatch, tag)).toBe(expected);
});
