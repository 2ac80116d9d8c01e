import { mkdtempSync, rmSync, statSync, truncateSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { digestOfText } from "../../src/ens/keccak.ts";
import { labelhashOf } from "../../src/ens/labels.ts";
import { openSpill, type Spill } from "./label-sorter.ts";

let folder: string;
let path: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "spill-"));
  path = join(folder, "spill");
});
afterEach(() => rmSync(folder, { recursive: true }));

function add(spill: Spill, label: string) {
  const bytes = Buffer.from(`<${label}>`);
  spill.add(Buffer.from(digestOfText(label)), bytes, 1, bytes.length - 1);
}

const read = (spill: Spill) =>
  [...spill.batches()].flatMap(({ keys, labels }) => labels.map((label, i) => ({ key: keys[i], label })));

describe("spill file", () => {
  test("gives labels back in the order of their keys, equal ones too", () => {
    const spill = openSpill(path);
    for (const label of ["eth", "xyz", "", "eth", "test"]) add(spill, label);
    const labels = read(spill).map(({ label }) => label);
    const hashes = labels.map(labelhashOf);
    expect(labels.toSorted()).toEqual(["", "eth", "eth", "test", "xyz"]);
    expect(hashes).toEqual(hashes.toSorted());
    spill.close();
  });

  test("gives the key of each label: the first 52 bits of its labelhash", () => {
    const spill = openSpill(path);
    add(spill, "eth");
    add(spill, "label20137914");
    expect(read(spill)).toEqual([
      { key: 0x18a9aa1d538ac, label: "label20137914" },
      { key: 0x4f5b812789fc6, label: "eth" },
    ]);
    spill.close();
  });

  test("loses nothing of many labels, long ones among them", () => {
    const spill = openSpill(path);
    const labels = Array.from({ length: 100_000 }, (_, i) => `label${i}`);
    labels.push("x".repeat(120_000), "y".repeat(16_373), "z".repeat(16_374));
    for (const label of labels) add(spill, label);
    const rows = read(spill);
    expect(rows.length).toBe(labels.length);
    expect(new Set(rows.map(({ label }) => label))).toEqual(new Set(labels));
    const keys = rows.map(({ key }) => key ?? 0);
    expect(keys).toEqual(keys.toSorted((a, b) => a - b));
    spill.close();
  });

  test("any labels survive", () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: "binary" })), (labels) => {
        const spill = openSpill(path);
        for (const label of labels) add(spill, label);
        expect(
          read(spill)
            .map(({ label }) => label)
            .toSorted(),
        ).toEqual(labels.toSorted());
        spill.close();
      }),
    );
  });

  test("goes on from a checkpoint and forgets what was written after it", () => {
    const first = openSpill(path);
    add(first, "kept");
    const state = JSON.parse(JSON.stringify(first.checkpoint()));
    add(first, "lost");
    first.checkpoint();
    first.close();
    const second = openSpill(path, state);
    expect(statSync(path).size).toBe(state.length);
    add(second, "added");
    expect(
      read(second)
        .map(({ label }) => label)
        .toSorted(),
    ).toEqual(["added", "kept"]);
    second.close();
  });

  test("notices that its file became shorter", () => {
    const spill = openSpill(path);
    add(spill, "eth");
    spill.checkpoint();
    truncateSync(path, 5);
    expect(() => read(spill)).toThrow("shorter than it was written");
    spill.close();
  });
});
