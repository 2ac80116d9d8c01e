import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { beforeEach, describe, expect, test } from "vitest";
import { labelhash } from "../../src/ens/labels.ts";
import { openLabelFile } from "../../src/labels/label-file.ts";
import { healAll } from "../../test/support/digests.ts";
import { folderForEach } from "../../test/support/folders.ts";
import { ingestBytes, ingestDefaults, noOutput } from "../../test/support/labels/commands.ts";
import { validate } from "../commands/validate.ts";
import { readDatabase } from "../store/database.ts";
import { ingest, ingestFolder, lockFolder } from "./ingest.ts";
import { type Input, openInput } from "./read-input.ts";

let folder: string;
let databasePath: string;

const folderOf = folderForEach("ingest-");
beforeEach(() => {
  folder = folderOf();
  databasePath = join(folder, "data", "labels.sqlite");
});

function heal(labels: string[], version = 0) {
  const file = openLabelFile(databasePath);
  const healed = healAll(file, labels, version);
  file.close();
  return healed;
}

const row = (label: string, text = label) => `${labelhash(label)}\t${text}\n`;
const dump = (...rows: string[]) => `COPY public.ens_names (hash, name) FROM stdin;\n${rows.join("")}\\.\n`;

/** An input that poses as a file, so that reading can resume, and fails after some bytes. */
function fileOf(bytes: Buffer, { breaksAfter }: { breaksAfter?: number } = {}): Input {
  return {
    name: "labels.txt",
    identity: "labels.txt",
    size: bytes.length,
    bytesRead: () => 0,
    chunks: async function* () {
      for (let at = 0; at < bytes.length; at += 1000) {
        if (at >= (breaksAfter ?? Number.POSITIVE_INFINITY)) throw new Error("power cut");
        yield bytes.subarray(at, at + 1000);
      }
    },
  };
}

describe("ingest", () => {
  test("creates a database from a dump, and leaves no other files", async () => {
    const report = await ingestBytes(dump(row("eth"), row("a\\b", "a\\\\b"), "hash\tname\n", row("eth")), {
      databasePath,
    });
    expect(report).toEqual({
      format: "sql",
      facts: { labelSetId: "ens-test-env", highestLabelSetVersion: 0, recordsCount: 2 },
      counts: { accepted: 3, invalid: 0, ignored: 1, endingInCarriageReturn: 0 },
      added: 2,
      rejectsPath: undefined,
    });
    expect(heal(["eth", "a\\b"])).toEqual(["eth", "a\\b"]);
    expect(readdirSync(join(folder, "data"))).toEqual(["labels.sqlite"]);
  });

  test.each([
    ["plain text", "eth\nxyz\n"],
    ["gzipped text", gzipSync("eth\nxyz\n")],
    ["text in two gzip members", Buffer.concat([gzipSync("eth\nx"), gzipSync("yz\n")])],
    ["a gzipped dump", gzipSync(dump(row("eth"), row("xyz")))],
  ])("detects %s by its content", async (_, bytes) => {
    await ingestBytes(bytes, { databasePath });
    expect(heal(["eth", "xyz"])).toEqual(["eth", "xyz"]);
  });

  test("loses no label, those around the size of a buffer and far above it among them", async () => {
    const long = [16_372, 16_373, 16_374, 120_000].map((length) => "x".repeat(length));
    const labels = [...Array.from({ length: 5_000 }, (_, i) => `label${i}`), ...long];
    await ingestBytes(labels.join("\n"), { databasePath });
    expect(heal(labels)).toEqual(labels);
  });

  test("creates an empty database from an empty input", async () => {
    const { facts } = await ingestBytes("", { databasePath, labelSetId: "discovery-a" });
    expect(facts).toEqual({ labelSetId: "discovery-a", highestLabelSetVersion: 0, recordsCount: 0 });
  });

  test("reads files", async () => {
    const path = join(folder, "labels.csv.gz");
    writeFileSync(path, gzipSync('"say ""hi"""\n'));
    await ingest({ ...ingestDefaults, input: openInput(path, process.stdin), databasePath });
    expect(heal(['say "hi"'])).toEqual(['say "hi"']);
  });

  test.each([
    [
      "another hash",
      dump(row("eth"), row("eth", "evil")),
      /^1 of 2 rows are invalid.*: line 3: the labelhash is not that of the label "evil", which has 0x/,
    ],
    [
      "invalid UTF-8",
      Buffer.from([0x65, 0x0a, 0xff, 0x0a]),
      /^1 of 2 rows are invalid.*: line 2: the label is not valid UTF-8$/,
    ],
    ["a missing end", dump(row("eth")).slice(0, -3), /line 3: the dump ends before the end of its rows/],
    [
      "a cut gzip",
      gzipSync(dump(row("eth"))).subarray(0, -12),
      /the packed input is damaged or cut off from here on/,
    ],
  ])("rejects an input with %s as a whole and writes nothing", async (_, bytes, message) => {
    await expect(ingestBytes(bytes, { databasePath })).rejects.toThrow(message);
    expect(readdirSync(join(folder, "data"))).toEqual([]);
  });

  test("leaves out as many invalid rows as are allowed, and lists them", async () => {
    const bytes = dump(row("eth"), row("a", "evil"), row("b", "evil"));
    await expect(ingestBytes(bytes, { databasePath, invalidAllowed: 1 })).rejects.toThrow(
      /^2 of 3 rows are inv/,
    );
    const { added, rejectsPath } = await ingestBytes(bytes, { databasePath, invalidAllowed: 2 });
    expect(added).toBe(1);
    expect(readFileSync(rejectsPath!, "utf8")).toMatch(/^line 3: .*\nline 4: .*\n$/);
  });

  test("keeps nothing of a file with another number of labels than is known", async () => {
    const bytes = dump(row("eth"), "hash\tname\n", row("xyz"));
    await expect(ingestBytes(bytes, { databasePath, records: 3 })).rejects.toThrow(
      "The file has 2 new labels, not 3, so nothing was ingested.",
    );
    expect(readdirSync(join(folder, "data"))).toEqual([]);
    expect(await ingestBytes(bytes, { databasePath, records: 2 })).toMatchObject({ added: 2 });
  });

  test("keeps the sum of each file that was fetched", async () => {
    await ingestBytes("eth\n", { databasePath });
    await ingestBytes("xyz\n", { databasePath, labelSetVersion: 1, sha256: "1f".repeat(32) });
    await ingestBytes("abc\n", { databasePath, labelSetVersion: 2, sha256: "2f".repeat(32) });
    const kept = readDatabase(databasePath, ({ sourceOf }) => [0, 1, 2].map(sourceOf));
    expect(kept).toEqual([undefined, "1f".repeat(32), "2f".repeat(32)]);
  });

  test("keeps the readable rows of a damaged file on request", async () => {
    const whole = gzipSync(Array.from({ length: 50_000 }, (_, i) => `label${i}\n`).join(""));
    const half = whole.subarray(0, whole.length / 2);
    const { counts } = await ingestBytes(half, { databasePath, invalidAllowed: 1 });
    expect(counts.invalid).toBe(1);
    expect(counts.accepted).toBeGreaterThan(1000);
    expect(heal(["label0", "label49999"])).toEqual(["label0", undefined]);
  });

  test("adds versions one after another, and pinned results never change", async () => {
    await ingestBytes("eth\nxyz\n", { databasePath });
    const before = heal(["eth", "xyz", "new"], 0);
    const { facts, added } = await ingestBytes("new\neth\n", { databasePath, labelSetVersion: 1 });
    expect({ facts, added }).toEqual({
      facts: { labelSetId: "ens-test-env", highestLabelSetVersion: 1, recordsCount: 3 },
      added: 1,
    });
    expect(heal(["eth", "xyz", "new"], 0)).toEqual(before);
    expect(heal(["eth", "xyz", "new"], 1)).toEqual(["eth", "xyz", "new"]);
    const ingestedAt = "2026-01-02T03:04:05.678Z";
    readDatabase(databasePath, (reader) => {
      expect(reader.versions).toEqual([
        { version: 0, recordsCount: 2, ingestedAt },
        { version: 1, recordsCount: 1, ingestedAt },
      ]);
      expect(validate(reader, noOutput)).toEqual({ labels: 3, faults: 0, descriptions: [] });
    });
  });

  test.each([
    ["version 1 first", {}, { labelSetVersion: 1 }, "only version 0 can be ingested, not version 1"],
    ["the same version again", { base: true }, {}, "only version 1 can be ingested, not version 0"],
    [
      "a version too far",
      { base: true },
      { labelSetVersion: 2 },
      "only version 1 can be ingested, not version 2",
    ],
    [
      "another id",
      { base: true },
      { labelSetId: "subgraph", labelSetVersion: 1 },
      '"subgraph" does not belong in it',
    ],
    ["a malformed id", {}, { labelSetId: "Set_1" }, '"Set_1" is not a label set id'],
    ["no id", {}, { labelSetId: undefined }, "--label-set-id and --label-set-version are needed"],
  ])(
    "rejects %s before it writes anything",
    async (_, { base = false }: { base?: boolean }, options, message) => {
      if (base) await ingestBytes("eth\n", { databasePath });
      await expect(ingestBytes("xyz\n", { databasePath, ...options })).rejects.toThrow(message);
      expect(existsSync(ingestFolder(databasePath))).toBe(false);
      expect(existsSync(databasePath)).toBe(base);
      if (base) expect(heal(["eth", "xyz"])).toEqual(["eth", undefined]);
    },
  );

  test("starts from the beginning when the leftovers are of another task", async () => {
    const bytes = Buffer.from("eth\n".repeat(50_000));
    const options = { ...ingestDefaults, databasePath, checkpointBytes: 10_000 };
    await expect(ingest({ ...options, input: fileOf(bytes, { breaksAfter: 150_000 }) })).rejects.toThrow(
      "power cut",
    );
    const { counts } = await ingest({ ...options, labelSetId: "other", input: fileOf(Buffer.from("xyz\n")) });
    expect(counts.accepted).toBe(1);
    expect(heal(["eth", "xyz"])).toEqual([undefined, "xyz"]);
  });

  test("resumes with the same labels, counts and invalid rows as without a break", async () => {
    const rows = Array.from({ length: 1_000 }, (_, i) => [
      row(`label${i}`),
      row(`bad${i}`, "x"),
      "hash\tname\n",
    ]);
    const bytes = Buffer.from(dump(...rows.flat()));
    const ignored: string[] = [];
    const stderr = { write: (line: string) => void ignored.push(line) };
    const options = {
      ...ingestDefaults,
      stderr,
      databasePath,
      checkpointBytes: 10_000,
      invalidAllowed: 1_000,
    };
    for (const breaksAfter of [30_000, 90_000]) {
      const input = fileOf(bytes, { breaksAfter });
      await expect(ingest({ ...options, input })).rejects.toThrow("power cut");
    }
    const { counts, rejectsPath = "" } = await ingest({ ...options, input: fileOf(bytes) });
    expect(counts).toMatchObject({ accepted: 1_000, invalid: 1_000, ignored: 1_000 });
    expect(ignored.filter((line) => line.startsWith("Resuming")).length).toBe(2);
    const listed = readFileSync(rejectsPath, "utf8").trim().split("\n");
    expect(listed.map((line) => line.split(":")[0])).toEqual(rows.map((_, i) => `line ${3 * i + 3}`));
    const labels = rows.map((_, i) => `label${i}`);
    expect(heal(labels)).toEqual(labels);
  });

  test("runs in one process at a time", async () => {
    const unlock = lockFolder(ingestFolder(databasePath));
    await expect(ingestBytes("eth\n", { databasePath })).rejects.toThrow(
      "Another ingest into this database is running.",
    );
    unlock();
    await ingestBytes("eth\n", { databasePath });
    expect(heal(["eth"])).toEqual(["eth"]);
  });
});
