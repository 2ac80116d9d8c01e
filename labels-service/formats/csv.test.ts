import { describe, expect, test } from "vitest";
import { collect } from "../../test/support/labels/collect.ts";
import { csv } from "./csv.ts";

const parse = (...pieces: (string | Buffer)[]) => collect(csv.createParser, pieces);

describe("CSV", () => {
  test("has one label per row, quoted if needed", async () => {
    const { labels, invalid } = await parse('eth\n"a,b"\n"say ""hi"""\n"two\nlines"\r\n[x]\n');
    expect(labels).toEqual(["eth", "a,b", 'say "hi"', "two\nlines", "[x]"]);
    expect(invalid).toEqual([]);
  });

  test("keeps blanks, and skips empty rows and a byte order mark", async () => {
    expect((await parse('\ufeff\n\n x \n""\nlast')).labels).toEqual([" x ", "last"]);
  });

  test("returns the bytes unchanged, valid UTF-8 or not", async () => {
    const bytes: Buffer[] = [];
    const parser = csv.createParser({
      label: (b, s, e) => bytes.push(Buffer.from(b.subarray(s, e))),
      invalid: () => {},
      ignored: () => {},
    });
    parser.push(Buffer.from([0xff, 0xfe, 0x0a]));
    await parser.end();
    expect(bytes).toEqual([Buffer.from([0xff, 0xfe])]);
  });

  test("reports the line of a row with more columns", async () => {
    expect(await parse('eth\n"a\nb"\nx,y\nz\n')).toEqual({
      labels: ["eth", "a\nb", "z"],
      given: [undefined, undefined, undefined],
      invalid: ["line 4: it has 2 columns; expected one"],
      ignored: [],
    });
  });

  test("reports the line of a stray quote and of an unclosed one", async () => {
    expect((await parse('eth\nbad"quote\nxyz\n')).invalid[0]).toBe(
      "line 2: an unquoted label contains a quote",
    );
    expect((await parse('eth\n"x"y\n')).invalid[0]).toBe("line 2: text follows a closing quote");
    expect((await parse('eth\n"never closed\nxyz\n')).invalid[0]).toMatch(/: a quote is never closed$/);
  });

  test("goes on at the line after a bad row", async () => {
    const { labels, invalid } = await parse('a"\n"b"c\n"d"\r \ne\n"f"');
    expect(labels).toEqual(["e", "f"]);
    expect(invalid).toEqual([
      "line 1: an unquoted label contains a quote",
      "line 2: text follows a closing quote",
      "line 3: text follows a closing quote",
    ]);
  });
});
