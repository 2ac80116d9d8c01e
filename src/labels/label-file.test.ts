import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "better-sqlite3";
import { type Hex, hexToBytes } from "viem";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import {
  createBatch,
  createLabelDatabase,
  extendLabelDatabase,
} from "../../labels-service/store/database.ts";
import { digestsOf, healAll } from "../../test/support/digests.ts";
import { labelhash } from "../ens/labels.ts";
import { labelKey } from "./digests.ts";
import { openLabelFile } from "./label-file.ts";

let folder: string;
let path: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "labels-"));
  path = join(folder, "labels.sqlite");
});
afterEach(() => rmSync(folder, { recursive: true }));

function create(labels: string[], labelSetId = "ens-test-env") {
  const database = createLabelDatabase(path, labelSetId);
  database.add(createBatch(labels));
  return database.finish(new Date(0));
}

function extend(labels: string[]) {
  const base = openLabelFile(path);
  const next = extendLabelDatabase(`${path}.next`, path, base.facts);
  base.close();
  next.add(createBatch(labels));
  next.finish(new Date(0));
  path = `${path}.next`;
}

// Two pairs of labels whose labelhashes begin with the same 52 bits.
const collidingPairs = [
  ["label20137914", "label65389467", 0x18a9aa1d538ac],
  ["label35523647", "label117715912", 0x43cfe94967e01],
] as const;

describe("label file", () => {
  test("knows nothing of a labelhash that only shares the key", () => {
    create(["eth"]);
    const file = openLabelFile(path);
    const nearly: Hex = `0x${labelhash("eth").slice(2, -1)}1`;
    expect(labelKey(hexToBytes(nearly))).toBe(labelKey(digestsOf(["eth"])));
    expect(file.heal(nearly, 0)).toBeUndefined();
    const places = Uint32Array.of(0);
    expect(file.healAll(hexToBytes(nearly), 0, { places, longest: 100 })).toEqual([undefined]);
    file.close();
  });

  test.each(collidingPairs)("keeps both %s and %s, which share a key", (one, other, key) => {
    expect([labelKey(digestsOf([one])), labelKey(digestsOf([one, other]), 32)]).toEqual([key, key]);
    expect(create([one, other, one, other]).recordsCount).toBe(2);
    const file = openLabelFile(path);
    expect(healAll(file, [one, other], 0)).toEqual([one, other]);
    expect([one, other].map((label) => file.heal(labelhash(label), 0))).toEqual([one, other]);
    file.close();
  });

  test("hides a colliding label of a later version from clients of the earlier one", () => {
    const [one, other] = collidingPairs[0];
    create([one]);
    extend([other, one]);
    const file = openLabelFile(path);
    expect(file.facts.recordsCount).toBe(2);
    expect(healAll(file, [one, other], 0)).toEqual([one, undefined]);
    expect(healAll(file, [one, other], 1)).toEqual([one, other]);
    file.close();
  });

  test("returns a long label each time, and a changed one never", () => {
    const [right, wrong] = ["r".repeat(100_000), "w".repeat(100_000)];
    create([right, wrong]);
    const database = new Database(path);
    database.prepare("UPDATE labels SET label = replace(label, 'w', 'v')").run();
    database.close();
    const file = openLabelFile(path);
    for (let time = 0; time < 3; time++) {
      expect(file.heal(labelhash(right), 0)).toBe(right);
      expect(file.heal(labelhash(wrong), 0)).toBeUndefined();
      expect(healAll(file, [wrong, right], 0)).toEqual([undefined, right]);
    }
    file.close();
  });

  test.each<[string, () => void, RegExp]>([
    ["a missing file", () => {}, /there is no such file/],
    ["another kind of file", () => writeFileSync(path, "x".repeat(10_000)), /file is not a database/],
    ["an empty file", () => writeFileSync(path, ""), /not a label database/],
    [
      "a foreign database",
      () => new Database(path).exec("CREATE TABLE x (y)").close(),
      /not a label database/,
    ],
    [
      "a newer schema",
      () => {
        create([]);
        new Database(path).exec("PRAGMA user_version = 2").close();
      },
      /its schema version is 2, this program reads 1/,
    ],
    [
      "an unfinished database",
      () => {
        create([]);
        new Database(path).exec("DELETE FROM label_set").close();
      },
      /it was not finished/,
    ],
  ])("refuses %s", (_, prepare, message) => {
    prepare();
    expect(() => openLabelFile(path)).toThrow(message);
  });
});
