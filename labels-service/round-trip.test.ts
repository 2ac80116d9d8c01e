import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { labelhash } from "../src/ens/labels.ts";
import { openLabelFile } from "../src/labels/label-file.ts";
import { healAll } from "../test/support/digests.ts";
import { ingestBytes, noOutput } from "../test/support/labels/commands.ts";
import { exportVersion } from "./commands/export.ts";
import { validate } from "./commands/validate.ts";
import { readDatabase } from "./store/database.ts";

let folder: string;
let next = 0;
const path = (name = "labels.sqlite") => join(folder, `${next++}-${name}`);

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "round-trip-"));
});
afterAll(() => rmSync(folder, { recursive: true }));

const labelsIn = fc.uniqueArray(fc.string({ unit: "binary", maxLength: 40 }), { maxLength: 30 });

const copyEscapes: Record<string, string> = { "\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r" };
const inDump = (label: string) =>
  `${labelhash(label)}\t${label.replace(/[\\\t\n\r]/g, (character) => copyEscapes[character]!)}\n`;
const dumpOf = (labels: string[]) =>
  `COPY public.ens_names (hash, name) FROM stdin;\n${labels.map(inDump).join("")}\\.\n`;
const csvOf = (labels: string[]) => labels.map((label) => `"${label.replaceAll('"', '""')}"\n`).join("");

function healed(databasePath: string, labels: string[]) {
  const file = openLabelFile(databasePath);
  const answers = healAll(file, labels, file.facts.highestLabelSetVersion);
  file.close();
  return answers;
}

function exported(databasePath: string, version: number): Buffer {
  const target = path("labels.ensrainbow");
  readDatabase(databasePath, (reader) => {
    exportVersion(reader, version, target, noOutput);
    expect(validate(reader, noOutput).faults).toBe(0);
  });
  return readFileSync(target);
}

describe("any labels survive", () => {
  test("dump, database, .ensrainbow file and database again", async () => {
    await fc.assert(
      fc.asyncProperty(labelsIn, async (labels) => {
        const [first, second] = [path(), path()];
        const { facts } = await ingestBytes(dumpOf(labels), { databasePath: first });
        expect(facts.recordsCount).toBe(labels.length);
        expect(healed(first, labels)).toEqual(labels);
        const file = exported(first, 0);
        await ingestBytes(file, { databasePath: second, labelSetId: undefined, labelSetVersion: undefined });
        expect(healed(second, labels)).toEqual(labels);
        expect(exported(second, 0).equals(file)).toBe(true);
      }),
      { numRuns: 15 },
    );
  });

  test("CSV and database, except the empty label, which CSV cannot express", async () => {
    await fc.assert(
      fc.asyncProperty(labelsIn, async (all) => {
        const labels = all.filter((label) => label !== "");
        const databasePath = path();
        await ingestBytes(csvOf(labels), { databasePath, format: "csv" });
        expect(healed(databasePath, labels)).toEqual(labels);
      }),
      { numRuns: 15 },
    );
  });

  test("any bytes as plain text: each line is healed or reported as invalid", async () => {
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ maxLength: 200 }), async (bytes) => {
        const databasePath = path();
        const { counts } = await ingestBytes(Buffer.from(bytes), {
          databasePath,
          format: "text",
          invalidAllowed: Number.POSITIVE_INFINITY,
        });
        const whole = Buffer.from(bytes)
          .toString("latin1")
          .replace(/^\xef\xbb\xbf/, "");
        const lines = whole.split("\n").map((line) => Buffer.from(line, "latin1"));
        if (lines.at(-1)?.length === 0) lines.pop();
        const valid = lines.filter((line) => Buffer.from(line.toString("utf8")).equals(line));
        expect([counts.accepted, counts.invalid]).toEqual([valid.length, lines.length - valid.length]);
        const labels = valid.map((line) => line.toString("utf8"));
        expect(healed(databasePath, labels)).toEqual(labels);
      }),
      { numRuns: 25 },
    );
  });
});

describe("a damaged .ensrainbow file", () => {
  test("is rejected, or yields only verified labels", async () => {
    const source = path();
    const labels = ["", "eth", "a".repeat(200), ...Array.from({ length: 40 }, (_, i) => `label${i}`)];
    await ingestBytes(labels.join("\n"), { databasePath: source });
    const file = exported(source, 0);
    const damage = fc.tuple(
      fc.constantFrom("flip", "cut", "insert", "remove"),
      fc.nat(file.length - 1),
      fc.integer({ min: 1, max: 255 }),
    );
    let refused = 0;
    await fc.assert(
      fc.asyncProperty(damage, async ([kind, at, value]) => {
        const damaged = withDamage(file, kind, at, value);
        const databasePath = path();
        const options = {
          databasePath,
          labelSetId: undefined,
          labelSetVersion: undefined,
          format: "ensrainbow" as const,
        };
        const outcome = await ingestBytes(damaged, options).then(
          () => "accepted",
          () => "refused",
        );
        if (outcome === "refused") {
          refused++;
          return;
        }
        // Cut between two records, or changed outside of labels: every label is still correct.
        readDatabase(databasePath, (reader) => {
          expect(validate(reader, noOutput).faults).toBe(0);
          for (const [, label] of [...reader.labels()].flat()) expect(labels).toContain(label);
        });
      }),
      { numRuns: 150 },
    );
    expect(refused).toBeGreaterThan(50);
  });
});

function withDamage(file: Buffer, kind: string, at: number, value: number): Buffer {
  if (kind === "cut") return file.subarray(0, at);
  if (kind === "insert")
    return Buffer.concat([file.subarray(0, at), Buffer.from([value]), file.subarray(at)]);
  if (kind === "remove") return Buffer.concat([file.subarray(0, at), file.subarray(at + 1)]);
  const flipped = Buffer.from(file);
  flipped[at] = flipped[at]! ^ value;
  return flipped;
}

test("the database is a stock SQLite file that identifies itself", async () => {
  const databasePath = path();
  await ingestBytes("eth\n", { databasePath });
  const bytes = readFileSync(databasePath);
  expect(bytes.toString("latin1", 0, 16)).toBe("SQLite format 3\0");
  expect([bytes.toString("latin1", 68, 72), bytes.readUInt32BE(60)]).toEqual(["ENSL", 1]);
});
