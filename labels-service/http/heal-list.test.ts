import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type LabelFile, openLabelFile } from "../../src/labels/label-file.ts";
import { digestsOf } from "../../test/support/digests.ts";
import { batchOf, createLabelDatabase } from "../store/database-writer.ts";
import { healList } from "./heal-list.ts";

const longLabel = "long".repeat(1000);
const labels = ["", "\0", longLabel, ...Array.from({ length: 2500 }, (_, i) => `label${i}`)];

let folder: string;
let file: LabelFile;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "heal-list-"));
  const path = join(folder, "labels.sqlite");
  const writer = createLabelDatabase(path, "ens-test-env");
  writer.add(batchOf(labels));
  writer.finish(new Date(0));
  file = openLabelFile(path);
});
afterAll(() => {
  file.close();
  rmSync(folder, { recursive: true });
});

describe("a list of labelhashes", () => {
  test("is healed in order, unknown, repeated and long labels included", async () => {
    const asked = [
      ...labels.toReversed(),
      "unknown",
      longLabel,
      "label7",
      "label7",
      "unknown too",
      longLabel,
    ];
    const { pieces } = await healList(file, digestsOf(asked), 0);
    expect([...pieces()].flat()).toEqual(
      asked.map((label) => (label.startsWith("unknown") ? undefined : label)),
    );
  });

  test("comes in pieces of 2000 labels, long ones in pieces of 256 KiB", async () => {
    const lengths = async (asked: string[]) =>
      [...(await healList(file, digestsOf(asked), 0)).pieces()].map((piece) => piece.length);
    expect(await lengths(labels)).toEqual([2000, 503]);
    // 66 labels of 4,000 bytes are more than 262,144 bytes, 65 are not.
    expect(await lengths(new Array(140).fill(longLabel))).toEqual([66, 66, 8]);
  });

  test("knows how many bytes it has before long labels are read", async () => {
    const bytesOf = async (asked: string[]) => {
      const { bytes, heldBytes } = await healList(file, digestsOf(asked), 0);
      return [bytes, heldBytes];
    };
    expect(await bytesOf(["label7", "unknown", ""])).toEqual([6, 6]);
    expect(await bytesOf(["label7", ...new Array(10_000).fill(longLabel)])).toEqual([
      40_000_006,
      6 + 256 * 1024,
    ]);
  });

  test("may be empty", async () => {
    const { bytes, pieces } = await healList(file, digestsOf([]), 0);
    expect([bytes, ...pieces()]).toEqual([0]);
  });
});
