import { mkdtempSync, rmSync, truncateSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { digestOfText } from "../../src/ens/keccak.ts";
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

  test("detects that its file became shorter", () => {
    const sorter = openLabelSorter(path);
    add(sorter, "eth");
    sorter.checkpoint();
    truncateSync(path, 5);
    expect(() => read(sorter)).toThrow("shorter than it was written");
    sorter.close();
  });
});
