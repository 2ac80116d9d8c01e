import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { openLabelFile } from "../src/labels/label-file.ts";
import { healAll } from "../test/support/digests.ts";
import { folderForEach } from "../test/support/folders.ts";
import { labelSet, noOutput, start } from "../test/support/labels/commands.ts";
import { validate } from "./commands/validate.ts";
import { readDatabase } from "./store/database.ts";

const folderOf = folderForEach("cli-");
const run = (args: string[], stdin?: string | Buffer) => start(args, folderOf(), stdin).ended;
describe("label commands", () => {
  test("use ./data/labels.sqlite, and end with the code of the command", async () => {
    const ingested = await run(["ingest", "-", ...labelSet("ens-test-env", 0)], gzipSync("eth\nxyz\neth\n"));
    expect(ingested).toMatchObject({ code: 0, stderr: "" });
    expect(ingested.stdout).toContain("./data/labels.sqlite holds 2 labels.\n");
    expect((await run(["export"])).stdout).toBe(
      'Wrote 2 labels of version 0 of "ens-test-env" to ens-test-env_0.ensrainbow.\n',
    );
    expect(await run(["purge"])).toMatchObject({ code: 1 });
    expect(await run(["purge", "--yes"])).toMatchObject({ stdout: "Deleted ./data/labels.sqlite.\n" });
  });

  test("survive kill -9 at any moment of an ingest: the old database stays, and the next attempt resumes", async () => {
    const folder = folderOf();
    const base = Array.from({ length: 5_000 }, (_, i) => `base${i}\n`).join("");
    expect(await run(["ingest", "-", ...labelSet("x", 0)], base)).toMatchObject({ code: 0 });
    const database = join(folder, "data/labels.sqlite");
    const before = readFileSync(database);

    const labels = Array.from({ length: 150_000 }, (_, i) => `label${i}`);
    writeFileSync(join(folder, "more.txt"), labels.join("\n"));
    const args = ["ingest", "more.txt", ...labelSet("x", 1), "--checkpoint-mb", "1"];
    for (const moment of ["spill", "manifest.json", "next.sqlite"]) {
      const { child, ended } = start(args, folder);
      const isThere = () => existsSync(join(`${database}.ingest`, moment));
      await expect.poll(isThere, { interval: 2 }).toBe(true);
      child.kill("SIGKILL");
      expect((await ended).signal).toBe("SIGKILL");
      expect(readFileSync(database).equals(before)).toBe(true);
    }
    const { code, stderr } = await run(args);
    expect({ code, stderr }).toEqual({
      code: 0,
      stderr: "Resuming after 150,000 rows that were read before.\n",
    });
    const found = readDatabase(database, (reader) => validate(reader, noOutput));
    expect(found).toEqual({ labels: 155_000, faults: 0, descriptions: [] });
    const file = openLabelFile(database);
    expect(healAll(file, labels.slice(0, 5000), 1)).toEqual(labels.slice(0, 5000));
    expect(healAll(file, ["label0", "base0"], 0)).toEqual([undefined, "base0"]);
    file.close();
    expect(readdirSync(join(folder, "data"))).toEqual(["labels.sqlite"]);
  });
});
