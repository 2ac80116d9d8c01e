import { describe, expect, test } from "vitest";
import { collect } from "../test-support/collect.ts";
import { startOfInput } from "./parser.ts";
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

  test("may arrive in chunks that split lines and characters", async () => {
    const bytes = Buffer.from("éa\nß👍\n");
    expect(await labelsOf(...Array.from(bytes, (byte) => Buffer.from([byte])))).toEqual(["éa", "ß👍"]);
  });

  test("drops a byte order mark at the very beginning", async () => {
    expect(await labelsOf("\ufeffeth\n\ufeffxyz\n")).toEqual(["eth", "\ufeffxyz"]);
  });

  test("refuses a line that never ends", async () => {
    await expect(labelsOf(Buffer.alloc(17 * 1024 * 1024, "x"))).rejects.toThrow(
      "Line 1 is longer than 16777216 bytes.",
    );
  });

  test("resumes from a checkpoint", () => {
    const rows: string[] = [];
    const sink = {
      label: (b: Buffer, s: number, e: number) => rows.push(b.toString("utf8", s, e)),
      invalid: () => {},
      ignored: () => {},
    };
    const first = text.createParser(sink, startOfInput);
    first.push(Buffer.from("one\ntwo\nthr"));
    const checkpoint = first.checkpoint();
    expect(checkpoint).toEqual({ offset: 8, rows: 2, isInside: false });
    const second = text.createParser(sink, checkpoint);
    second.push(Buffer.from("three\n"));
    expect(rows).toEqual(["one", "two", "three"]);
    expect(second.position()).toBe("line 3");
  });
});
