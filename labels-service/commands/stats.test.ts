import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { labelSet, runCommand } from "../test-support/run-command.ts";

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "stats-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

describe("stats", () => {
  const ingest = (version: number, stdin: string) =>
    runCommand(["ingest", "-", ...labelSet("ens-test-env", version)], { folder, stdin });

  test("shows label set, versions, number of labels and size", async () => {
    // The last two share the first 52 bits of their labelhashes, 0x18a9aa1d538ac.
    await ingest(0, "eth\nxyz\nlabel20137914\nlabel65389467\n");
    await ingest(1, "eth\ntest\n");
    const path = join(folder, "data/labels.sqlite");
    const { size } = statSync(path);
    const { code, stdout, stderr } = await runCommand(["stats"], { folder });
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    const time = /[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}\.[0-9]{3}Z/;
    expect(stdout.split("\n").map((line) => line.replace(time, "TIME"))).toEqual([
      `database         ${path}`,
      "schema version   1",
      "label set        ens-test-env",
      "highest version  1",
      "labels           5",
      "colliding keys   1",
      `size             ${size.toLocaleString("en-US")} bytes`,
      `bytes a label    ${(size / 5).toFixed(1)}`,
      "version 0        4 labels, ingested TIME",
      "version 1        1 label, ingested TIME",
      "",
    ]);
  });

  test("of an empty label set has no bytes per label", async () => {
    await ingest(0, "");
    const { stdout } = await runCommand(["stats"], { folder });
    expect(stdout).toMatch(/^labels +0$/m);
    expect(stdout).toMatch(/^bytes a label +-$/m);
  });

  test("rejects a file that is not a label database", async () => {
    const path = join(folder, "nothing.sqlite");
    expect(await runCommand(["stats", "--database", path], { folder })).toEqual({
      code: 1,
      stdout: "",
      stderr: `Label database ${JSON.stringify(path)} cannot be used: there is no such file, or it cannot be read.\n`,
    });
  });
});
