import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { labelSet, runCommand } from "../test-support/run-command.ts";

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "export-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

// Layout of .ensrainbow files: a header (identifier, format version 1, id, version), then labelhash and label of each.
const hex = (text: string) => text.replaceAll(/\s/g, "");
const header = (version: string) =>
  hex(`1e 0a0a656e737261696e626f77 1001 1a0c656e732d746573742d656e76 ${version}`);
const eth = hex("27 0a20 4f5b812789fc606be1b3b16908db13fc7a9adf7ca72641f84d75b47069d3d7f0 1203 657468");
const empty = hex("22 0a20 c5d2460186f7233c927e7db2dcc703c0e500b653ca82273b7bfad8045d85a470");
const vitalik = hex(
  "2b 0a20 af2caa1c2ca1d027f1ac823b529d0a67cd144264b2789fa2ea4d63a67c7103cc 1207 766974616c696b",
);

describe("export", () => {
  const ingest = (version: number, stdin: string) =>
    runCommand(["ingest", "-", ...labelSet("ens-test-env", version)], { folder, stdin });
  const exportTo = async (name: string, ...args: string[]) => {
    const path = join(folder, name);
    const { code, stdout, stderr } = await runCommand(["export", ...args, "--output", path], { folder });
    return {
      code,
      stdout: stdout.replace(path, "FILE"),
      stderr,
      bytes: () => readFileSync(path).toString("hex"),
    };
  };

  test("writes what one version added, in the order of the labelhashes", async () => {
    await ingest(0, "vitalik\neth\n");
    await ingest(1, "eth\n\n");
    const highest = await exportTo("new/highest.ensrainbow");
    expect(highest).toMatchObject({
      code: 0,
      stdout: 'Wrote 1 label of version 1 of "ens-test-env" to FILE.\n',
      stderr: "",
    });
    expect(highest.bytes()).toBe(header("2001") + empty);
    const base = await exportTo("base.ensrainbow", "--label-set-version", "0");
    expect(base.stdout).toBe('Wrote 2 labels of version 0 of "ens-test-env" to FILE.\n');
    expect(base.bytes()).toBe(header("2000") + eth + vitalik);
  });

  test("of a version that added nothing is a header only", async () => {
    await ingest(0, "");
    expect((await exportTo("labels.ensrainbow")).bytes()).toBe(header("2000"));
  });

  test("rejects a version that the database lacks, and writes nothing", async () => {
    await ingest(0, "eth\n");
    expect(await exportTo("labels.ensrainbow", "--label-set-version", "1")).toMatchObject({
      code: 1,
      stdout: "",
      stderr: "The database holds versions 0 to 0, not 1.\n",
    });
    expect(readdirSync(folder)).toEqual(["data"]);
  });
});
