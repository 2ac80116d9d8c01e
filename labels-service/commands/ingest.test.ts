import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { openLabelFile } from "../../src/labels/label-file.ts";
import { digestsOf } from "../../test/support/digests.ts";
import { labelSet, runCommand } from "../test-support/run-command.ts";

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "ingest-command-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

const database = () => join(folder, "data/labels.sqlite");

function heal(labels: string[], version = 0) {
  const file = openLabelFile(database());
  const healed = file.healAll(digestsOf(labels), version);
  file.close();
  return healed;
}

/** A summary without the duration of the ingest. */
const summary = (stdout: string) => stdout.replace(/ in .* \(.* rows\/s\)/, "").split("\n");

const ethHash = "0x4f5b812789fc606be1b3b16908db13fc7a9adf7ca72641f84d75b47069d3d7f0";
const dump = (...rows: string[]) =>
  `COPY public.ens_names (hash, name) FROM stdin;\n${rows.join("\n")}\n\\.\n`;

describe("ingest", () => {
  // The labels of the published set for test environments.
  const testLabels = ["xyz", "eth", "test", "legacy", "addr", "reverse"];

  test("adds a gzipped list from standard input", async () => {
    const stdin = gzipSync(`${testLabels.join("\n")}\neth\n`);
    const { code, stdout, stderr } = await runCommand(["ingest", "-", ...labelSet("ens-test-env", 0)], {
      folder,
      stdin,
    });
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(summary(stdout)).toEqual([
      'Ingested version 0 of "ens-test-env" from text: 7 rows.',
      "6 new labels, 1 known before.",
      `${database()} holds 6 labels.`,
      "",
    ]);
    expect(heal(testLabels)).toEqual(testLabels);
  });

  test("reports the stray header of the dump", async () => {
    const stdin = dump(`${ethHash}\teth`, "hash\tname");
    const { stdout, stderr } = await runCommand(["ingest", "-", ...labelSet("subgraph", 0)], {
      folder,
      stdin,
    });
    expect(stderr).toBe("Ignored line 3: a header among the rows.\n");
    expect(summary(stdout)[1]).toBe("1 new label, 0 known before, 1 ignored row.");
  });

  test("skips invalid rows on request, and lists them", async () => {
    const stdin = dump(`${ethHash}\teth`, `${ethHash}\tevil`);
    const args = ["ingest", "-", ...labelSet("subgraph", 0), "--skip-invalid"];
    const { code, stdout } = await runCommand(args, { folder, stdin });
    const rejects = join(folder, "data/subgraph_0.rejects.txt");
    expect(code).toBe(0);
    expect(summary(stdout)).toEqual([
      'Ingested version 0 of "subgraph" from sql: 2 rows.',
      "1 new label, 0 known before, 1 invalid row.",
      `${database()} holds 1 label.`,
      `The invalid rows are listed in ${rejects}.`,
      "",
    ]);
    expect(readFileSync(rejects, "utf8")).toMatch(
      /^line 3: the labelhash is not that of the label "evil", which has 0x[0-9a-f]{64}\n$/,
    );
  });

  test("reads quotes and carriage returns according to the format", async () => {
    const stdin = '"007"\r\n';
    const args = ["ingest", "-", ...labelSet("x", 0), "--format"];
    const { stdout } = await runCommand([...args, "text"], { folder, stdin });
    expect(stdout).toContain("1 labels end in a carriage return: was this a Windows text file?\n");
    expect(heal(['"007"\r', "007"])).toEqual(['"007"\r', undefined]);
    await runCommand(["purge", "--yes"], { folder });
    expect((await runCommand([...args, "csv"], { folder, stdin })).stdout).not.toContain("carriage return");
    expect(heal(['"007"\r', "007"])).toEqual([undefined, "007"]);
  });

  test("takes label set and version from an .ensrainbow file, and rejects different ones", async () => {
    const path = join(folder, "labels.bin");
    const file =
      "1e 0a0a656e737261696e626f77 1001 1a0c656e732d746573742d656e76 2000" +
      `27 0a20 ${ethHash.slice(2)} 1203 657468`;
    writeFileSync(path, Buffer.from(file.replaceAll(" ", ""), "hex"));
    expect(await runCommand(["ingest", path, ...labelSet("subgraph", 0)], { folder })).toEqual({
      code: 1,
      stdout: "",
      stderr: 'The file is version 0 of "ens-test-env", not version 0 of "subgraph".\n',
    });
    const { stdout } = await runCommand(["ingest", path], { folder });
    expect(summary(stdout)[0]).toBe('Ingested version 0 of "ens-test-env" from ensrainbow: 1 row.');
    expect(heal(["eth"])).toEqual(["eth"]);
  });

  test.each([
    ["the same version again", labelSet("x", 0), "only version 1 can be ingested, not version 0."],
    ["a version too high", labelSet("x", 2), "only version 1 can be ingested, not version 2."],
    ["another id", labelSet("y", 1), '"y" does not belong in it.'],
  ])("rejects %s and keeps the database", async (_, args, message) => {
    await runCommand(["ingest", "-", ...labelSet("x", 0)], { folder, stdin: "eth\n" });
    const before = readFileSync(database());
    const { code, stderr } = await runCommand(["ingest", "-", ...args], { folder, stdin: "xyz\n" });
    expect(code).toBe(1);
    expect(stderr).toContain(message);
    expect(readFileSync(database()).equals(before)).toBe(true);
  });
});
