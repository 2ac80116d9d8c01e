import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { labelSet, runCommand } from "./test-support/run-command.ts";

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "main-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

describe("label commands", () => {
  test.each<[string[], string | RegExp, string?]>([
    [[], "A command is missing: ingest, serve, stats, validate, export, convert, purge.\n"],
    [["injest"], /^Unknown command "injest"; expected ingest, /],
    [["toString"], /^Unknown command "toString"/],
    [["serve", "--prot", "1"], "Unknown option '--prot'.\n"],
    [["serve", "--port", "70000"], '--port is "70000"; expected a whole number from 1 to 65535.\n'],
    [["ingest"], "Name the file to ingest, or - for standard input.\n"],
    [["ingest", "no\nfile", ...labelSet("x", 0)], 'There is no file "no\\nfile".\n'],
    [["ingest", ".", ...labelSet("x", 0)], '"." is a folder, not a file.\n'],
    [["ingest", "-"], /^--label-set-id and --label-set-version are needed/, "eth\n"],
    [["ingest", "-", ...labelSet("Set 1", 0)], /^"Set 1" is not a label set id/, "eth\n"],
    [
      ["ingest", "-", "--label-set-id", "x", "--label-set-version", "-1"],
      /^Option '--label-set-version' argument is ambiguous/,
    ],
    [["ingest", "-", "--label-set-id", "x", "--label-set-version", "one"], /^--label-set-version is "one"/],
    [["ingest", "-", ...labelSet("x", 1)], /^There is no database yet, so only version 0/, "eth\n"],
    [["ingest", "-", ...labelSet("x", 0), "--format", "json"], /^--format is "json"/],
    [["stats"], /^Label database ".*\/data\/labels.sqlite" cannot be used: there is no such file/],
    [["validate"], /there is no such file/],
    [["export"], /there is no such file/],
    [["convert", "-"], "--label-set-id is needed.\n", "eth\n"],
  ])("%j exits with one line and code 1, and writes nothing", async (args, message, stdin) => {
    const { code, stdout, stderr } = await runCommand(args, {
      folder,
      ...(stdin === undefined ? {} : { stdin }),
    });
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    if (typeof message === "string") expect(stderr).toBe(message);
    else expect(stderr).toMatch(message);
    expect(stderr.split("\n").length).toBe(2);
    expect(readdirSync(folder)).toEqual([]);
  });
});
