import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "better-sqlite3";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { openDatabaseReader } from "../store/database.ts";
import { ingestBytes, noProgress } from "../test-support/ingest-text.ts";
import { labelSet, runCommand } from "../test-support/run-command.ts";
import { validate } from "./validate.ts";

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "validate-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

describe("a full check", () => {
  test.each([
    [
      "a changed label",
      "UPDATE labels SET label = 'evil' WHERE label = 'eth'",
      1,
      /^The label under key \d+ has another labelhash\.$/,
    ],
    [
      "a label under another key",
      "UPDATE labels SET key = key + 1 WHERE label = 'eth'",
      1,
      /has another labelhash/,
    ],
    [
      "a missing label",
      "DELETE FROM labels WHERE label = 'eth'",
      2,
      /^There are 1 labels, but 2 are recorded\.$/,
    ],
    [
      "a wrong version",
      "UPDATE labels SET version = 7 WHERE label = 'eth'",
      2,
      /^Version 0 has 1 labels, but 2 are recorded\.$/,
    ],
    ["a missing version", "DELETE FROM versions", 2, /^2 labels are of versions that are not recorded\.$/],
    [
      "a wrong count",
      "UPDATE label_set SET records_count = 3",
      1,
      /^There are 2 labels, but 3 are recorded\.$/,
    ],
    [
      "a wrong collision",
      "INSERT INTO collisions VALUES (zeroblob(32), 0, 'x')",
      3,
      /^The colliding label under 0x0{64} has/,
    ],
  ])("finds %s", async (_, sql, faults, first) => {
    const databasePath = join(folder, "labels.sqlite");
    await ingestBytes("eth\nxyz\n", { databasePath });
    new Database(databasePath).exec(sql).close();
    const reader = openDatabaseReader(databasePath);
    const result = validate(reader, noProgress);
    reader.close();
    expect(result.faults).toBe(faults);
    expect(result.descriptions[0]).toMatch(first);
  });
});

describe("validate", () => {
  const ingest = (version: number, stdin: string) =>
    runCommand(["ingest", "-", ...labelSet("ens-test-env", version)], { folder, stdin });

  test("reports a sound database", async () => {
    await ingest(0, "eth\nxyz\n");
    await ingest(1, "test\n");
    expect(await runCommand(["validate"], { folder })).toEqual({
      code: 0,
      stdout: '3 labels of "ens-test-env", versions 0 to 1: no faults.\n',
      stderr: "",
    });
  });

  test("describes the errors and exits with code 1", async () => {
    await ingest(0, "eth\nxyz\n");
    const path = join(folder, "data/labels.sqlite");
    new Database(path).exec("UPDATE labels SET label = 'evil' WHERE label = 'eth'").close();
    expect(await runCommand(["validate", "--database", path], { folder })).toEqual({
      code: 1,
      stdout: "",
      // 0x4f5b812789fc6, the first 52 bits of the labelhash of "eth".
      stderr:
        "The label under key 1396070839525318 has another labelhash.\n" +
        '1 fault in 2 labels of "ens-test-env".\n',
    });
  });

  test("describes twenty of many errors", async () => {
    await ingest(0, Array.from({ length: 30 }, (_, i) => `label${i}\n`).join(""));
    new Database(join(folder, "data/labels.sqlite")).exec("UPDATE labels SET label = label || '!'").close();
    const { code, stderr } = await runCommand(["validate"], { folder });
    expect(code).toBe(1);
    expect(stderr.split("\n").length).toBe(20 + 1 + 1);
    expect(stderr).toContain('30 faults in 30 labels of "ens-test-env".');
  });
});
