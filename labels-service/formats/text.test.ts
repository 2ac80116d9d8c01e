import { describe, expect, test } from "vitest";
import { collect } from "../../test/support/labels/collect.ts";
import { text } from "./text.ts";

const labelsOf = async (...pieces: (string | Buffer)[]) => (await collect(text.createParser, pieces)).labels;

describe("plain text", () => {
  test("has one label per line, the last line feed is optional", async () => {
    expect(await labelsOf("eth\nxyz\n")).toEqual(["eth", "xyz"]);
    expect(await labelsOf("eth\nxyz")).toEqual(["eth", "xyz"]);
    expect(await labelsOf("")).toEqual([]);
  });

  test("takes lines literally: empty, blank, quoted, with CR, NUL and U+2028", async () => {
    expect(await labelsOf('\n  \n"007"\na\r\n\0\n\u2028\n')).toEqual([
      "",
      "  ",
      '"007"',
      "a\r",
      "\0",
      "\u2028",
    ]);
  });

  test("drops a byte order mark at the very beginning", async () => {
    expect(await labelsOf("\ufeffeth\n\ufeffxyz\n")).toEqual(["eth", "\ufeffxyz"]);
  });

  test("refuses a line that never ends", async () => {
    await expect(labelsOf(Buffer.alloc(17 * 1024 * 1024, "x"))).rejects.toThrow(
      "The row at line 1 is longer than 16777216 bytes.",
    );
  });
});
