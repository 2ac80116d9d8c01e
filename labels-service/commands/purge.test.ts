import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { ingestFolder, lockFolder } from "../ingest/ingest.ts";
import { labelSet, runCommand } from "../test-support/run-command.ts";

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "purge-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

const database = () => join(folder, "data/labels.sqlite");
const ingest = () => runCommand(["ingest", "-", ...labelSet("x", 0)], { folder, stdin: "eth\n" });

describe("purge", () => {
  test("deletes the database and the leftovers of an ingest", async () => {
    await ingest();
    mkdirSync(ingestFolder(database()));
    writeFileSync(join(ingestFolder(database()), "spill"), "");
    expect(await runCommand(["purge", "--yes"], { folder })).toEqual({
      code: 0,
      stdout: `Deleted ${database()}.\n`,
      stderr: "",
    });
    expect([existsSync(database()), existsSync(ingestFolder(database()))]).toEqual([false, false]);
  });

  test("has nothing to do without a database", async () => {
    expect(await runCommand(["purge", "--database", "/nowhere/x.sqlite"], { folder })).toEqual({
      code: 0,
      stdout: "There is nothing at /nowhere/x.sqlite.\n",
      stderr: "",
    });
  });

  test.each([
    ["y\n", true],
    ["YES\n", true],
    ["n\n", false],
    ["\n", false],
    ["yellow\n", false],
    ["", false],
  ])("asks at a terminal; after %j the database is deleted: %s", async (answer, isDeleted) => {
    await ingest();
    expect(await runCommand(["purge"], { folder, answer })).toEqual({
      code: 0,
      stdout: isDeleted ? `Deleted ${database()}.\n` : "Nothing was deleted.\n",
      stderr: `Delete ${database()}? [y/N] `,
    });
    expect(existsSync(database())).toBe(!isDeleted);
  });

  test("deletes nothing without --yes when nobody can be asked", async () => {
    await ingest();
    expect(await runCommand(["purge"], { folder, stdin: "y\n" })).toEqual({
      code: 1,
      stdout: "",
      stderr: "Deleting needs --yes when nobody can be asked.\n",
    });
    expect(existsSync(database())).toBe(true);
  });

  test("deletes nothing while an ingest is running", async () => {
    await ingest();
    const unlock = lockFolder(ingestFolder(database()));
    expect(await runCommand(["purge", "--yes"], { folder })).toEqual({
      code: 1,
      stdout: "",
      stderr: "Another ingest into this database is running.\n",
    });
    expect(existsSync(database())).toBe(true);
    unlock();
  });
});
