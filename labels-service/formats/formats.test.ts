import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { labelhash } from "../../src/ens/labels.ts";
import { collect } from "../../test/support/labels/collect.ts";
import { detectFormat, type FormatName, formatNames, formats } from "./formats.ts";

describe("format of an input", () => {
  test.each([
    ["\x1e\n\nensrainbow\x10\x01", "anything", "ensrainbow"],
    ["-- x\nCOPY public.ens_names (hash, name) FROM stdin;\n", "standard input", "sql"],
    ["COPY ens_names FROM stdin;\n", "names.txt", "sql"],
    ["eth\nxyz\n", "standard input", "text"],
    ['"eth"\n', "labels.csv", "csv"],
    ['"eth"\n', "labels.CSV.gz", "csv"],
    ['"eth"\n', "labels.txt", "text"],
    ["eth\n", "labels.csv", "csv"],
    ["", "standard input", "text"],
    // A label may contain anything, even a COPY statement.
    ["\x1e\n\nensrainbow\x10\x01\nCOPY ens_names FROM stdin;\n", "names.sql", "ensrainbow"],
  ])("of %j, named %s, is %s", (head, name, format) => {
    expect(detectFormat(Buffer.from(head, "latin1"), name)).toBe(format);
  });

  test("is required when quotes are ambiguous", () => {
    expect(() => detectFormat(Buffer.from('eth\n"007"\n'), "standard input")).toThrow(/--format text/);
  });
});

// Header, "eth" and the empty label.
const records = Buffer.from(
  "1e0a0a656e737261696e626f7710011a0c656e732d746573742d656e762000" +
    "270a204f5b812789fc606be1b3b16908db13fc7a9adf7ca72641f84d75b47069d3d7f01203657468" +
    "220a20c5d2460186f7233c927e7db2dcc703c0e500b653ca82273b7bfad8045d85a470",
  "hex",
);
const row = (label: string) => `${labelhash(label)}\t${label}\n`;

test.each<[FormatName, string | Buffer]>([
  ["ensrainbow", records],
  ["sql", `--\nCOPY ens_names FROM stdin;\n${row("eth")}${labelhash("x\\y")}\tx\\\\y\n${row("👍")}\\.\n`],
  ["csv", '\ufeffone\r\n"t\r\nwo ""b"""\r\n\nx,"y\nz"\nlast\r'],
  ["text", "\ufeffoné\ntwo\n\nß👍"],
])("%s is the same in pieces of any size", async (name, text) => {
  const { createParser } = formats[name];
  const bytes = Buffer.from(text);
  const whole = await collect(createParser, [bytes]);
  const single = Array.from(bytes, (byte) => Buffer.from([byte]));
  expect(await collect(createParser, single)).toEqual(whole);
  for (let cut = 1; cut < bytes.length; cut++)
    expect(await collect(createParser, [bytes.subarray(0, cut), bytes.subarray(cut)])).toEqual(whole);
});

test("plain text has one label per line, taken literally: empty, blank, quoted, with CR, NUL and U+2028", async () => {
  const labelsOf = async (text: string) =>
    (await collect(formats.text.createParser, [Buffer.from(text)])).labels;
  const labels = ["eth", "", "  ", '"007"', "a\r", "\0", "\u2028", "\ufeffxyz"];
  expect(await labelsOf(`\ufeff${labels.join("\n")}`)).toEqual(labels);
  expect(await labelsOf(`${labels.join("\n")}\n`)).toEqual(labels);
  expect(await labelsOf("")).toEqual([]);
});

test.each(["text", "csv"] as const)("a row of %s that never ends is refused", async (name) => {
  for (const byte of ["x", ",", '"'])
    await expect(
      collect(formats[name].createParser, ["eth\n", byte.repeat(17 * 1024 * 1024)]),
    ).rejects.toThrow("The row at line 2 is longer than 16777216 bytes.");
});

test("every format is documented as the command line explains it, in the order of detection", () => {
  const guide = readFileSync(new URL("../../docs/labels.md", import.meta.url), "utf8");
  const documented = [...guide.matchAll(/^\| ([^|]+) \| `([a-z]+)` \| ([^|]+) \|/gm)].map((row) =>
    row.slice(1),
  );
  expect(documented).toEqual(
    formatNames.map((name) => [formats[name].title, name, formats[name].recognisedBy]),
  );
});
