import { describe, expect, test } from "vitest";
import { detectFormat } from "./formats.ts";

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
  ])("of %j, named %s, is %s", (head, name, format) => {
    expect(detectFormat(Buffer.from(head, "latin1"), name)).toBe(format);
  });

  test("is asked for when quotes could mean two things", () => {
    expect(() => detectFormat(Buffer.from('eth\n"007"\n'), "standard input")).toThrow(/--format text/);
  });
});
