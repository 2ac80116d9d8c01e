import { describe, expect, test } from "vitest";
import { parseCommandLine, parseFormat, wholeNumber } from "./command-line.ts";

const kinds = { database: "PATH", yes: "" };

describe("command line", () => {
  test("has options and one operand", () => {
    expect(parseCommandLine(["file", "--database", "x", "--yes"], kinds, "file")).toEqual({
      values: { database: "x", yes: true },
      operand: "file",
    });
    expect(parseCommandLine(["-"], kinds, "file").operand).toBe("-");
    expect(parseCommandLine([], kinds, undefined)).toEqual({ values: {}, operand: "" });
  });

  test.each([
    [["--unknown"], undefined, "Unknown option '--unknown'."],
    [["--database"], undefined, "Option '--database <value>' argument missing"],
    [["--database="], undefined, "--database needs a value."],
    [["--yes=no"], undefined, "Option '--yes' does not take an argument"],
    [["--yes", "--yes"], undefined, "--yes is given twice."],
    [["file"], undefined, 'Unexpected argument "file".'],
    [["one", "two"], "file", 'Unexpected argument "two".'],
    [[], "file to ingest", "Name the file to ingest, or - for standard input."],
  ])("refuses %j in one sentence", (args, operand, message) => {
    expect(() => parseCommandLine(args, kinds, operand)).toThrow(message);
  });

  test("has whole numbers within bounds", () => {
    expect(wholeNumber("port", "3223", { min: 1, max: 65_535 })).toBe(3223);
    expect(wholeNumber("port", undefined, { min: 1, max: 65_535 })).toBeUndefined();
    for (const text of ["0", "65536", "1.5", "x", "-1", " 1"]) {
      expect(() => wholeNumber("port", text, { min: 1, max: 65_535 })).toThrow(
        `--port is ${JSON.stringify(text)}; expected a whole number from 1 to 65535.`,
      );
    }
  });

  test("has formats by name", () => {
    expect([parseFormat("csv"), parseFormat(undefined)]).toEqual(["csv", undefined]);
    expect(() => parseFormat("json")).toThrow('--format is "json"; expected ensrainbow, sql, csv, text.');
  });
});
