import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { beforeEach, describe, expect, test } from "vitest";
import { createRandom } from "../../devnet/random.ts";
import { folderForEach } from "../support/folders.ts";
import { labelSet, runCommand } from "../support/labels/commands.ts";

// Files that cost far more than their size, or show a terminal what it must not obey.

const folderOf = folderForEach("hostile-files-");
let folder: string;
beforeEach(() => {
  folder = folderOf();
});

async function ingest(name: string, bytes: Buffer | string, ...options: string[]) {
  const path = join(folder, name);
  writeFileSync(path, bytes);
  const before = process.memoryUsage.rss();
  const outcome = await runCommand(["ingest", path, ...labelSet("ens-test-env", 0), ...options], { folder });
  const grown = process.memoryUsage.rss() - before;
  return { ...outcome, grown };
}

const isNothingWritten = () => readdirSync(join(folder, "data")).length === 0;

describe("an ingest", () => {
  test("refuses a CSV row of a million commas, with its line", async () => {
    const { code, stderr, grown } = await ingest("commas.csv", `eth\n${",".repeat(1_000_000)}\nxyz\n`);
    expect([code, stderr]).toEqual([
      1,
      expect.stringMatching(/1 of 3 rows are invalid.*: line 2: it has 1000001 columns; expected one\n$/),
    ]);
    expect(grown).toBeLessThan(200_000_000);
    expect(isNothingWritten()).toBe(true);
  });

  test.each([
    ["quotes in an unquoted label", `a${'"'.repeat(1_000_000)}\n`, "an unquoted label contains a quote"],
    ["quotes after a quoted label", `"a"b${'"'.repeat(1_000_000)}\n`, "text follows a closing quote"],
    ["quotes, none of which closes", `"${'"'.repeat(1_000_000)}`, "a quote is never closed"],
  ])("refuses a CSV row of a million %s", async (_, text, reason) => {
    const { code, stderr } = await ingest("quotes.csv", text);
    expect([code, stderr]).toEqual([1, expect.stringContaining(`1 of 1 rows are invalid`)]);
    expect(stderr).toContain(`line 1: ${reason}`);
  });

  test.each(["rows.csv", "rows.txt"])("refuses a row of 40 MB in %s without holding it", async (name) => {
    const { code, stderr, grown } = await ingest(name, `eth\n${"x".repeat(40_000_000)}`);
    expect([code, stderr]).toEqual([1, expect.stringMatching(/line 2 is longer than 16777216 bytes\.\n$/)]);
    expect(grown).toBeLessThan(250_000_000);
    expect(isNothingWritten()).toBe(true);
  });

  test("refuses gzip that unpacks to a thousand times its size", async () => {
    const bomb = gzipSync(`${"x".repeat(1_000_000)}\n`.repeat(40));
    expect(bomb.length).toBeLessThan(60_000);
    const { code, stderr } = await ingest("bomb.txt.gz", bomb);
    expect([code, stderr]).toEqual([
      1,
      "The packed input unpacks to more than 100 times its size; no list of labels does.\n",
    ]);
    expect(isNothingWritten()).toBe(true);
  });

  test.each(["/dev/zero", "/dev/urandom", "/dev/null"])("refuses %s, which is no file", async (path) => {
    const { code, stderr } = await runCommand(["ingest", path, ...labelSet("ens-test-env", 0)], { folder });
    expect([code, stderr]).toEqual([1, `"${path}" is a device, not a file.\n`]);
  });

  test("refuses a record of a million groups, each in the one before", async () => {
    // Protocol Buffers: tag 3 with wire type 3 opens a group.
    const groups = Buffer.alloc(1_000_000, 0x1b);
    const length = Buffer.from([0xc0, 0x84, 0x3d]);
    const header = Buffer.from("1e0a0a656e737261696e626f7710011a0c656e732d746573742d656e762000", "hex");
    const { code, stderr } = await ingest("groups.ensrainbow", Buffer.concat([header, length, groups]));
    expect([code, stderr]).toEqual([1, expect.stringContaining("record 1 at byte 31: the record is broken")]);
  });

  test("lists at most 64 MiB of invalid rows", async () => {
    const { code, stdout } = await ingest("columns.csv", ",\n".repeat(2_000_000), "--skip-invalid");
    expect([code, stdout]).toEqual([0, expect.stringContaining("2,000,000 invalid rows")]);
    const list = readFileSync(join(folder, "data/ens-test-env_0.rejects.txt"));
    expect(list.length).toBeLessThan(64 * 1024 * 1024 + 100);
    expect(list.subarray(-40).toString()).toMatch(/pected one\nFurther rows are not listed\.\n$/);
  });

  test.each([1, 2, 3])("of random bytes ends with a message or a sound database, seed %i", async (seed) => {
    const random = createRandom(seed);
    const pieces = ["eth", ",", '"', "\n", "\r\n", "\\", "\t", "\0", "\x1b[2J", "é", "\xff", "COPY ", "\\N"];
    for (let i = 0; i < 40; i++) {
      const text = Array.from({ length: random.below(60) }, () => random.pick(pieces)).join("");
      const name = random.pick(["a.csv", "a.txt", "a.sql", "a"]);
      const bytes = Buffer.from(text, random.pick(["utf8", "latin1"] as const));
      const { code, stdout, stderr } = await ingest(name, random.below(2) ? bytes : gzipSync(bytes));
      const shown = stdout + stderr;
      expect(shown, JSON.stringify(text)).not.toMatch(/[^\P{Cc}\n]/u);
      if (code === 0) expect(await runCommand(["validate"], { folder })).toMatchObject({ code: 0 });
      else expect(stderr.split("\n").length).toBe(2);
      rmSync(join(folder, "data"), { recursive: true, force: true });
    }
  });
});

const codes = "\x1b]0;owned\x07\x1b[2J\x9b31m\u202e";
const hash = "4f5b812789fc606be1b3b16908db13fc7a9adf7ca72641f84d75b47069d3d7f0";

describe("no command shows escape codes of", () => {
  const expectPlain = (text: string) => expect(text).not.toMatch(/[^\P{C}\n]/u);

  test("a label", async () => {
    const dump = `COPY public.ens_names (hash, name) FROM stdin;\n0x${hash}\t${codes}\n\\.\n`;
    const refused = await ingest("a.sql", dump);
    expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining("\\u001b]0;owned\\u0007")]);
    expectPlain(refused.stderr);
  });

  test("a file", async () => {
    const dump = `COPY public.ens_names (hash, ${codes}) FROM stdin;\n`;
    expectPlain((await ingest("a.sql", dump)).stderr);
  });

  test("a path, an option or a command", async () => {
    const labels = join(folder, `${codes}.txt`);
    writeFileSync(labels, "eth\n");
    const database = ["--database", join(folder, `${codes}.sqlite`)];
    for (const args of [
      ["ingest", labels, ...labelSet("x", 0), ...database],
      ["ingest", `${labels}?`, ...labelSet("x", 0)],
      ["stats", ...database],
      ["export", ...database, "--output", join(folder, codes)],
      ["convert", labels, "--label-set-id", "x", "--output", join(folder, `${codes}2`), "--format", "text"],
      ["validate", "--database", `/nowhere/${codes}`],
      ["purge", "--yes", ...database],
      ["serve", "--port", codes],
      ["serve", codes],
      [codes],
      ["stats", `--${codes}`],
      ["ingest", labels, "--label-set-id", codes, "--label-set-version", "0"],
    ]) {
      const { stdout, stderr } = await runCommand(args, { folder });
      expect(stdout + stderr, args.join(" ")).not.toBe("");
      expectPlain(stdout + stderr);
    }
  });
});
