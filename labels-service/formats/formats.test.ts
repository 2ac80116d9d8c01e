import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { detectFormat, formatNames, formatOf } from "./formats.ts";

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

test("every format is documented as the command line explains it, in the order of detection", () => {
  const guide = readFileSync(new URL("../../docs/labels.md", import.meta.url), "utf8");
  const documented = [...guide.matchAll(/^\| ([^|]+) \| `([a-z]+)` \| ([^|]+) \|/gm)].map((row) =>
    row.slice(1),
  );
  expect(documented).toEqual(
    formatNames.map((name) => [formatOf(name).title, name, formatOf(name).recognisedBy]),
  );
});
