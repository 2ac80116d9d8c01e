import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { openLabelFile } from "../../src/labels/label-file.ts";
import { digestsOf } from "../../test/support/digests.ts";
import { convert } from "../ingest/convert.ts";
import { openInput } from "../ingest/read-input.ts";
import { ingestBytes, ingestDefaults } from "../test-support/ingest-text.ts";
import { labelSet, runCommand } from "../test-support/run-command.ts";

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "convert-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

function heal(databasePath: string, labels: string[]) {
  const file = openLabelFile(databasePath);
  const answers = file.healAll(digestsOf(labels), file.facts.highestLabelSetVersion);
  file.close();
  return answers;
}

describe("a conversion", () => {
  const convertText = (text: string, options: { onto?: string; output?: string; labelSetId?: string }) =>
    convert({
      ...ingestDefaults,
      input: openInput("-", Readable.from([Buffer.from(text)])),
      format: "csv",
      onto: undefined,
      output: join(folder, "out.ensrainbow"),
      ...options,
    });

  test("writes a version 0 with every label once", async () => {
    const { path: file, added } = await convertText('eth\n"a,b"\neth\n', {});
    expect(added).toBe(2);
    const databasePath = join(folder, "labels.sqlite");
    await ingestBytes(readFileSync(file), {
      databasePath,
      labelSetId: undefined,
      labelSetVersion: undefined,
    });
    expect(heal(databasePath, ["eth", "a,b", "x"])).toEqual(["eth", "a,b", undefined]);
  });

  test("writes the next version of a database without the labels it has, and does not change the database", async () => {
    const databasePath = join(folder, "labels.sqlite");
    await ingestBytes("eth\nxyz\n", { databasePath });
    const before = readFileSync(databasePath);
    const { path: file, added } = await convertText("eth\nnew\n", { onto: databasePath });
    expect(added).toBe(1);
    expect(readFileSync(databasePath).equals(before)).toBe(true);
    const { facts } = await ingestBytes(readFileSync(file), {
      databasePath,
      labelSetId: undefined,
      labelSetVersion: undefined,
    });
    expect(facts).toEqual({ labelSetId: "ens-test-env", highestLabelSetVersion: 1, recordsCount: 3 });
  });

  test("rejects another id, and rows of two columns with their line, and leaves no file", async () => {
    const databasePath = join(folder, "labels.sqlite");
    await ingestBytes("eth\n", { databasePath });
    await expect(convertText("x\n", { onto: databasePath, labelSetId: "other" })).rejects.toThrow(
      "does not belong in it",
    );
    const output = join(folder, "never.ensrainbow");
    await expect(convertText("x\na,b\n", { output })).rejects.toThrow(
      "line 2: it has 2 columns; expected one",
    );
    expect(() => readFileSync(output)).toThrow("ENOENT");
  });
});

describe("convert", () => {
  test("turns CSV from standard input or a file into the same .ensrainbow file", async () => {
    const [one, two, csv] = ["one.ensrainbow", "two.ensrainbow", "x.csv"].map((name) => join(folder, name));
    const stdin = 'xyz\n"a,b"\neth\nxyz\n';
    writeFileSync(csv!, stdin);
    const args = ["--label-set-id", "ens-test-env", "--output"];
    expect(await runCommand(["convert", "-", ...args, one!], { folder, stdin })).toEqual({
      code: 0,
      stdout: `Wrote 3 labels of version 0 of "ens-test-env" to ${one}; repeated or known before: 1.\n`,
      stderr: "",
    });
    expect(await runCommand(["convert", csv!, ...args, two!], { folder })).toMatchObject({ code: 0 });
    expect(readFileSync(one!).equals(readFileSync(two!))).toBe(true);
    expect(readdirSync(folder).toSorted()).toEqual(["one.ensrainbow", "two.ensrainbow", "x.csv"]);
  });

  test("reads other formats on request, and reports rows that it ignores", async () => {
    const output = join(folder, "out.ensrainbow");
    const eth = "0x4f5b812789fc606be1b3b16908db13fc7a9adf7ca72641f84d75b47069d3d7f0\teth\n";
    const stdin = `COPY public.ens_names (hash, name) FROM stdin;\n${eth}hash\tname\n\\.\n`;
    const args = ["convert", "-", "--label-set-id", "subgraph", "--format", "sql", "--output", output];
    expect(await runCommand(args, { folder, stdin })).toEqual({
      code: 0,
      stdout: `Wrote 1 label of version 0 of "subgraph" to ${output}; repeated or known before: 0.\n`,
      stderr: "Ignored line 3: a header among the rows.\n",
    });
  });

  test("writes the next version of a database, which can then be ingested", async () => {
    await runCommand(["ingest", "-", ...labelSet("ens-test-env", 0)], { folder, stdin: "eth\n" });
    const output = join(folder, "next.ensrainbow");
    const database = join(folder, "data/labels.sqlite");
    const args = ["--label-set-id", "ens-test-env", "--onto", database, "--output", output];
    const converted = await runCommand(["convert", "-", ...args], { folder, stdin: "eth\nnew\n" });
    expect(converted.stdout).toBe(
      `Wrote 1 label of version 1 of "ens-test-env" to ${output}; repeated or known before: 1.\n`,
    );
    expect(await runCommand(["ingest", output], { folder })).toMatchObject({ code: 0 });
    expect(heal(database, ["eth", "new"])).toEqual(["eth", "new"]);
  });

  test("needs a label set id", async () => {
    expect(await runCommand(["convert", "-"], { folder, stdin: "eth\n" })).toEqual({
      code: 1,
      stdout: "",
      stderr: "--label-set-id is needed.\n",
    });
  });
});
