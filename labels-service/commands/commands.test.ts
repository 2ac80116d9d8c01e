import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import Database from "better-sqlite3";
import { beforeEach, describe, expect, test } from "vitest";
import { openLabelFile } from "../../src/labels/label-file.ts";
import { healAll } from "../../test/support/digests.ts";
import { folderForEach } from "../../test/support/folders.ts";
import { labelSet, noOutput, runCommand } from "../../test/support/labels/commands.ts";
import { ingestFolder, lockFolder } from "../ingest/ingest.ts";
import { readDatabase } from "../store/database.ts";
import { validate } from "./validate.ts";

const folderOf = folderForEach("commands-");
let folder: string;
beforeEach(() => {
  folder = folderOf();
});

const database = () => join(folder, "data/labels.sqlite");
const ingest = (stdin: string, version = 0) =>
  runCommand(["ingest", "-", ...labelSet("ens-test-env", version)], { folder, stdin });

function heal(labels: string[], version = 0) {
  const file = openLabelFile(database());
  const healed = healAll(file, labels, version);
  file.close();
  return healed;
}

describe("a wrong command line", () => {
  test.each<[string[], string, string?]>([
    [[], "Usage: npm run labels -- [options] [command]"],
    [["injest"], "error: unknown command 'injest'\n(Did you mean ingest?)\n"],
    [["serve", "--prot", "1"], "error: unknown option '--prot'\n(Did you mean --port?)\n"],
    ...["70000", "0", "1.5", "x", " 1"].map((port): [string[], string] => [
      ["serve", "--port", port],
      "Expected a whole number from 1 to 65535.\n",
    ]),
    [["stats", "--database="], "It is empty.\n"],
    [["stats", "file"], "error: too many arguments for 'stats'"],
    [["ingest"], "error: missing required argument 'file|-'\n"],
    [["ingest", "no\nfile", ...labelSet("x", 0)], 'There is no file "no\\nfile".\n'],
    [["ingest", ".", ...labelSet("x", 0)], '"." is a folder, not a file.\n'],
    [["ingest", "-", ...labelSet("x", -1)], "Expected a whole number from 0 to 4294967295.\n"],
    [
      ["ingest", "-", ...labelSet("x", 0), "--format", "json"],
      "Allowed choices are ensrainbow, sql, csv, text.",
    ],
    [["stats"], "cannot be used: there is no such file"],
    [["convert", "-"], "error: required option '--label-set-id <id>' not specified\n", "eth\n"],
  ])("%j exits with code 1, and writes nothing", async (args, message, stdin) => {
    const { code, stdout, stderr } = await runCommand(args, {
      folder,
      ...(stdin === undefined ? {} : { stdin }),
    });
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toContain(message);
    expect(readdirSync(folder)).toEqual([]);
  });
});

/** A summary without the duration of the ingest. */
const summary = (stdout: string) => stdout.replace(/ in .* \(.* rows\/s\)/, "").split("\n");

const ethHash = "0x4f5b812789fc606be1b3b16908db13fc7a9adf7ca72641f84d75b47069d3d7f0";
const dump = (...rows: string[]) =>
  `COPY public.ens_names (hash, name) FROM stdin;\n${rows.join("\n")}\n\\.\n`;

// Layout of .ensrainbow files: a header (identifier, format version 1, id, version), then labelhash and label of each.
const hex = (text: string) => text.replaceAll(/\s/g, "");
const header = (version: string) =>
  hex(`1e 0a0a656e737261696e626f77 1001 1a0c656e732d746573742d656e76 ${version}`);
const eth = hex(`27 0a20 ${ethHash.slice(2)} 1203 657468`);
const empty = hex("22 0a20 c5d2460186f7233c927e7db2dcc703c0e500b653ca82273b7bfad8045d85a470");
const vitalik = hex(
  "2b 0a20 af2caa1c2ca1d027f1ac823b529d0a67cd144264b2789fa2ea4d63a67c7103cc 1207 766974616c696b",
);

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
    writeFileSync(path, Buffer.from(header("2000") + eth, "hex"));
    expect(await runCommand(["ingest", path, ...labelSet("subgraph", 0)], { folder })).toEqual({
      code: 1,
      stdout: "",
      stderr: 'The file is version 0 of "ens-test-env", not version 0 of "subgraph".\n',
    });
    const { stdout } = await runCommand(["ingest", path], { folder });
    expect(summary(stdout)[0]).toBe('Ingested version 0 of "ens-test-env" from ensrainbow: 1 row.');
    expect(heal(["eth"])).toEqual(["eth"]);
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

  test("writes the next version of a database, which can then be ingested", async () => {
    await ingest("eth\n");
    const output = join(folder, "next.ensrainbow");
    const args = ["--label-set-id", "ens-test-env", "--onto", database(), "--output", output];
    const before = readFileSync(database());
    const converted = await runCommand(["convert", "-", ...args], { folder, stdin: "eth\nnew\n" });
    expect(readFileSync(database()).equals(before)).toBe(true);
    expect(converted.stdout).toBe(
      `Wrote 1 label of version 1 of "ens-test-env" to ${output}; repeated or known before: 1.\n`,
    );
    expect(await runCommand(["ingest", output], { folder })).toMatchObject({ code: 0 });
    expect(heal(["eth", "new"], 1)).toEqual(["eth", "new"]);
  });

  test("rejects another id, and rows of two columns with their line, and leaves no file", async () => {
    await ingest("eth\n");
    const output = join(folder, "never.ensrainbow");
    const args = ["convert", "-", "--output", output, "--onto", database()];
    for (const [id, stdin, message] of [
      ["other", "x\n", "does not belong in it"],
      ["ens-test-env", "x\na,b\n", "line 2: it has 2 columns; expected one"],
    ] as const) {
      const { code, stderr } = await runCommand([...args, "--label-set-id", id], { folder, stdin });
      expect([code, stderr]).toEqual([1, expect.stringContaining(message)]);
    }
    expect(readdirSync(folder)).toEqual(["data"]);
  });
});

describe("export", () => {
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
    await ingest("vitalik\neth\n");
    await ingest("eth\n\n", 1);
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
    await ingest("");
    expect((await exportTo("labels.ensrainbow")).bytes()).toBe(header("2000"));
  });

  test("rejects a version that the database lacks, and writes nothing", async () => {
    await ingest("eth\n");
    expect(await exportTo("labels.ensrainbow", "--label-set-version", "1")).toMatchObject({
      code: 1,
      stdout: "",
      stderr: "The database holds versions 0 to 0, not 1.\n",
    });
    expect(readdirSync(folder)).toEqual(["data"]);
  });
});

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
    await ingest("eth\nxyz\n");
    new Database(database()).exec(sql).close();
    const result = readDatabase(database(), (reader) => validate(reader, noOutput));
    expect(result.faults).toBe(faults);
    expect(result.descriptions[0]).toMatch(first);
  });
});

describe("validate", () => {
  test("reports a sound database", async () => {
    await ingest("eth\nxyz\n");
    await ingest("test\n", 1);
    expect(await runCommand(["validate"], { folder })).toEqual({
      code: 0,
      stdout: '3 labels of "ens-test-env", versions 0 to 1: no faults.\n',
      stderr: "",
    });
  });

  test("describes the errors and exits with code 1", async () => {
    await ingest("eth\nxyz\n");
    new Database(database()).exec("UPDATE labels SET label = 'evil' WHERE label = 'eth'").close();
    expect(await runCommand(["validate", "--database", database()], { folder })).toEqual({
      code: 1,
      stdout: "",
      // 0x4f5b812789fc6, the first 52 bits of the labelhash of "eth".
      stderr:
        "The label under key 1396070839525318 has another labelhash.\n" +
        '1 fault in 2 labels of "ens-test-env".\n',
    });
  });

  test("describes twenty of many errors", async () => {
    await ingest(Array.from({ length: 30 }, (_, i) => `label${i}\n`).join(""));
    new Database(database()).exec("UPDATE labels SET label = label || '!'").close();
    const { code, stderr } = await runCommand(["validate"], { folder });
    expect(code).toBe(1);
    expect(stderr.split("\n").length).toBe(20 + 1 + 1);
    expect(stderr).toContain('30 faults in 30 labels of "ens-test-env".');
  });
});

describe("stats", () => {
  test("shows label set, versions, number of labels and size", async () => {
    // The last two share the first 52 bits of their labelhashes, 0x18a9aa1d538ac.
    await ingest("eth\nxyz\nlabel20137914\nlabel65389467\n");
    await ingest("eth\ntest\n", 1);
    const { size } = statSync(database());
    const { code, stdout, stderr } = await runCommand(["stats"], { folder });
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    const time = /[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}\.[0-9]{3}Z/;
    expect(stdout.split("\n").map((line) => line.replace(time, "TIME"))).toEqual([
      `database         ${database()}`,
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
    await ingest("");
    const { stdout } = await runCommand(["stats"], { folder });
    expect(stdout).toMatch(/^labels +0$/m);
    expect(stdout).toMatch(/^bytes a label +-$/m);
  });
});

describe("purge", () => {
  test("deletes the database and the leftovers of an ingest", async () => {
    await ingest("eth\n");
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
    await ingest("eth\n");
    expect(await runCommand(["purge"], { folder, answer })).toEqual({
      code: 0,
      stdout: isDeleted ? `Deleted ${database()}.\n` : "Nothing was deleted.\n",
      stderr: `Delete ${database()}? [y/N] `,
    });
    expect(existsSync(database())).toBe(!isDeleted);
  });

  test("deletes nothing without --yes when nobody can be asked", async () => {
    await ingest("eth\n");
    expect(await runCommand(["purge"], { folder, stdin: "y\n" })).toEqual({
      code: 1,
      stdout: "",
      stderr: "Deleting needs --yes when nobody can be asked.\n",
    });
    expect(existsSync(database())).toBe(true);
  });

  test("deletes nothing while an ingest is running", async () => {
    await ingest("eth\n");
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
