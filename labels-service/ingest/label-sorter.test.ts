import { mkdtempSync, rmSync, statSync, truncateSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { digestOfText } from "../../src/ens/keccak.ts";
import { labelhash } from "../../src/ens/labels.ts";
import { type LabelSorter, openLabelSorter } from "./label-sorter.ts";

let folder: string;
let path: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "spill-"));
  path = join(folder, "spill");
});
afterEach(() => rmSync(folder, { recursive: true }));

function add(sorter: LabelSorter, label: string) {
  const bytes = Buffer.from(`<${label}>`);
  sorter.add(Buffer.from(digestOfText(label)), bytes, 1, bytes.length - 1);
}

const read = (sorter: LabelSorter) =>
  [...sorter.batches()].flatMap(({ keys, labels }) => labels.map((label, i) => ({ key: keys[i], label })));

describe("label sorter", () => {
  test("returns labels in the order of their keys, equal ones too", () => {
    const sorter = openLabelSorter(path);
    for (const label of ["eth", "xyz", "", "eth", "test"]) add(sorter, label);
    const labels = read(sorter).map(({ label }) => label);
    const hashes = labels.map(labelhash);
    expect(labels.toSorted()).toEqual(["", "eth", "eth", "test", "xyz"]);
    expect(hashes).toEqual(hashes.toSorted());
    sorter.close();
  });

  test("returns the key of each label: the first 52 bits of its labelhash", () => {
    const sorter = openLabelSorter(path);
    add(sorter, "eth");
    add(sorter, "label20137914");
    expect(read(sorter)).toEqual([
      { key: 0x18a9aa1d538ac, label: "label20137914" },
      { key: 0x4f5b812789fc6, label: "eth" },
    ]);
    sorter.close();
  });

  test("loses nothing of many labels, long ones among them", () => {
    const sorter = openLabelSorter(path);
    const labels = Array.from({ length: 100_000 }, (_, i) => `label${i}`);
    labels.push("x".repeat(120_000), "y".repeat(16_373), "z".repeat(16_374));
    for (const label of labels) add(sorter, label);
    const rows = read(sorter);
    expect(rows.length).toBe(labels.length);
    expect(new Set(rows.map(({ label }) => label))).toEqual(new Set(labels));
    const keys = rows.map(({ key }) => key ?? 0);
    expect(keys).toEqual(keys.toSorted((a, b) => a - b));
    sorter.close();
  });

  test("any labels survive", () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: "binary" })), (labels) => {
        const sorter = openLabelSorter(path);
        for (const label of labels) add(sorter, label);
        expect(
          read(sorter)
            .map(({ label }) => label)
            .toSorted(),
        ).toEqual(labels.toSorted());
        sorter.close();
      }),
    );
  });

  test("resumes from a checkpoint and forgets what was written after it", () => {
    const first = openLabelSorter(path);
    add(first, "kept");
    const state = JSON.parse(JSON.stringify(first.checkpoint()));
    add(first, "lost");
    first.checkpoint();
    first.close();
    const second = openLabelSorter(path, state);
    expect(statSync(path).size).toBe(state.length);
    add(second, "added");
    expect(
      read(second)
        .map(({ label }) => label)
        .toSorted(),
    ).toEqual(["added", "kept"]);
    second.close();
  });

  test("detects that its file became shorter", () => {
    const sorter = openLabelSorter(path);
    add(sorter, "eth");
    sorter.checkpoint();
    truncateSync(path, 5);
    expect(() => read(sorter)).toThrow("shorter than it was written");
    sorter.close();
  });
});
