import { describe, expect, test } from "vitest";
import { unescapeCopyText } from "./copy-text.ts";

const unescaped = (text: string) => {
  const bytes = Buffer.from(`<<${text}>>`);
  return unescapeCopyText(bytes, 2, bytes.length - 2)?.toString("utf8");
};

describe("COPY text", () => {
  test.each([
    ["plain", "plain"],
    ["", ""],
    ["\\\\", "\\"],
    ["\\b\\f\\n\\r\\t\\v", "\b\f\n\r\t\v"],
    ["a\\\\nb", "a\\nb"],
    ["\\101\\60x", "A0x"],
    ["\\x41\\x7a!", "Az!"],
    ["\\q\\.", "q."],
    ["\\x", "x"],
    ["é\\té", "é\té"],
    ["\\303\\251", "é"],
    [" \\N", " N"],
  ])("%j is %j", (text, value) => {
    expect(unescaped(text)).toBe(value);
  });

  test.each(["\\N", "abc\\"])("%j is no value", (text) => {
    expect(unescaped(text)).toBeUndefined();
  });
});
