import { describe, expect, test } from "vitest";
import { labelhash } from "../../src/ens/labels.ts";
import { collect } from "../../test/support/labels/collect.ts";
import { InputError } from "./parser.ts";
import { sqlDump, unescapeCopyText } from "./sql-dump.ts";

const preamble = "--\n-- PostgreSQL database dump\n--\n\nSET client_encoding = 'UTF8';\n";
const copy = "COPY public.ens_names (hash, name) FROM stdin;\n";
const end = "\\.\n\n--\n-- PostgreSQL database dump complete\n--\n";
const ethHash = "0x4f5b812789fc606be1b3b16908db13fc7a9adf7ca72641f84d75b47069d3d7f0";
const row = (label: string) => `${labelhash(label)}\t${label}\n`;

const parse = (...pieces: string[]) => collect(sqlDump.createParser, pieces);

describe("SQL dump", () => {
  test("has its labels between the COPY statement and the line of backslash and dot", async () => {
    const { labels, given, invalid } = await parse(
      `${preamble}${copy}${ethHash}\teth\n${row("xyz")}${end}${row("no")}`,
    );
    expect(labels).toEqual(["eth", "xyz"]);
    expect(given[0]).toBe(ethHash.slice(2));
    expect(invalid).toEqual([]);
  });

  test("keeps blank, empty and escaped labels, and those with CR and U+2028", async () => {
    const text = `${row("")}${row("  ")}${row("a\rb")}${row("\u2028")}${ethHash}\ta\\\\b\\tc\\nd\n`;
    expect((await parse(copy + text + end)).labels).toEqual(["", "  ", "a\rb", "\u2028", "a\\b\tc\nd"]);
  });

  test("reports the stray header row without counting it as invalid", async () => {
    const { labels, invalid, ignored } = await parse(`${copy}${row("eth")}hash\tname\n${row("xyz")}${end}`);
    expect({ labels, invalid, ignored }).toEqual({
      labels: ["eth", "xyz"],
      invalid: [],
      ignored: ["line 3: a header among the rows"],
    });
  });

  test("accepts upper-case hashes and a table without column names or schema", async () => {
    const upper = `0x${ethHash.slice(2).toUpperCase()}`;
    const { given } = await parse(`COPY ens_names FROM stdin;\n${upper}\teth\n${end}`);
    expect(given).toEqual([ethHash.slice(2)]);
  });

  test.each([
    ["a short hash", `${ethHash.slice(0, -1)}\teth\n`],
    ["a hash without prefix", `${ethHash.slice(2)}00\teth\n`],
    ["a letter that is not a digit", `${ethHash.slice(0, -1)}g\teth\n`],
    ["no tab", `${ethHash} eth\n`],
    ["no label", `${ethHash}\n`],
    ["an empty line", "\n"],
  ])("reports a row with %s as invalid", async (_, text) => {
    const { labels, invalid } = await parse(copy + text + row("xyz") + end);
    expect(labels).toEqual(["xyz"]);
    expect(invalid).toEqual(["line 2: it is not a labelhash, a tab and a label"]);
  });

  test("reports null and broken escapes as invalid", async () => {
    const { invalid } = await parse(`${copy}${ethHash}\t\\N\n${ethHash}\tx\\\n${end}`);
    expect(invalid).toEqual([
      "line 2: the label is null, or its escapes are broken",
      "line 3: the label is null, or its escapes are broken",
    ]);
  });

  test("detects a missing end", async () => {
    expect((await parse(copy + row("eth"))).invalid).toEqual([
      "line 3: the dump ends before the end of its rows",
    ]);
    expect((await parse(copy + row("eth").slice(0, -1))).invalid).toEqual([
      "line 2: the dump ends before the end of its rows",
    ]);
  });

  test("rejects a dump without the table, or with other columns", async () => {
    await expect(parse(preamble)).rejects.toThrow(InputError);
    await expect(parse("COPY public.ens_names (name, hash) FROM stdin;\n")).rejects.toThrow(
      "Line 1: the table's columns are (name,hash); expected (hash,name).",
    );
  });
});

const unescaped = (text: string) => unescapeCopyText(Buffer.from(text).toString("latin1"))?.toString("utf8");

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

  test.each(["\\N", "abc\\"])("%j is not a value", (text) => {
    expect(unescaped(text)).toBeUndefined();
  });
});
