import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { lockFolder } from "../../labels-service/ingest/ingest.ts";
import { labelSet, runCommand } from "../support/labels/commands.ts";

// Symbolic links at the names of temporary files: the file that they lead to stays as it is.

let folder: string;
let victim: string;
const database = () => join(folder, "data/labels.sqlite");

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "hostile-links-"));
  victim = join(folder, "victim");
  writeFileSync(victim, "precious");
  mkdirSync(join(folder, "data"));
});
afterEach(() => rmSync(folder, { recursive: true }));

const ingest = (labels: string, version = 0, ...options: string[]) =>
  runCommand(["ingest", "-", ...labelSet("ens-test-env", version), ...options], { folder, stdin: labels });
const expectWhole = () => expect(readFileSync(victim, "utf8")).toBe("precious");

describe("an ingest follows no link", () => {
  test.each(["spill", "rejects.txt", "manifest.json", "manifest.json.new", "next.sqlite", "lock.sqlite"])(
    "at its %s",
    async (name) => {
      for (const version of [0, 1]) {
        mkdirSync(`${database()}.ingest`);
        symlinkSync(victim, join(`${database()}.ingest`, name));
        expect(await ingest(`label${version}\n`, version)).toMatchObject({ code: 0, stderr: "" });
        expectWhole();
      }
      expect(readdirSync(join(folder, "data"))).toEqual(["labels.sqlite"]);
    },
  );

  test("at its folder", async () => {
    mkdirSync(join(folder, "elsewhere"));
    symlinkSync(join(folder, "elsewhere"), `${database()}.ingest`);
    expect((await ingest("eth\n")).code).toBe(0);
    expect(readdirSync(join(folder, "elsewhere"))).toEqual([]);
    expect(existsSync(`${database()}.ingest`)).toBe(false);
  });

  test("at the list of invalid rows", async () => {
    symlinkSync(victim, join(folder, "data/ens-test-env_0.rejects.txt"));
    expect((await ingest("a,b\n", 0, "--format", "csv", "--skip-invalid")).code).toBe(0);
    expectWhole();
    expect(lstatSync(join(folder, "data/ens-test-env_0.rejects.txt")).isFile()).toBe(true);
  });
});

test("the folder of an ingest is its user's alone, also where it was open to all", () => {
  const work = `${database()}.ingest`;
  for (const prepare of [() => undefined, () => chmodSync(work, 0o777)]) {
    prepare();
    lockFolder(work)();
    expect(statSync(work).mode & 0o777).toBe(0o700);
  }
});

test("an export follows no link", async () => {
  await ingest("eth\n");
  const output = join(folder, "out.ensrainbow");
  symlinkSync(victim, `${output}.part`);
  expect((await runCommand(["export", "--output", output], { folder })).code).toBe(0);
  expectWhole();
  expect(lstatSync(output).isFile()).toBe(true);
});

test("a purge removes a link, and leaves what it leads to", async () => {
  mkdirSync(join(folder, "elsewhere"));
  writeFileSync(join(folder, "elsewhere/file"), "precious");
  symlinkSync(join(folder, "elsewhere"), `${database()}.ingest`);
  symlinkSync(victim, database());
  expect((await runCommand(["purge", "--yes"], { folder })).code).toBe(0);
  expectWhole();
  expect(readdirSync(join(folder, "elsewhere"))).toEqual(["file"]);
  expect(readdirSync(join(folder, "data"))).toEqual([]);
});
